//! What rustup has installed: tool chains and their components.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::command;

/// Adds those of the components to the tool chain in use that it does not have.
pub(super) fn ensure_components(components: &[&str]) -> Result<()> {
    for component in components {
        let program = match *component {
            "clippy" => "clippy-driver",
            other => other,
        };
        // rustup's proxies exist for components that are not installed too: only running one tells.
        let there = command::output(
            Command::new(program).arg("--version"),
            "looking for a component",
        );
        if !there.is_ok_and(|output| output.status.success()) {
            command::run(
                Command::new("rustup").args(["component", "add", component]),
                &format!("adding the tool chain's component {component}"),
            )?;
        }
    }
    Ok(())
}

/// Names of the installed nightly tool chains; none where there is no rustup.
pub(super) fn nightlies() -> Vec<String> {
    let list = command::capture(
        Command::new("rustup").args(["toolchain", "list"]),
        "listing tool chains",
    );
    nightlies_in(&list.unwrap_or_default())
}

fn nightlies_in(list: &str) -> Vec<String> {
    let names = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| name.starts_with("nightly"))
        .map(str::to_owned)
        .collect()
}

/// Where the tool chain has the source of the standard library, if it has.
pub(super) fn library_source(toolchain: &str) -> Option<PathBuf> {
    let sysroot = command::capture(
        rustc(toolchain).args(["--print", "sysroot"]),
        "asking a tool chain where it is installed",
    );
    let library = PathBuf::from(sysroot.ok()?.trim()).join("lib/rustlib/src/rust/library");
    library.join("core/Cargo.toml").exists().then_some(library)
}

/// rustc of that tool chain.
pub(super) fn rustc(toolchain: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "rustc"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nightlies_are_found_among_the_tool_chains() {
        let list = "stable-x86_64-unknown-linux-gnu (active, default)\n\
                    nightly-2026-05-01-x86_64-unknown-linux-gnu\n\
                    1.95.0-x86_64-unknown-linux-gnu\n";

        assert_eq!(
            nightlies_in(list),
            ["nightly-2026-05-01-x86_64-unknown-linux-gnu"]
        );
    }

    #[test]
    fn no_tool_chain_is_no_nightly() {
        assert!(nightlies_in("no installed toolchains\n").is_empty());
    }
}
