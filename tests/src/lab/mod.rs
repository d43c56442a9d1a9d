//! The lab: the vocabulary that scenarios are written in. Runs in the lab's guest only; nothing here is for a real host.
//!
//! One kernel is both sides: [`target`] offers subsystems through the kernel's own target, [`host`] connects to them,
//! [`io`] uses them, [`truth`] traces what the driver did and [`agent`] is the program under test, [`recording`] the same
//! while it writes a trace, [`programs`] what it and others print once, [`sampler`] what people make do with today. All of them
//! tell the time on the boot clock. What a scenario checks and when it fails is the scenario's own affair.

pub mod agent;
pub mod attribute;
pub mod clock;
pub mod hidden;
pub mod host;
pub mod io;
pub mod kprobes;
pub mod link;
pub mod modules;
pub(crate) mod netlink;
mod process;
pub mod programs;
pub mod protocol;
pub mod recording;
pub mod sampler;
pub mod target;
pub mod truth;
pub mod wait;

use std::path::Path;

use anyhow::Result;

use host::Host;
use target::Target;

/// Where namespaces' files are: in memory.
const STORE: &str = "/run";

/// A clean host and a clean target in one kernel.
#[derive(Debug)]
pub struct Lab {
    /// The host side.
    pub host: Host,
}

impl Lab {
    /// The lab of the guest that this runs in.
    pub fn of_this_guest() -> Self {
        Self {
            host: Host::new(Path::new("/sys")),
        }
    }

    /// A subsystem of the kernel's target, without namespaces and ports yet.
    pub fn target(&self, nqn: &str) -> Result<Target> {
        Target::create(Path::new(target::NVMET), Path::new(STORE), nqn)
    }

    /// Removes what a scenario left: controllers first, so that held I/O ends, then the target, then the trace.
    pub fn clean(&self) -> Result<()> {
        self.host.disconnect_all()?;
        target::wipe(Path::new(target::NVMET))?;
        truth::clear()
    }
}
