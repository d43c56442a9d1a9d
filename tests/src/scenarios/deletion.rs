//! Somebody deletes the controller that serves. The kernel uses it until it takes no more I/O, a moment after it is said to
//! be deleting: there the window begins. The parked one ends it.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::watched::Watched;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::target::AnaState::Optimized;
use crate::lab::truth::Sign;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "deletion",
    about: "the last usable controller is deleted: the window begins when it takes no more I/O",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let watched = Watched::start(&mut scene.truth)?;
    let io = Io::start(&scene.head)?;
    let (deleted, other) = (&scene.source, &scene.destination);

    let begun = io.between_operations(|| {
        let begun = BootNs::now();
        deleted.disconnect()?;
        anyhow::Ok(begun)
    })?;
    wait::pause(Duration::from_millis(500));
    scene.target.port(2).ana(Optimized)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let (begins, ends) = ([Sign::Down(deleted)], [Sign::LogGives(other)]);
    let truth = scene.truth.window(begun, &begins, &ends)?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [deleted, other]);
    verdict.class(&window, "outage");
    verdict.gap(&seen, &window.span()?)?;
    verdict.close()
}
