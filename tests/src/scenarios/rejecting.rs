//! A volume on two paths, one of whose targets rejects the host: recorded, and replayed under a short patience.

use std::time::Duration;

use anyhow::Result;

use super::scripted_scene::SOON;
use super::stage::Stage;
use crate::lab::Lab;
use crate::lab::host::Controller;
use crate::lab::programs::Replay;
use crate::lab::recording::Recording;
use crate::lab::wait::{self, Look};
use crate::target::AnaState::{NonOptimized, Optimized};
use crate::target::{Rule, Status};

/// How the rejections read.
pub(super) const REJECTED: Status = Status::CONNECT_INVALID_PARAMETERS;
/// At one attempt a second, more than are needed and for longer than [`SETTINGS`] has patience.
pub(super) const REJECTIONS: usize = 7;

/// How long a controller may be connecting before it counts as abandoned.
const SETTINGS: [(&str, &str); 1] = [("PATHWARDEN_LEAK_CONNECTING_AFTER", "5s")];

/// What became of the host at the port that rejects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was rejected [`REJECTIONS`] times and tries on.
    TriesOn,
    /// It was taken back.
    TakenBack,
    /// It gave up.
    GaveUp,
}

/// The end of the story.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) replay: Replay,
    pub(super) fate: Fate,
    /// The name of the controller that was rejected.
    pub(super) controller: String,
}

/// Tells it with this script for the second port.
pub(super) fn story(lab: &Lab, script: Rule) -> Result<Told> {
    let stage = Stage::set(&lab.host, &[Optimized, NonOptimized])?;
    let [_, rejected] = &stage.controllers[..] else {
        anyhow::bail!("a stage of two");
    };
    let recording = Recording::start()?;
    stage.port(1).behave(script);
    stage.port(1).drop_connections();
    let fate = fate(&stage, rejected)?;
    // What the host was told last is in the trace, too.
    wait::pause(Duration::from_millis(200));
    let trace = recording.stop()?;
    let replay = Replay::of(&trace, &SETTINGS)?;
    let controller = rejected.name.clone();
    stage.strike(&lab.host)?;
    Ok(Told {
        replay,
        fate,
        controller,
    })
}

fn fate(stage: &Stage, rejected: &Controller) -> Result<Fate> {
    let mut lost = false;
    wait::until("the host's fate", SOON * 2, || {
        let connects = stage.port(1).transcript().snapshot().connects();
        let rejections = connects.iter().filter(|(_, status)| !status.is_success());
        let rejections = rejections.count();
        // The state is there to read as long as the controller is.
        let Ok(state) = rejected.state() else {
            return Ok(Look::Seen(Fate::GaveUp));
        };
        lost |= state != "live";
        Ok(match &state[..] {
            "live" if lost => Look::Seen(Fate::TakenBack),
            "connecting" if rejections >= REJECTIONS => Look::Seen(Fate::TriesOn),
            _ => Look::NotYet(format!("{state} after {rejections} rejections")),
        })
    })
}
