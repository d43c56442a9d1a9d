//! The two truths against each other, without the agent: what the trace calls a window is what an application feels.
//!
//! When this fails the lab is wrong, whatever the other scenarios say.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{Scene, Way};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::clock::{BootNs, Millis};
use crate::lab::io::Io;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "truth-agrees",
    about: "no agent: the traced window is contained in the prober's gap, for a cutover and a lost controller",
    expects_hung_task: false,
    run,
};

/// The stall may be longer than the window by an operation before it, the requeue and an operation after it.
const LONGER_BY: Duration = Duration::from_millis(250);

fn run(lab: &mut Lab) -> Result<String> {
    let scene = Scene::set(lab)?;
    let io = Io::start(&scene.head)?;

    let flip = scene.cut_over(&io, Way::There, Duration::from_millis(500))?;

    let death = io.between_operations(|| {
        let death = scene.target.port(2).vanish()?;
        scene
            .destination
            .wait_for("connecting", Duration::from_secs(5))?;
        anyhow::Ok(death)
    })?;
    scene.target.port(2).restore()?;
    scene
        .destination
        .wait_for("live", Duration::from_secs(10))?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let moved = scene
        .truth
        .cutover(flip, &scene.source, &scene.destination)?;
    let lost = scene.truth.controller_loss(death, &scene.destination)?;
    let mut verdict = Verdict::default();
    for (what, truth) in [("cutover", moved), ("loss", lost)] {
        verdict.figure(format!("{what} {} ms", Millis(truth.span.length())));
        let gap = verdict.gap(&seen, &truth.span)?;
        verdict.require(gap.length() < truth.span.length() + LONGER_BY, || {
            format!(
                "the gap {gap} is longer than the {what} {} by more than {LONGER_BY:?}",
                truth.span
            )
        });
    }
    verdict.close()
}
