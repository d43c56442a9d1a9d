//! The agent dies in the middle of a window and another takes its place: what it tells is what it saw, and marked so.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::watched::Watched;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::target::AnaState::{Inaccessible, Optimized};
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "agent-restart",
    about: "the agent is killed in a window and started again: begin unknown, end at the truth",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let first = Watched::start(&mut scene.truth)?;
    let io = Io::start(&scene.head)?;

    let flip = io.between_operations(|| scene.target.port(1).ana(Inaccessible))?;
    wait::pause(Duration::from_millis(200));
    let before = first.agent.kill()?;
    let second = Watched::start(&mut scene.truth)?;
    wait::pause(Duration::from_millis(200));
    scene.target.port(2).ana(Optimized)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let (from, to) = (&scene.source, &scene.destination);
    let truth = scene.truth.cutover(flip, from, to)?;
    let ([window], mut verdict) = second.windows()?;
    verdict.require(before.is_empty(), || {
        format!("told of {before:?} before its end")
    });
    verdict.truncated(&window, &truth)?;
    verdict.gap(&seen, &truth.span)?;
    verdict.close()
}
