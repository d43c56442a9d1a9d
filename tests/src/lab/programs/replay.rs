//! `pathwarden replay TRACE -o json`, as far as scenarios look at it.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Finding, PATHWARDEN, exit, with_settings};
use crate::lab::agent::Window;

/// What the whole pipeline made of a trace, at its end.
#[derive(Debug, Deserialize)]
pub struct Replay {
    windows: Vec<serde_json::Value>,
    /// Windows of one namespace taken together.
    pub freezes: Vec<serde_json::Value>,
    /// What was wrong at the end.
    pub findings: Vec<Finding>,
    /// What would be done.
    pub plan: Vec<serde_json::Value>,
    /// What would not be done, and why.
    pub refused: Vec<serde_json::Value>,
}

impl Replay {
    /// Replays a trace under settings from the environment.
    pub fn of(trace: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        let trace = trace.to_string_lossy();
        let arguments = ["replay", &*trace, "-o", "json"];
        let finished = with_settings(PATHWARDEN, &arguments, settings)?;
        let replay: Self = finished.document("the replay")?;
        let fits = [exit::CLEAN, exit::FINDINGS];
        ensure!(
            fits.contains(&finished.code),
            "replay ended with {}: {}",
            finished.code,
            finished.stderr.trim()
        );
        Ok(replay)
    }

    /// Every window.
    pub fn windows(&self) -> Result<Vec<Window>> {
        let windows = self.windows.iter().cloned();
        Ok(windows
            .map(serde_json::from_value)
            .collect::<serde_json::Result<_>>()?)
    }

    /// The same with all that is said of each.
    pub fn windows_as_printed(self) -> Vec<serde_json::Value> {
        self.windows
    }

    /// The findings of a kind.
    pub fn of_kind(&self, kind: &str) -> Vec<&Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.kind == kind).collect()
    }
}
