//! The path that serves goes and comes back several times in short order: as many windows, none swallowed by another.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::watched::Watched;
use crate::lab::clock::{BootNs, Millis, Offset};
use crate::lab::io::Io;
use crate::lab::target::AnaState::{Inaccessible, Optimized};
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "flap",
    about: "five dips of 300 ms, 200 ms apart, are five windows",
    expects_hung_task: false,
    run,
};

const DIPS: usize = 5;
const DARK: Duration = Duration::from_millis(300);
const APART: Duration = Duration::from_millis(200);

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let watched = Watched::start(&mut scene.truth)?;
    let io = Io::start(&scene.head)?;

    let port = scene.target.port(1);
    let mut dips = Vec::new();
    for _ in 0..DIPS {
        dips.push(io.between_operations(|| port.ana(Inaccessible))?);
        wait::pause(DARK);
        port.ana(Optimized)?;
        io.flowing_since(BootNs::now())?;
        wait::pause(APART);
    }

    let seen = io.stop()?;
    let (windows, mut verdict) = watched.windows::<DIPS>()?;
    let mut farthest = Duration::ZERO;
    let mut lengths = Vec::new();
    for (window, dip) in windows.iter().zip(dips) {
        let truth = scene.truth.cutover(dip, &scene.source, &scene.source)?;
        let offsets = verdict.at_truth(window, &truth)?.map(Offset::magnitude);
        farthest = offsets.into_iter().fold(farthest, Ord::max);
        verdict.causes(window, &truth, [&scene.source, &scene.source]);
        // What leaves a path and comes back to it was not handed over.
        verdict.class(window, "outage");
        let span = window.span()?;
        verdict.in_gap(&seen, &span)?;
        lengths.push(format!("{}", Millis(span.length())));
    }
    verdict.figure(format!(
        "windows of {} ms, each end off by {} ms at most",
        lengths.join(" "),
        Millis(farthest)
    ));
    verdict.close()
}
