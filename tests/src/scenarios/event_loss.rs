//! More happens than the agent can hear: while it gets no processor a small ring overflows. What it tells of the window that
//! was open is marked, and it says that it lost something.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::watched::Watched;
use crate::lab::agent::Agent;
use crate::lab::target::AnaState::{Inaccessible, Optimized, PersistentLoss};
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "event-loss",
    about: "a ring of one page overflows in a window: it is marked as truncated, and the loss is told",
    expects_hung_task: false,
    run,
};

/// Changes of the parked port's state; a page holds the records of fewer.
const STORM: usize = 40;
/// The host reads the log in between.
const EACH: Duration = Duration::from_millis(25);

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let agent = Agent::start_set("PATHWARDEN_PROBE_RING_BYTES", "4096")?;
    let mut watched = Watched::by(agent, &mut scene.truth)?;

    let flip = scene.target.port(1).ana(Inaccessible)?;
    wait::pause(Duration::from_millis(300));
    watched.agent.while_halted(|| {
        for state in [PersistentLoss, Inaccessible]
            .into_iter()
            .cycle()
            .take(STORM)
        {
            scene.target.port(2).ana(state)?;
            wait::pause(EACH);
        }
        Ok(())
    })?;
    let told = watched.agent.says("lost")?;
    scene.target.port(2).ana(Optimized)?;
    watched.agent.windows(1)?;

    let truth = scene
        .truth
        .cutover(flip, &scene.source, &scene.destination)?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.truncated(&window, &truth)?;
    verdict.figure(told.text());
    verdict.close()
}
