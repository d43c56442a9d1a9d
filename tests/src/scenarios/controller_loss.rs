//! Both paths serve, and one target after the other vanishes. The window begins with the second loss, and ends when the
//! first of the controllers is live again.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{Scene, Setting};
use super::watched::Watched;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::target::AnaState::NonOptimized;
use crate::lab::truth::Sign;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "controller-loss",
    about: "both controllers are lost: the window is from the second loss to the first that is live again",
    expects_hung_task: false,
    run,
};

const SOON: Duration = Duration::from_secs(10);

fn run(lab: &mut Lab) -> Result<String> {
    let setting = Setting {
        second: NonOptimized,
        ..Setting::default()
    };
    let mut scene = Scene::set_as(lab, &setting)?;
    let watched = Watched::start(&mut scene.truth)?;
    let io = Io::start(&scene.head)?;
    let (first, second) = (&scene.source, &scene.destination);

    scene.target.port(1).vanish()?;
    first.wait_for("connecting", SOON)?;
    io.flowing_since(BootNs::now())?;
    let death = io.between_operations(|| {
        let death = scene.target.port(2).vanish()?;
        second.wait_for("connecting", SOON)?;
        anyhow::Ok(death)
    })?;
    wait::pause(Duration::from_secs(1));
    scene.target.port(1).restore()?;
    first.wait_for("live", SOON)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let (begins, ends) = ([Sign::Down(second)], [Sign::Live(first)]);
    let truth = scene.truth.window(death, &begins, &ends)?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [second, first]);
    verdict.class(&window, "outage");
    verdict.severity(&window, "queued");
    verdict.gap(&seen, &window.span()?)?;
    verdict.close()
}
