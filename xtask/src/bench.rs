//! `cargo xtask bench`: what is promised of speed, measured and printed.

use std::fs;

use anyhow::{Context as _, Result, bail};
use pathwarden_tests::scenarios::COST;

use crate::{command, lab};

/// What to measure.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Subject {
    /// A scan of sysfs: time per controller from 10 to 2,000, against reading the same files bare, and in the lab
    /// against `nvme list-subsys` with 80 controllers
    Scan,
    /// Events through decoding and folding on one core, and the replay of a trace of a million
    Fold,
    /// What the agent costs, in the lab: runs of its programs per I/O, reads per second beside it, memory and processor
    /// time while nothing happens
    Cost,
}

/// Measures it.
pub(crate) fn run(subject: Subject, kernel: &lab::Selection) -> Result<()> {
    match subject {
        Subject::Scan => {
            criterion("scan", "measuring scans of generated trees")?;
            let run = lab::run(&lab::Options::only("scan-80"))?;
            if run.failed() > 0 {
                bail!("the scan of 80 controllers in the lab missed its bound");
            }
            Ok(())
        }
        Subject::Fold => criterion("fold", "measuring the fold of events"),
        Subject::Cost => cost(kernel),
    }
}

fn criterion(name: &str, doing: &str) -> Result<()> {
    let mut bench = command::cargo();
    bench.args(["bench", "--quiet", "-p", "pathwarden", "--bench", name]);
    command::run(&mut bench, doing)
}

/// The scenarios print their figures beside the bounds. What else this machine does is a part of them.
fn cost(kernel: &lab::Selection) -> Result<()> {
    let before = load()?;
    let run = lab::run(&lab::Options::of(kernel.clone(), &COST))?;
    println!(
        "load average of this machine: {before} before, {} after",
        load()?
    );
    if run.failed() > 0 {
        bail!("the agent costs more than it may, or that could not be measured");
    }
    Ok(())
}

/// Of the last 1, 5 and 15 minutes.
fn load() -> Result<String> {
    let path = "/proc/loadavg";
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    let averages: Vec<_> = text.split(' ').take(3).collect();
    Ok(averages.join(" "))
}
