//! The only target takes the host back each time and drops it again once it is live: each time is a window.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scripted_scene::{NQN, SHARED, SOON};
use super::stage::Stage;
use super::watched::Watched;
use crate::lab::Lab;
use crate::lab::wait::{self, Look};
use crate::target::AnaState::Optimized;
use crate::target::{On, Rule};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "accept-then-drop",
    about: "the only target accepts and drops over and over: a window each time, by controller state",
    expects_hung_task: false,
    run,
};

/// Losses in all: the first, and one after each of the times that the host is taken back but the last.
const LOSSES: usize = 3;
/// How long it is let live.
const LIVE: Duration = Duration::from_millis(200);

fn run(lab: &mut Lab) -> Result<String> {
    let mut stage = Stage::set(&lab.host, &[Optimized])?;
    let watched = Watched::start(&mut stage.truth)?;
    let [only] = &stage.controllers[..] else {
        anyhow::bail!("a stage of one");
    };

    let port = stage.port(0);
    port.behave(Rule::drop_after(On::Live, LIVE).times(u32::try_from(LOSSES - 1)?));
    let mut from = port.drop_connections();
    wait::until("the host to be taken back for good", SOON, || {
        // The first connect was before the story.
        let taken = port.transcript().snapshot().connects().len() - 1;
        let state = only.state()?;
        Ok(if taken == LOSSES && state == "live" {
            Look::Seen(())
        } else {
            Look::NotYet(format!("{state}, taken {taken} times"))
        })
    })?;

    let (windows, mut verdict) = watched.windows_of::<LOSSES>(NQN, SHARED)?;
    for window in &windows {
        let truth = stage.truth.controller_loss(from, only)?;
        verdict.window(window, &truth)?;
        verdict.causes(window, &truth, [only, only]);
        verdict.class(window, "outage");
        from = truth.span.end;
    }
    stage.strike(&lab.host)?;
    verdict.close()
}
