//! `pathwarden inspect -o json`, as far as scenarios look at it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::{Counts, PATHWARDEN, Unchecked, exit, expect_schema, once};

/// What the agent found wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Inspect {
    schema: String,
    /// Worst first.
    pub findings: Vec<Finding>,
    /// Totals.
    pub counts: Counts,
    /// What could not be looked at.
    pub unchecked: Vec<Unchecked>,
}

/// One fault of one identity.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Finding {
    /// What it is.
    pub kind: String,
    /// The one controller it is about.
    pub controller: Option<String>,
    /// All it is about.
    pub controllers: Vec<String>,
    /// A fact a line.
    pub evidence: Vec<String>,
    /// What follows.
    pub verdict: Verdict,
}

/// What follows from a finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Verdict {
    /// `propose`, `refuse` or `report-only`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What would be, or would have been done.
    pub action: Option<String>,
    /// Why it is not done.
    pub reason: Option<String>,
}

impl Inspect {
    /// Nothing but the host is known.
    pub fn plain() -> Result<Self> {
        Self::with(&[])
    }

    /// With a desired state.
    pub fn desiring(desired: &Path) -> Result<Self> {
        Self::with(&["--desired", &desired.to_string_lossy()])
    }

    /// With any arguments. A failure of the command, and an exit code that does not fit what it printed, are errors.
    pub fn with(arguments: &[&str]) -> Result<Self> {
        let all: Vec<&str> = ["inspect", "-o", "json"]
            .iter()
            .chain(arguments)
            .copied()
            .collect();
        let finished = once(PATHWARDEN, &all)?;
        let inspect: Self = finished.document("what the agent found")?;
        expect_schema(&inspect.schema, "pathwarden/inspect/v1")?;
        let fits = if inspect.findings.is_empty() {
            exit::CLEAN
        } else {
            exit::FINDINGS
        };
        ensure!(
            finished.code == fits,
            "inspect ended with {} and {} findings, unchecked: {:?}",
            finished.code,
            inspect.findings.len(),
            inspect.unchecked
        );
        Ok(inspect)
    }

    /// The one finding there is.
    pub fn only(&self) -> Result<&Finding> {
        match &self.findings[..] {
            [only] => Ok(only),
            others => Err(anyhow::anyhow!("not one finding: {others:?}")),
        }
    }

    /// The one finding of a kind.
    pub fn of_kind(&self, kind: &str) -> Result<&Finding> {
        let mut found = self.findings.iter().filter(|finding| finding.kind == kind);
        let first = found.next();
        let first = first.with_context(|| format!("no {kind} among {:?}", self.findings))?;
        ensure!(
            found.next().is_none(),
            "several {kind}: {:?}",
            self.findings
        );
        Ok(first)
    }

    /// Whether anything would be done.
    pub fn proposes(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.verdict.kind == "propose")
    }
}

impl Finding {
    /// Kind, controllers and verdict in a few words.
    pub fn in_short(&self) -> String {
        let Verdict {
            kind,
            action,
            reason,
        } = &self.verdict;
        let words = [Some(kind), action.as_ref(), reason.as_ref()];
        let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        format!(
            "{}({}): {}",
            self.kind,
            self.controllers.join(","),
            words.join(" ")
        )
    }
}

impl Verdict {
    /// Whether this action is refused for this reason.
    pub fn refuses(&self, action: &str, reason: &str) -> bool {
        self.kind == "refuse"
            && self.action.as_deref() == Some(action)
            && self.reason.as_deref() == Some(reason)
    }
}
