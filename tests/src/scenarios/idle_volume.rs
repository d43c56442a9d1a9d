//! The clean cutover with nobody using the volume: no request fails, and the window is measured all the same.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::watched::Watched;
use crate::lab::target::AnaState::{Inaccessible, Optimized};
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "idle-volume",
    about: "the same cutover without any I/O is measured all the same",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let watched = Watched::start_in_time(&mut scene.truth)?;

    let flip = scene.target.port(1).ana(Inaccessible)?;
    wait::pause(Duration::from_secs(2));
    scene.target.port(2).ana(Optimized)?;
    watched.agent.windows(1)?;

    let truth = scene
        .truth
        .cutover(flip, &scene.source, &scene.destination)?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [&scene.source, &scene.destination]);
    let idle = matches!(truth.begun_by[..], [(_, "ana-log")]);
    verdict.require(idle, || {
        format!("the volume was not idle: {:?}", truth.begun_by)
    });
    verdict.class(&window, "cutover");
    verdict.close()
}
