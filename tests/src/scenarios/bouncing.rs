//! A path that the kernel uses and that serves nothing: every request comes back with a path error that is no ANA matter,
//! and goes out again. By the kernel's rule that is no window.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scripted_scene::{NQN, SHARED};
use super::stage::Stage;
use super::watched::Watched;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::programs::Replay;
use crate::lab::recording::Recording;
use crate::lab::{Lab, wait};
use crate::target::AnaState::Optimized;
use crate::target::{Act, On, Rule, Status};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "bouncing",
    about: "I/O bounces off a usable path at full speed: no window, and a finding",
    expects_hung_task: false,
    run,
};

/// Fewer would be no storm, even on an emulated processor.
const STORM: u64 = 50;

fn run(lab: &mut Lab) -> Result<String> {
    let mut stage = Stage::set(&lab.host, &[Optimized])?;
    let watched = Watched::start(&mut stage.truth)?;
    let io = Io::start(&stage.head)?;
    let recording = Recording::start()?;

    let error = Status::INTERNAL_PATH_ERROR;
    stage.port(0).behave(Rule::new(On::Io, Act::Fail(error)));
    // For longer than a second, which is what it takes to be one, and to the end of the trace.
    wait::pause(Duration::from_millis(2500));
    let trace = recording.stop()?;
    stage.port(0).heal();
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let ([], mut verdict) = watched.windows_of(NQN, SHARED)?;
    let statuses = stage.port(0).transcript().counters().statuses;
    let bounced = statuses.get(&error).copied().unwrap_or(0);
    verdict.figure(format!("{bounced} bounced in 2.5 s, no window"));
    let replay = Replay::of(&trace, &[])?;
    let found = replay.of_kind("bouncing");
    let named = matches!(found[..], [one] if one.controllers == [&*stage.controllers[0].name]);
    verdict.require(named, || format!("found {:?}", replay.findings));
    verdict.figure(found.iter().map(|one| one.in_short()).collect::<String>());
    verdict.require(bounced >= STORM, || {
        format!("{bounced} bounced, which is no storm")
    });
    let errors = seen.errors();
    verdict.require(errors.is_empty(), || format!("I/O failed: {errors:?}"));
    stage.strike(&lab.host)?;
    verdict.close()
}
