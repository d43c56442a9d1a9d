//! What a cargo build made, as cargo itself reports it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// Runs a `cargo build …`, shows its diagnostics, and returns the executables by name.
pub(crate) fn build(cargo: &mut Command, doing: &str) -> Result<BTreeMap<String, PathBuf>> {
    cargo
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit());
    let output = cargo
        .output()
        .with_context(|| format!("{doing}: starting cargo"))?;
    if !output.status.success() {
        bail!("{doing}: cargo ended with {}", output.status);
    }
    Ok(executables(&String::from_utf8_lossy(&output.stdout)))
}

#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages
        .filter_map(|message| Some((message.target?.name, message.executable?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_found_among_the_messages_of_a_build() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"anyhow","kind":["lib"]},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"pathwarden","kind":["bin"]},"executable":"/t/debug/pathwarden"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );

        let found = executables(messages);

        assert_eq!(found.len(), 1);
        assert_eq!(found["pathwarden"], PathBuf::from("/t/debug/pathwarden"));
    }
}
