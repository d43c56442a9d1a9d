//! Where the stories play: a volume on two paths, one of them serving, traced from before the first connect.

use std::time::Duration;

use anyhow::Result;

use crate::lab::clock::BootNs;
use crate::lab::host::{Controller, Head, Timeouts};
use crate::lab::io::Io;
use crate::lab::target::{AnaState, Target};
use crate::lab::truth::Truth;
use crate::lab::{Lab, wait};

/// The volume's subsystem.
pub(super) const NQN: &str = "nqn.2023-02.io.simplyblock:lab:lvol:a";
/// Its one namespace.
pub(super) const NSID: u32 = 1;

/// Port 1 serves, port 2 is parked unless said otherwise; the host is connected to both.
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

/// In what a scene differs from the usual.
#[derive(Debug)]
pub(super) struct Setting {
    /// Port 2's state.
    pub(super) second: AnaState,
    /// How the controllers behave when their target is gone.
    pub(super) timeouts: Timeouts,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            second: AnaState::Inaccessible,
            timeouts: Timeouts::default(),
        }
    }
}

/// A way that the volume moves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// From port 1 to port 2.
    There,
    /// From port 2 to port 1.
    Back,
}

impl Scene {
    pub(super) fn set(lab: &Lab) -> Result<Self> {
        Self::set_as(lab, &Setting::default())
    }

    pub(super) fn set_as(lab: &Lab, setting: &Setting) -> Result<Self> {
        Self::traced_by(Truth::start()?, lab, setting)
    }

    /// With a trace that runs already.
    pub(super) fn traced_by(truth: Truth, lab: &Lab, setting: &Setting) -> Result<Self> {
        let target = lab.target(NQN)?;
        target.namespace(NSID)?;
        target.port(1).open(AnaState::Optimized)?;
        target.port(2).open(setting.second)?;
        let source = lab.host.connect_with(&target.port(1), setting.timeouts)?;
        let destination = lab.host.connect_with(&target.port(2), setting.timeouts)?;
        let head = lab.host.head(NQN, NSID)?;
        Ok(Self {
            truth,
            target,
            source,
            destination,
            head,
        })
    }

    /// The controllers that a move is from and to.
    pub(super) fn ends(&self, way: Way) -> [&Controller; 2] {
        match way {
            Way::There => [&self.source, &self.destination],
            Way::Back => [&self.destination, &self.source],
        }
    }

    /// Takes the volume from one port, gives it to the other after `dark`, and waits until I/O flows again. The moment is
    /// that of the taking.
    pub(super) fn cut_over(&self, io: &Io, way: Way, dark: Duration) -> Result<BootNs> {
        let (from, to) = match way {
            Way::There => (1, 2),
            Way::Back => (2, 1),
        };
        let flip = io.between_operations(|| self.target.port(from).ana(AnaState::Inaccessible))?;
        wait::pause(dark);
        self.target.port(to).ana(AnaState::Optimized)?;
        io.flowing_since(BootNs::now())?;
        Ok(flip)
    }
}
