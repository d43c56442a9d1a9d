//! Where the cutovers play: a volume on two paths, one of them serving, watched by the agent and by the truth.

use anyhow::{Result, ensure};

use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::agent::{Agent, Memory, Ready, Window};
use crate::lab::host::{Controller, Head};
use crate::lab::target::{AnaState, Target};
use crate::lab::truth::Truth;

/// The volume's subsystem.
pub(super) const NQN: &str = "nqn.2023-02.io.simplyblock:lab:lvol:a";
/// Its one namespace.
pub(super) const NSID: u32 = 1;

/// Port 1 serves, port 2 is parked; both are connected, and agent and truth watch.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) truth: Truth,
    pub(super) agent: Agent,
    pub(super) target: Target,
    /// The controller at port 1.
    pub(super) source: Controller,
    /// The controller at port 2.
    pub(super) destination: Controller,
    pub(super) head: Head,
    ready: Ready,
    memory: Memory,
}

impl Scene {
    pub(super) fn set(lab: &Lab) -> Result<Self> {
        let truth = Truth::start()?;
        let target = lab.target(NQN)?;
        target.namespace(NSID)?;
        target.port(1).open(AnaState::Optimized)?;
        target.port(2).open(AnaState::Inaccessible)?;
        let source = lab.host.connect(&target.port(1))?;
        let destination = lab.host.connect(&target.port(2))?;
        let head = lab.host.head(NQN, NSID)?;
        let mut agent = Agent::start()?;
        let ready = agent.ready()?;
        let memory = agent.memory()?;
        Ok(Self {
            truth,
            agent,
            target,
            source,
            destination,
            head,
            ready,
            memory,
        })
    }

    /// A verdict that has the agent's start in it.
    pub(super) fn verdict(&self) -> Verdict {
        let mut verdict = Verdict::default();
        verdict.ready(&self.ready, self.memory);
        verdict
    }

    /// Stops the agent. It must have printed `N` windows, all of the volume's namespace.
    pub(super) fn windows<const N: usize>(self) -> Result<[Window; N]> {
        self.agent.windows(N)?;
        let windows = self.agent.stop()?;
        for window in &windows {
            ensure!(
                window.nqn == NQN && window.nsid == NSID,
                "a window of another namespace: {window:?}"
            );
        }
        let count = windows.len();
        windows
            .try_into()
            .map_err(|windows| anyhow::anyhow!("{count} windows, not {N}: {windows:?}"))
    }
}
