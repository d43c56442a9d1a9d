//! A window as a consumer of the agent's output reads it: only what a scenario looks at.

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::lab::clock::{BootNs, Span};

/// One line of `pathwarden run -o json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Window {
    /// The subsystem.
    pub nqn: String,
    /// The namespace.
    pub nsid: u32,
    /// Its begin.
    pub begin_ns: BootNs,
    /// Its end; null while it is open.
    pub end_ns: Option<BootNs>,
    /// Its length, nanoseconds; null when an end was not seen.
    pub duration_ns: Option<u64>,
    /// How long it was seen to be at least, nanoseconds, when its length is not known.
    pub at_least_ns: Option<u64>,
    /// Whether it goes on.
    pub open: bool,
    /// It began before the agent looked.
    pub truncated_begin: bool,
    /// The agent did not see it end.
    pub truncated_end: bool,
    /// `cutover` or `outage`.
    pub class: String,
    /// `queued`, `failing` or `lost`.
    pub severity: String,
    /// Since when I/O failed instead of being held; null if it never did.
    pub failing_since_ns: Option<BootNs>,
    /// Why it began.
    pub cause_begin: Cause,
    /// Why it ended.
    pub cause_end: Option<Cause>,
    /// How far the ends may be off, nanoseconds.
    pub error_ns: u64,
    /// `bpf`, `uevent` or `poll`.
    pub source: String,
}

/// Why a window began or ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Cause {
    /// The kind, such as `ana-log`.
    pub kind: String,
    /// The controller it came from.
    pub controller: Option<ControllerName>,
    /// Its network interface, if that was down.
    pub nearby: Option<Nearby>,
}

/// A network interface that went down.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Nearby {
    /// Its name.
    pub ifname: String,
    /// When.
    pub down_ns: BootNs,
}

/// A controller, told apart from others that had its name before.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ControllerName {
    /// The kernel's name.
    pub name: String,
}

impl Window {
    pub(super) fn parse(line: &str) -> Result<Self> {
        serde_json::from_str(line).with_context(|| format!("the agent's window {line:?}"))
    }

    /// From begin to end, if it has ended.
    pub fn span(&self) -> Result<Span> {
        let end = self
            .end_ns
            .with_context(|| format!("a window without an end: {self:?}"))?;
        Ok(Span {
            begin: self.begin_ns,
            end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_read_and_keys_of_no_interest_are_passed_over() {
        let line = r#"{"id":"w1","nqn":"nqn.a","nsid":1,"uuid":null,"begin_ns":100,"end_ns":350,
            "duration_ns":250,"open":false,"truncated_begin":false,"truncated_end":false,
            "class":"cutover","severity":"queued","cause_begin":{"kind":"ana-error",
            "controller":{"name":"nvme0","gen":1}},"cause_end":{"kind":"ana-log","controller":null},
            "error_ns":1000,"source":"bpf"}"#;
        let window = Window::parse(line).unwrap();
        assert_eq!(
            window.span().unwrap(),
            Span {
                begin: BootNs(100),
                end: BootNs(350)
            }
        );
        assert_eq!(window.cause_begin.kind, "ana-error");
        assert_eq!(window.cause_begin.controller.unwrap().name, "nvme0");
    }

    #[test]
    fn a_window_without_its_ends_is_an_error_that_shows_it() {
        let error = format!("{:#}", Window::parse(r#"{"nqn":"nqn.a"}"#).unwrap_err());
        assert!(error.contains("nqn.a"), "{error}");
    }
}
