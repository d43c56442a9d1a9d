//! The port that serves vanishes under I/O and comes back; the other stays parked. The window is by controller state.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::watched::Watched;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "target-dies",
    about: "the serving port vanishes, its controller reconnects: one window by controller state",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let watched = Watched::start_in_time(&mut scene.truth)?;
    let io = Io::start(&scene.head)?;

    let death = io.between_operations(|| {
        let death = scene.target.port(1).vanish()?;
        scene
            .source
            .wait_for("connecting", Duration::from_secs(5))?;
        anyhow::Ok(death)
    })?;
    wait::pause(Duration::from_secs(2));
    scene.target.port(1).restore()?;
    scene.source.wait_for("live", Duration::from_secs(10))?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let truth = scene.truth.controller_loss(death, &scene.source)?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [&scene.source, &scene.source]);
    verdict.gap(&seen, &window.span()?)?;
    verdict.class(&window, "outage");
    verdict.close()
}
