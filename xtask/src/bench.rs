//! `cargo xtask bench`: what is promised of speed, measured and printed.

use anyhow::{Result, bail};

use crate::{command, lab};

/// What to measure.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Subject {
    /// A scan of sysfs: time per controller from 10 to 2,000, against reading the same files bare, and in the lab
    /// against `nvme list-subsys` with 80 controllers
    Scan,
}

/// Measures it.
pub(crate) fn run(subject: Subject) -> Result<()> {
    match subject {
        Subject::Scan => {
            let mut bench = command::cargo();
            bench.args(["bench", "--quiet", "-p", "pathwarden", "--bench", "scan"]);
            command::run(&mut bench, "measuring scans of generated trees")?;
            let run = lab::run(&lab::Options::only("scan-80"))?;
            if run.failed() > 0 {
                bail!("the scan of 80 controllers in the lab missed its bound");
            }
            Ok(())
        }
    }
}
