//! The volume moves and moves back: two windows, not one, each at the truth. The agent was there before the volume.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::watched::Watched;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::target::AnaState::{Inaccessible, Optimized};
use crate::lab::truth::Truth;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "second-freeze",
    about: "two cutovers of one volume in one run are two windows",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut truth = Truth::start()?;
    let watched = Watched::start(&mut truth)?;
    let scene = Scene::traced_by(truth, lab)?;
    let io = Io::start(&scene.head)?;

    let away = io.between_operations(|| scene.target.port(1).ana(Inaccessible))?;
    wait::pause(Duration::from_secs(1));
    scene.target.port(2).ana(Optimized)?;
    io.flowing_since(BootNs::now())?;

    let back = io.between_operations(|| scene.target.port(2).ana(Inaccessible))?;
    wait::pause(Duration::from_secs(1));
    scene.target.port(1).ana(Optimized)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let truths = [
        scene.truth.cutover(away, &scene.source)?,
        scene.truth.cutover(back, &scene.destination)?,
    ];
    let (windows, mut verdict) = watched.windows::<2>()?;
    let moves = [
        [&scene.source, &scene.destination],
        [&scene.destination, &scene.source],
    ];
    for ((window, truth), by) in windows.iter().zip(&truths).zip(moves) {
        verdict.window(window, truth)?;
        verdict.causes(window, truth, by);
        verdict.gap(&seen, &window.span()?)?;
    }
    verdict.close()
}
