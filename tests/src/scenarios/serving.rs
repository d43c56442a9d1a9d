//! Where the stories about cost play: a volume whose two paths both serve, and nothing traces.

use anyhow::Result;

use super::scene::{NQN, NSID};
use crate::lab::Lab;
use crate::lab::host::{Controller, Head};
use crate::lab::target::{AnaState, Target};

#[derive(Debug)]
pub(super) struct Serving {
    pub(super) target: Target,
    /// At ports 1 and 2.
    pub(super) controllers: [Controller; 2],
    pub(super) head: Head,
}

impl Serving {
    pub(super) fn set(lab: &Lab) -> Result<Self> {
        let target = lab.target(NQN)?;
        target.namespace(NSID)?;
        target.port(1).open(AnaState::Optimized)?;
        target.port(2).open(AnaState::NonOptimized)?;
        let controllers = [
            lab.host.connect(&target.port(1))?,
            lab.host.connect(&target.port(2))?,
        ];
        let head = lab.host.head(NQN, NSID)?;
        Ok(Self {
            target,
            controllers,
            head,
        })
    }
}
