//! What a scenario measured and which of its checks failed, in one line. Checks of windows are in `windows.rs`.

mod windows;

use std::fmt::Display;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::lab::agent::{Memory, Ready};
use crate::lab::programs::Inspect;

/// From the agent's start to its first snapshot, on an emulated CPU.
pub(super) const READY_WITHIN: Duration = Duration::from_secs(3);
/// Anonymous memory after the first snapshot, and later.
pub(super) const ANONYMOUS_KIB: u64 = 24 * 1024;

/// Only bounds on time were missed, all else held. Whatever holds an emulated CPU up adds to what is measured there and
/// takes nothing away, so another try may tell; a wrong answer is never tried again.
#[derive(Debug)]
pub(crate) struct Missed {
    /// Which bounds.
    pub(crate) bounds: String,
    figures: String,
}

impl Display for Missed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; measured: {}", self.bounds, self.figures)
    }
}

impl std::error::Error for Missed {}

/// Figures and failures, collected.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    figures: Vec<String>,
    failures: Vec<String>,
    /// Failures of bounds on time.
    missed: Vec<String>,
}

impl Verdict {
    /// Adds a figure to the closing line.
    pub(super) fn figure(&mut self, figure: impl Display) {
        self.figures.push(figure.to_string());
    }

    /// Notes a failure unless the check holds.
    pub(super) fn require(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(failure());
        }
    }

    /// Notes that a bound on time was missed unless it holds.
    pub(super) fn within(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        if !holds {
            self.missed.push(failure());
        }
    }

    /// Nothing was found, and everything was looked at.
    pub(super) fn clean(&mut self, inspect: &Inspect) {
        let clean = inspect.findings.is_empty() && inspect.unchecked.is_empty();
        self.require(clean, || {
            format!(
                "inspect finds {:?}, unchecked {:?}",
                inspect.findings, inspect.unchecked
            )
        });
    }

    /// The agent was ready in time; `late` are others before it that were not.
    pub(super) fn in_time(&mut self, ready: &Ready, late: &[Duration]) {
        for late in late {
            self.figure(format!("(before: ready {} ms)", late.as_millis()));
        }
        self.within(ready.after < READY_WITHIN, || {
            format!("ready after {:?}, more than {READY_WITHIN:?}", ready.after)
        });
    }

    /// The agent was ready with all its probes, and small.
    pub(super) fn ready(&mut self, ready: &Ready, memory: Memory) {
        self.figure(format!("ready {} ms", ready.after.as_millis()));
        self.figure(format!(
            "rss {} MiB peak {} MiB",
            mib(memory.anonymous_kib),
            mib(memory.peak_kib)
        ));
        self.require(ready.source == "bpf", || {
            format!("source is {:?}, not bpf", ready.source)
        });
        self.require(ready.attached == ready.probes && ready.probes > 0, || {
            format!("{} of {} probes attached", ready.attached, ready.probes)
        });
        self.require(memory.anonymous_kib < ANONYMOUS_KIB, || {
            format!(
                "{} KiB anonymous, more than {ANONYMOUS_KIB}",
                memory.anonymous_kib
            )
        });
    }

    /// The closing line, or the failures with it.
    pub(super) fn close(self) -> Result<String> {
        let figures = self.figures.join(" ");
        let bounds = self.missed.join("; ");
        if !self.failures.is_empty() {
            let failures = [self.failures, self.missed].concat().join("; ");
            return Err(anyhow!("{failures}; measured: {figures}"));
        }
        if !bounds.is_empty() {
            return Err(Missed { bounds, figures }.into());
        }
        Ok(figures)
    }
}

/// Mebibytes with one decimal.
pub(super) fn mib(kib: u64) -> String {
    format!("{}.{}", kib / 1024, kib % 1024 * 10 / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shown_in_mebibytes() {
        assert_eq!(mib(9_312), "9.0");
        assert_eq!(mib(21_700), "21.1");
    }
}
