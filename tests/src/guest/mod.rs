//! The guest's init: brings a bare kernel to where scenarios can run, runs them, reports, powers off.
//!
//! Called by the `pathwarden-guest` binary alone, which is process 1 of the lab's guest. There is no shell and no other
//! program in the guest but the agent and what scenarios start.

mod boot;
mod cmdline;
pub mod modules;
mod report;
mod run;

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::lab::attribute;
use crate::scenarios;

/// Boots, runs what the kernel command line asks for, and returns when the report is written.
pub fn main() -> Result<()> {
    let kernel = boot::up().context("bring the guest up")?;
    let wanted = cmdline::scenarios(&attribute::read(Path::new("/proc/cmdline"))?);
    let mut report = report::Reporter::open()?;
    run::all(&kernel, &wanted, scenarios::all(), &mut report)
}

/// Turns the machine off. Returns only if the kernel refuses.
pub fn power_off() -> rustix::io::Errno {
    rustix::fs::sync();
    match rustix::system::reboot(rustix::system::RebootCommand::PowerOff) {
        Err(errno) => errno,
        Ok(()) => rustix::io::Errno::INVAL,
    }
}
