//! Programs from the Rust package registry, built into the cache.

use std::path::PathBuf;

use anyhow::Result;

use crate::cache::Cache;
use crate::command;

/// A program that `cargo install` builds.
#[derive(Debug)]
pub(crate) struct CargoTool {
    /// Package and program.
    pub(crate) name: &'static str,
    /// Exactly this one; its own lock file decides the versions of what it is made of.
    pub(crate) version: &'static str,
    /// What tells builds of one version apart.
    pub(crate) variant: Option<String>,
    /// More arguments for `cargo install`.
    pub(crate) arguments: Vec<String>,
    /// What its build scripts must know.
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl CargoTool {
    fn entry(&self) -> String {
        let variant = self
            .variant
            .as_ref()
            .map(|variant| format!("-{variant}"))
            .unwrap_or_default();
        format!("tools/{}-{}{variant}", self.name, self.version)
    }
}

/// The program's path; built first if the cache does not have it.
pub(crate) fn install(cache: &Cache, tool: &CargoTool) -> Result<PathBuf> {
    let folder = cache.entry(&tool.entry(), |part| {
        eprintln!(
            "note: building {} {} into the cache",
            tool.name, tool.version
        );
        let mut cargo = command::cargo();
        cargo
            .args([
                "install",
                tool.name,
                "--version",
                tool.version,
                "--locked",
                "--quiet",
                "--root",
            ])
            .arg(part)
            .args(&tool.arguments)
            .envs(tool.environment.iter().map(|(name, value)| (name, value)))
            // Else it would fill this checkout's target folder.
            .env_remove("CARGO_TARGET_DIR");
        command::run(
            &mut cargo,
            &format!("building {} {}", tool.name, tool.version),
        )
    })?;
    Ok(folder.join("bin").join(tool.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_for_different_llvms_are_different_entries() {
        let mut tool = CargoTool {
            name: "t",
            version: "1.2.3",
            variant: None,
            arguments: vec![],
            environment: vec![],
        };
        assert_eq!(tool.entry(), "tools/t-1.2.3");

        tool.variant = Some("llvm-22".to_owned());
        assert_eq!(tool.entry(), "tools/t-1.2.3-llvm-22");
    }
}
