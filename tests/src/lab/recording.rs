//! The agent while it writes a trace of all it sees, for a later replay.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::process::Process;
use super::programs::PATHWARDEN;
use super::wait::{self, Look};

/// Where the trace is written; scenarios run one after the other.
const FILE: &str = "/tmp/trace.jsonl";

/// A recording under way.
#[derive(Debug)]
pub struct Recording {
    process: Process,
}

impl Recording {
    /// Starts it and waits until its first look at the host is in the trace.
    pub fn start() -> Result<Self> {
        let file = Path::new(FILE);
        if file.exists() {
            fs::remove_file(file).with_context(|| format!("remove {FILE}"))?;
        }
        let mut command = Command::new(PATHWARDEN);
        command.args(["record", FILE, "--log-format", "json"]);
        let process = Process::start(&mut command, ["record", "recorder"]).context("record")?;
        let mut recording = Self { process };
        recording.looked()?;
        Ok(recording)
    }

    fn looked(&mut self) -> Result<()> {
        let what = "the first snapshot in the trace";
        wait::until(what, Duration::from_secs(20), || {
            let trace = fs::read_to_string(FILE).unwrap_or_default();
            let looked = trace
                .lines()
                .any(|line| line.contains(r#""type":"snapshot""#));
            Ok(if looked {
                Look::Seen(())
            } else {
                Look::NotYet(self.process.still_runs().context("record")?)
            })
        })
    }

    /// Ends it; where the trace is.
    pub fn stop(mut self) -> Result<PathBuf> {
        self.process.stop().context("record")?;
        Ok(PathBuf::from(FILE))
    }
}
