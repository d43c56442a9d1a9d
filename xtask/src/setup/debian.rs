//! Debian packages of the host: which are there, and installing those that are not.

use std::collections::BTreeSet;
use std::fmt;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

use crate::command;

/// Packages that are not there and that this user may not install.
#[derive(Debug)]
pub(crate) struct Missing {
    packages: Vec<String>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = ["sudo", "apt-get", "install"].into_iter().chain(OPTIONS);
        let words = words.chain(self.packages.iter().map(String::as_str));
        let line = words.collect::<Vec<_>>().join(" ");
        write!(
            f,
            "Debian packages are missing; this installs them:\n\n    {line}\n"
        )
    }
}

impl std::error::Error for Missing {}

/// Installs those of the packages that are missing. Without root it says what to run, and fails.
pub(super) fn ensure(packages: &[String]) -> Result<()> {
    let missing = missing(packages)?;
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root()? {
        return Err(Missing { packages: missing }.into());
    }
    eprintln!("note: installing {}", missing.join(" "));
    refresh()?;
    command::run(
        apt_get().arg("install").args(OPTIONS).args(&missing),
        &format!("installing the Debian packages {}", missing.join(" ")),
    )
}

// Never at the price of a package that somebody else wanted here.
const OPTIONS: [&str; 3] = ["--yes", "--no-install-recommends", "--no-remove"];

/// Whether the host's package index offers this package.
pub(super) fn is_offered(package: &str) -> Result<bool> {
    Ok(!control(package)?.is_empty())
}

/// The package's control fields as the host's index has them; empty if it has none.
pub(super) fn control(package: &str) -> Result<String> {
    let shown = command::output(
        Command::new("apt-cache").args(["show", "--no-all-versions", package]),
        &format!("looking for the package {package}"),
    )?;
    Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
}

fn missing(packages: &[String]) -> Result<Vec<String>> {
    if packages.is_empty() {
        return Ok(Vec::new());
    }
    // Exits with 1 if one of the names is unknown, and prints the others all the same.
    let output = command::output(
        Command::new("dpkg-query")
            .args(["--show", "--showformat=${Package} ${db:Status-Status}\n"])
            .args(packages),
        "asking dpkg which packages are installed (the lab and the BPF tool chain need Debian)",
    )?;
    let shown = String::from_utf8_lossy(&output.stdout);
    Ok(not_installed(packages, &shown))
}

fn not_installed(packages: &[String], shown: &str) -> Vec<String> {
    let installed: BTreeSet<&str> = shown
        .lines()
        .filter_map(|line| line.strip_suffix(" installed"))
        .collect();
    packages
        .iter()
        .filter(|name| !installed.contains(name.as_str()))
        .cloned()
        .collect()
}

fn is_root() -> Result<bool> {
    Ok(command::capture(Command::new("id").arg("-u"), "asking who runs this")?.trim() == "0")
}

/// Refreshes the host's package index, once a run; only root may.
pub(crate) fn refresh() -> Result<()> {
    static DONE: OnceLock<()> = OnceLock::new();
    if DONE.get().is_none() {
        command::run(apt_get().arg("update"), "refreshing the package index")
            .context("a package is needed (without root, `sudo apt-get update` does it)")?;
    }
    DONE.get_or_init(|| ());
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // A package must not ask questions; another apt-get (unattended upgrades) is waited for.
    command.env("DEBIAN_FRONTEND", "noninteractive").args([
        "--quiet",
        "-o",
        "DPkg::Lock::Timeout=300",
    ]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_as_the_line_that_installs_it() {
        let missing = Missing {
            packages: vec!["kmod".to_owned(), "xz-utils".to_owned()],
        };

        let line = "sudo apt-get install --yes --no-install-recommends --no-remove kmod xz-utils\n";
        assert!(missing.to_string().ends_with(line), "{missing}");
    }

    #[test]
    fn a_package_counts_only_when_it_is_fully_installed() {
        let packages = ["kmod", "xz-utils", "qemu-system-x86"].map(str::to_owned);
        let shown = "kmod installed\nxz-utils config-files\n";

        assert_eq!(
            not_installed(&packages, shown),
            ["xz-utils", "qemu-system-x86"]
        );
    }
}
