//! `cargo xtask bench`: what is promised of speed, measured and printed.

use anyhow::Result;

use crate::command;

/// What to measure.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Subject {
    /// A scan of sysfs: time per controller from 10 to 2,000, and against reading the same files bare
    Scan,
}

/// Measures it.
pub(crate) fn run(subject: Subject) -> Result<()> {
    match subject {
        Subject::Scan => {
            let mut bench = command::cargo();
            bench.args(["bench", "--quiet", "-p", "pathwarden", "--bench", "scan"]);
            command::run(&mut bench, "measuring scans of generated trees")
        }
    }
}
