//! What the probes need is missing: the agent says so in one line and measures all the same, by looking, less exactly.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Scenario;
use super::scene::Scene;
use super::verdict::Verdict;
use crate::lab::agent::Agent;
use crate::lab::hidden::Hidden;
use crate::lab::host::Controller;
use crate::lab::target::AnaState::{Inaccessible, Optimized};
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "degraded",
    about: "without BTF, without kprobes, not root: one line says what is missing, the window is measured by looking",
    expects_hung_task: false,
    run,
};

/// What is missing, and how the agent starts then.
struct Lack {
    name: &'static str,
    /// What the agent's line must name.
    named: &'static str,
    start: fn() -> Result<Agent>,
}

const LACKS: [Lack; 3] = [
    Lack {
        name: "no-btf",
        named: "BTF",
        start: || hidden("/sys/kernel/btf"),
    },
    Lack {
        name: "no-kprobes",
        named: "kprobes",
        start: || hidden("/sys/bus/event_source/devices/kprobe"),
    },
    Lack {
        name: "not-root",
        named: "root",
        start: Agent::start_as_nobody,
    },
];

fn run(lab: &mut Lab) -> Result<String> {
    let scene = Scene::set(lab)?;
    let mut verdict = Verdict::default();
    // The volume goes to and fro between the ports.
    let (mut from, mut to) = ((1, &scene.source), (2, &scene.destination));
    for lack in &LACKS {
        measure(&scene, lack, from, to, &mut verdict).context(lack.name)?;
        std::mem::swap(&mut from, &mut to);
    }
    verdict.close()
}

/// Starts the agent with something missing and moves the volume.
fn measure(
    scene: &Scene,
    lack: &Lack,
    (from, source): (u8, &Controller),
    (to, destination): (u8, &Controller),
    verdict: &mut Verdict,
) -> Result<()> {
    let mut agent = (lack.start)()?;
    let ready = agent.ready()?;
    let flip = scene.target.port(from).ana(Inaccessible)?;
    wait::pause(Duration::from_secs(1));
    scene.target.port(to).ana(Optimized)?;
    let log = agent.log_lines()?;
    agent.windows(1)?;
    let windows = agent.stop()?;
    let truth = scene.truth.cutover(flip, source, destination)?;

    let warnings: Vec<_> = log
        .iter()
        .filter(|(_, line)| line.level == "WARN" || line.level == "ERROR")
        .map(|(_, line)| line.message())
        // Who is not root has no store either, which is a line of its own.
        .filter(|message| !message.starts_with("no store:"))
        .collect();
    let one = matches!(warnings[..], [one] if one.contains(lack.named) && one.contains("sysfs"));
    verdict.require(one, || {
        format!(
            "{}: not one line that names {} and what works: {warnings:?}",
            lack.name, lack.named
        )
    });
    verdict.require(ready.source == "poll" && ready.attached == 0, || {
        format!("{}: {ready:?}", lack.name)
    });
    let [window] = &windows[..] else {
        verdict.require(false, || {
            format!("{}: not one window: {windows:?}", lack.name)
        });
        return Ok(());
    };
    verdict.looked_at(lack.name, window, &truth)
}

/// The agent started while a folder is empty.
fn hidden(folder: &'static str) -> Result<Agent> {
    let _hidden = Hidden::under(folder)?;
    let mut agent = Agent::start()?;
    agent.ready()?;
    Ok(agent)
}
