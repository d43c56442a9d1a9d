//! Under I/O the source goes inaccessible; two seconds later the destination serves: one window, measured three ways.

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
    name: "clean-cutover",
    about: "ANA moves a volume from one path to another under I/O: one window, both ends at the truth",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let watched = Watched::start(&mut scene.truth)?;
    let io = Io::start(&scene.head)?;

    let flip = io.between_operations(|| scene.target.port(1).ana(Inaccessible))?;
    wait::pause(Duration::from_secs(2));
    scene.target.port(2).ana(Optimized)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let truth = scene.truth.cutover(flip, &scene.source)?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [&scene.source, &scene.destination]);
    verdict.gap(&seen, &window.span()?)?;
    verdict.require(window.class == "cutover", || {
        format!("class is {}", window.class)
    });
    verdict.close()
}
