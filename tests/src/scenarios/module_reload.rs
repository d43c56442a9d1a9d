//! The driver is taken out and put back while the agent runs, as an update of it does. The kernel kills the probes that sat
//! on it, without a word: the agent must notice and measure on.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{Scene, Way};
use super::watched::Watched;
use crate::lab::agent::Agent;
use crate::lab::io::Io;
use crate::lab::{Lab, modules, wait};

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
    agent.says("a module came")?;
    // It looks around once more, and is then as after its start.
    wait::pause(Duration::from_secs(1));

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
