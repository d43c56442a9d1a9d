//! The agent watching a scene, and what it printed about it.

use anyhow::{Result, anyhow, ensure};

use super::scene::{NQN, NSID};
use super::verdict::Verdict;
use crate::lab::agent::{Agent, Memory, Ready, Window};
use crate::lab::truth::Truth;

/// An agent that measures.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) agent: Agent,
    ready: Ready,
    memory: Memory,
}

impl Watched {
    /// Starts the agent and waits until it is ready; its memory is that after its first snapshot. The truth's probes then
    /// go before the agent's.
    pub(super) fn start(truth: &mut Truth) -> Result<Self> {
        let mut agent = Agent::start()?;
        let ready = agent.ready()?;
        let memory = agent.memory()?;
        truth.go_first()?;
        Ok(Self {
            agent,
            ready,
            memory,
        })
    }

    /// Stops the agent. It must have printed `N` windows, all of the scene's namespace; the verdict that comes with them
    /// has the agent's start in it.
    pub(super) fn windows<const N: usize>(self) -> Result<([Window; N], Verdict)> {
        let mut verdict = Verdict::default();
        verdict.ready(&self.ready, self.memory);
        self.agent.windows(N)?;
        let windows = self.agent.stop()?;
        for window in &windows {
            let ours = window.nqn == NQN && window.nsid == NSID;
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
