//! What the guest tells the machine that booted it, one JSON object a line on the guest's second serial port.
//!
//! The first port is the kernel's console; a port of its own keeps the report whole when the kernel prints in the
//! middle of a line. Written by `pathwarden-guest`, read by `cargo xtask lab`.

use serde::{Deserialize, Serialize};

/// The guest's device for the report; the console is `ttyS0`.
pub const REPORT_DEVICE: &str = "/dev/ttyS1";

/// Kernel command line parameter that names the scenarios to run, comma-separated; absent or empty means all.
pub const SCENARIOS_PARAMETER: &str = "pathwarden.scenarios";

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Report {
    /// The guest is up: modules loaded, the lab's file systems mounted.
    Booted {
        /// Release of the running kernel (`uname -r`).
        kernel: String,
        /// Boot clock at that moment.
        uptime_ms: u64,
    },
    /// A scenario begins.
    Begin {
        /// Its name.
        scenario: String,
        /// It hangs on purpose: a hung-task report of the kernel is no failure until it ends.
        expects_hung_task: bool,
    },
    /// A scenario's closing line.
    End {
        /// Its name.
        scenario: String,
        /// Whether every check of it held.
        ok: bool,
        /// What was measured, in one line; with `ok` false, the failure.
        figures: String,
        /// How long it took, boot clock.
        elapsed_ms: u64,
    },
    /// The run is over; the guest powers off.
    Done {
        /// Scenarios whose checks all held.
        passed: usize,
        /// The others.
        failed: usize,
    },
}
