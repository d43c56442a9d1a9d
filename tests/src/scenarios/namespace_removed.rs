//! The target takes the namespace away from both paths and gives it back. The window begins as the second leg is removed;
//! there is no leg left to hold I/O for, and it ends with the first new one.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{NSID, Scene, Setting};
use super::watched::Watched;
use crate::lab::target::AnaState::NonOptimized;
use crate::lab::truth::Sign;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "namespace-removed",
    about: "a namespace is taken from every path and comes back: lost from its last leg to its first new one",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let setting = Setting {
        second: NonOptimized,
        ..Setting::default()
    };
    let mut scene = Scene::set_as(lab, &setting)?;
    let watched = Watched::start(&mut scene.truth)?;

    let taken = scene.target.serve(NSID, false)?;
    wait::pause(Duration::from_secs(1));
    scene.target.serve(NSID, true)?;
    watched.agent.windows(1)?;

    let first = scene.truth.moment(taken, Sign::LegRemoved)?;
    // The trace tells microseconds.
    let after = first + Duration::from_micros(1);
    let (begins, ends) = ([Sign::LegRemoved], [Sign::LegAdded]);
    // Two processors can take both legs away within the same one.
    let later = scene.truth.window(after, &begins, &ends);
    let truth = later.or_else(|_| scene.truth.window(first, &begins, &ends))?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.kinds(&window, &truth);
    verdict.class(&window, "outage");
    verdict.severity(&window, "lost");
    verdict.close()
}
