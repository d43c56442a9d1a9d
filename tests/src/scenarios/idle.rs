//! Eighty controllers and nothing to do: what the agent holds and how much it works.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scan_80::{CONTROLLERS, connect_all};
use super::verdict::{ANONYMOUS_KIB, Verdict, mib};
use crate::lab::agent::Agent;
use crate::lab::programs::{Status, TICK};
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "idle",
    about: "80 controllers, a minute without events: under 24 MiB, and under 1 % of a processor",
    expects_hung_task: false,
    run,
};

/// For what the agent still does just after it is ready.
const SETTLED: Duration = Duration::from_secs(5);
/// Two audits fall into it.
const IDLE: Duration = Duration::from_secs(60);
/// Processor time in that minute: 1 %.
const TICKS: u128 = 60;

fn run(lab: &mut Lab) -> Result<String> {
    connect_all(lab)?;
    Status::with_legs(CONTROLLERS)?;
    let mut agent = Agent::start()?;
    let ready = agent.ready()?;
    let mut verdict = Verdict::default();
    verdict.ready(&ready, agent.memory()?);
    wait::pause(SETTLED);

    let before = agent.processor()?;
    wait::pause(IDLE);
    let spent = agent.processor()?.since(before);
    let memory = agent.memory()?;
    let ticks = |time: Duration| time.as_millis() / TICK.as_millis();
    let all = ticks(spent.user + spent.kernel);
    verdict.figure(format!(
        "{CONTROLLERS} controllers idle {} s: rss {} MiB (under {}), {all} ticks (at most {TICKS}), user {} kernel {}",
        IDLE.as_secs(),
        mib(memory.anonymous_kib),
        mib(ANONYMOUS_KIB),
        ticks(spent.user),
        ticks(spent.kernel),
    ));
    verdict.require(memory.anonymous_kib < ANONYMOUS_KIB, || {
        format!(
            "{} KiB anonymous, more than {ANONYMOUS_KIB}",
            memory.anonymous_kib
        )
    });
    verdict.within(all <= TICKS, || {
        format!("{all} ticks in {} s, more than {TICKS}", IDLE.as_secs())
    });
    // What was measured is told however it ends.
    let stopped = agent.stop();
    verdict.require(stopped.is_ok(), || format!("{stopped:?}"));
    verdict.close()
}
