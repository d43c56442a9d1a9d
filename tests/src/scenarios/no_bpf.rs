//! An agent that is shown a folder in place of its own host's `/sys` asks nothing of the kernel it runs on. It measures a
//! lost controller by looking, and says how exact that is.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::Scene;
use super::verdict::Verdict;
use crate::lab::agent::Agent;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "no-bpf",
    about: "an agent without probes measures a lost controller by looking, as exactly as it admits",
    expects_hung_task: false,
    run,
};

const SOON: Duration = Duration::from_secs(10);

fn run(lab: &mut Lab) -> Result<String> {
    let scene = Scene::set(lab)?;
    let mut agent = Agent::start_looking_only()?;
    let ready = agent.ready()?;

    let death = scene.target.port(1).vanish()?;
    scene.source.wait_for("connecting", SOON)?;
    wait::pause(Duration::from_secs(1));
    scene.target.port(1).restore()?;
    agent.windows(1)?;

    let truth = scene.truth.controller_loss(death, &scene.source)?;
    let windows = agent.stop()?;
    let mut verdict = Verdict::default();
    verdict.require(ready.attached == 0 && ready.source != "bpf", || {
        format!("it has probes: {ready:?}")
    });
    let [window] = &windows[..] else {
        anyhow::bail!("not one window: {windows:?}");
    };
    verdict.looked_at("by looking:", window, &truth)?;
    verdict.kinds(window, &truth);
    verdict.class(window, "outage");
    verdict.close()
}
