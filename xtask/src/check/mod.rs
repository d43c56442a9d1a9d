//! `cargo xtask test`: everything that must hold before a change goes in, in one command.
//!
//! All steps run even if an earlier one failed, so that one run tells everything. A step that cannot run here is skipped
//! and says why; in CI (the environment variable CI is set) nothing may be skipped, and a skip is a failure.

mod steps;
mod tally;

use std::time::Instant;

use anyhow::Result;

use crate::setup::Missing;
use steps::Step;
use tally::{Tally, Verdict};

/// Runs all steps and prints the tally; whether everything held.
pub(crate) fn test() -> Result<bool> {
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let mut tally = Tally::new(in_ci);
    for step in Step::ALL {
        println!("== {step}");
        let start = Instant::now();
        let verdict = step
            .run()
            .unwrap_or_else(|error| match error.downcast_ref::<Missing>() {
                Some(missing) => Verdict::Skipped(missing.to_string()),
                None => Verdict::failed(format!("{error:#}")),
            });
        println!("{}", tally.add(step, verdict, start.elapsed()));
    }
    print!("\n{}", tally.text());
    println!("{}", tally.closing_line());
    Ok(tally.failed() == 0)
}

/// `cargo xtask deny`: licences, bans and sources of all dependencies. Not part of the test run: it builds for minutes,
/// and its advisory database needs a network of its own.
pub(crate) fn deny() -> Result<()> {
    steps::deny()
}
