//! Where the stories play: a volume on two paths, one of them serving, traced from before the first connect.

use anyhow::Result;

use crate::lab::Lab;
use crate::lab::host::{Controller, Head};
use crate::lab::target::{AnaState, Target};
use crate::lab::truth::Truth;

/// The volume's subsystem.
pub(super) const NQN: &str = "nqn.2023-02.io.simplyblock:lab:lvol:a";
/// Its one namespace.
pub(super) const NSID: u32 = 1;

/// Port 1 serves, port 2 is parked; the host is connected to both.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) truth: Truth,
    pub(super) target: Target,
    /// The controller at port 1.
    pub(super) source: Controller,
    /// The controller at port 2.
    pub(super) destination: Controller,
    pub(super) head: Head,
}

impl Scene {
    pub(super) fn set(lab: &Lab) -> Result<Self> {
        Self::traced_by(Truth::start()?, lab)
    }

    /// With a trace that runs already.
    pub(super) fn traced_by(truth: Truth, lab: &Lab) -> Result<Self> {
        let target = lab.target(NQN)?;
        target.namespace(NSID)?;
        target.port(1).open(AnaState::Optimized)?;
        target.port(2).open(AnaState::Inaccessible)?;
        let source = lab.host.connect(&target.port(1))?;
        let destination = lab.host.connect(&target.port(2))?;
        let head = lab.host.head(NQN, NSID)?;
        Ok(Self {
            truth,
            target,
            source,
            destination,
            head,
        })
    }
}
