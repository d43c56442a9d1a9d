//! The trace format, version 1: what happened, one JSON object a line, for anyone to fold again.
//!
//! The first line is the [`Header`]. Each line after it is one event: `t` (nanoseconds, boot clock), `type` (the event's
//! word), `source` where it is not `bpf`, `error_ns` where the time is not exact, and the event's own keys, which stand
//! in [`line`]. Keys that this version does not know are left alone; a line of an event that it does not know is passed
//! over and told, since what it said is then not known.
//!
//! Owns: the text form. Does not own: files, nor when a trace is written.

mod line;
mod reader;
mod writer;

pub use reader::{Reader, TraceError};
pub use writer::{Writer, line};

use serde::{Deserialize, Serialize};

use crate::fabric::Multipath;

/// The version that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// A trace's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format's version.
    pub trace: u32,
    /// The boot whose clock the times are of.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// The kernel's release.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Whether native multipath is on.
    #[serde(default)]
    pub multipath: Option<Multipath>,
    /// The clock of the times; always `boot`.
    #[serde(default = "boot")]
    pub clock: String,
}

impl Header {
    /// Of a trace that begins now.
    #[must_use]
    pub fn new(
        boot_id: Option<String>,
        kernel: Option<String>,
        multipath: Option<Multipath>,
    ) -> Self {
        Self {
            trace: VERSION,
            boot_id,
            kernel,
            multipath,
            clock: boot(),
        }
    }
}

fn boot() -> String {
    "boot".to_owned()
}

#[cfg(test)]
mod tests;
