//! The agent watching a scene, and what it printed about it.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};

use super::scene::{NQN, NSID};
use super::verdict::{READY_WITHIN, Verdict};
use crate::lab::agent::{Agent, Memory, Ready, Window};
use crate::lab::truth::Truth;

/// An agent that measures.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) agent: Agent,
    ready: Ready,
    memory: Memory,
    /// How long others took that were ready too late and given up, where it matters.
    late: Option<Vec<Duration>>,
}

/// How many agents are started at most until one is ready in time.
const STARTS: usize = 3;

impl Watched {
    /// Starts the agent and waits until it is ready; its memory is that after its first snapshot. The truth's probes then go
    /// before the agent's.
    pub(super) fn start(truth: &mut Truth) -> Result<Self> {
        Self::by(Agent::start()?, truth)
    }

    /// The same, and it must be ready in time. One that was held up as it started is replaced here, where it costs less than
    /// telling the whole story again.
    pub(super) fn start_in_time(truth: &mut Truth) -> Result<Self> {
        let mut late = Vec::new();
        loop {
            let mut agent = Agent::start()?;
            let after = agent.ready()?.after;
            if after < READY_WITHIN || late.len() + 1 == STARTS {
                let watched = Self::by(agent, truth)?;
                let late = Some(late);
                return Ok(Self { late, ..watched });
            }
            late.push(after);
            agent.stop()?;
        }
    }

    /// The same with an agent that was started otherwise.
    pub(super) fn by(mut agent: Agent, truth: &mut Truth) -> Result<Self> {
        let ready = agent.ready()?;
        let memory = agent.memory()?;
        truth.go_first()?;
        Ok(Self {
            agent,
            ready,
            memory,
            late: None,
        })
    }

    /// Stops the agent. It must have printed `N` windows, all of the scene's namespace; the verdict that comes with them
    /// has the agent's start in it.
    pub(super) fn windows<const N: usize>(self) -> Result<([Window; N], Verdict)> {
        self.windows_of(NQN, NSID)
    }

    /// The same for another namespace.
    pub(super) fn windows_of<const N: usize>(
        self,
        nqn: &str,
        nsid: u32,
    ) -> Result<([Window; N], Verdict)> {
        let mut verdict = Verdict::default();
        verdict.ready(&self.ready, self.memory);
        if let Some(late) = &self.late {
            verdict.in_time(&self.ready, late);
        }
        self.agent.windows(N)?;
        let windows = self.agent.stop()?;
        for window in &windows {
            let ours = window.nqn == nqn && window.nsid == nsid;
            ensure!(ours, "a window of another namespace: {window:?}");
        }
        let windows = windows.try_into().map_err(|windows: Vec<Window>| {
            anyhow!(
                "{} windows of the agent, not {N}: {windows:?}",
                windows.len()
            )
        })?;
        Ok((windows, verdict))
    }
}
