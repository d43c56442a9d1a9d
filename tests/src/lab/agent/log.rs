//! The agent's log: JSON lines on its standard error.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One line of the log.
#[derive(Debug, Clone, Deserialize)]
pub struct LogLine {
    /// `INFO`, `WARN` and so on.
    pub level: String,
    /// The message and what goes with it.
    pub fields: Map<String, Value>,
}

/// What the agent says once it measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// From its start to the line, as the scenario saw it.
    pub after: Duration,
    /// Probes attached.
    pub attached: u64,
    /// Probes planned.
    pub probes: u64,
    /// Where events come from: `bpf` or `poll`.
    pub source: String,
}

impl LogLine {
    pub(super) fn parse(line: &str) -> Result<Self> {
        serde_json::from_str(line).with_context(|| format!("log line {line:?}"))
    }

    /// The message.
    pub fn message(&self) -> &str {
        self.fields
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The line as one text, for searching and for errors.
    pub fn text(&self) -> String {
        let fields: Vec<_> = self
            .fields
            .iter()
            .filter(|(key, _)| *key != "message")
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        format!("{} {} {}", self.level, self.message(), fields.join(" "))
    }

    /// The line as the agent's readiness, if it is that.
    pub(super) fn ready(&self, after: Duration) -> Option<Ready> {
        let number = |key: &str| self.fields.get(key).and_then(Value::as_u64);
        (self.message() == "ready").then(|| Ready {
            after,
            attached: number("attached").unwrap_or(0),
            probes: number("probes").unwrap_or(0),
            source: self
                .fields
                .get("source")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_is_one_message_with_its_counts() {
        let line = r#"{"timestamp":"2026-11-30T10:00:00Z","level":"INFO","fields":{"message":"ready",
            "attached":13,"probes":14,"source":"bpf","elapsed_ms":812},"target":"pathwarden"}"#;
        let ready = LogLine::parse(line)
            .unwrap()
            .ready(Duration::from_millis(900))
            .unwrap();
        assert_eq!(
            (ready.attached, ready.probes, ready.source.as_str()),
            (13, 14, "bpf")
        );
    }

    #[test]
    fn any_other_message_is_not_readiness() {
        let line = r#"{"level":"WARN","fields":{"message":"no BTF","path":"/sys/kernel/btf"}}"#;
        let line = LogLine::parse(line).unwrap();
        assert_eq!(line.ready(Duration::ZERO), None);
        assert_eq!(line.text(), "WARN no BTF path=\"/sys/kernel/btf\"");
    }
}
