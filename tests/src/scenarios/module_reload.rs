//! The driver is taken out and put back while the agent runs, as an update of it does. The kernel kills the probes that sat
//! on it, without a word: the agent must notice and measure on.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{Scene, Way};
use super::watched::Watched;
use crate::lab::agent::Agent;
use crate::lab::io::Io;
use crate::lab::wait::{self, Look};
use crate::lab::{Lab, attribute, modules};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "module-reload",
    about: "the driver is unloaded and loaded under the agent: the next cutover is measured by probes again",
    expects_hung_task: false,
    run,
};

const CORE: &str = "nvme-core";

fn run(lab: &mut Lab) -> Result<String> {
    let mut agent = Agent::start()?;
    agent.ready()?;
    let unloaded = modules::unload(CORE);
    modules::load_all()?;
    unloaded?;
    probes_again()?;

    let mut scene = Scene::set(lab)?;
    let watched = Watched::by(agent, &mut scene.truth)?;
    let io = Io::start(&scene.head)?;
    let flip = scene.cut_over(&io, Way::There, Duration::from_secs(1))?;

    let seen = io.stop()?;
    let by = scene.ends(Way::There);
    let truth = scene.truth.cutover(flip, by[0], by[1])?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, by);
    verdict.class(&window, "cutover");
    verdict.gap(&seen, &window.span()?)?;
    verdict.close()
}

/// Waits until the kernel lists a probe on the function that every state goes through, and not as gone. Nobody but the agent
/// has one now.
fn probes_again() -> Result<()> {
    let list = Path::new("/sys/kernel/debug/kprobes/list");
    wait::until("probes on the new driver", Duration::from_secs(10), || {
        let listed = attribute::read(list)?;
        let lines = listed.lines();
        let on_it: Vec<_> = lines
            .filter(|line| line.contains("nvme_change_ctrl_state"))
            .collect();
        Ok(if on_it.iter().any(|line| !line.contains("[GONE]")) {
            Look::Seen(())
        } else {
            Look::NotYet(format!("{on_it:?}"))
        })
    })
}
