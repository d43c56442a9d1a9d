//! Programs of Debian packages that the guest has beside the project's own.
//!
//! The packages are those of the host's own suite, so that they fit the C library the guest gets from the host. They are
//! downloaded to the cache and taken apart there, never installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::cache::Cache;
use crate::command;
use crate::lab::kernels::Apt;

/// The programs and the packages they come from. Beside a program's own package, list those of its libraries that a host
/// need not have; the C library is always there.
const EXTRA: &[Extra] = &[
    // What it says of a topology, the agent must say too.
    Extra {
        packages: &[
            "nvme-cli",
            "libnvme1",
            "libjson-c5",
            "libssl3",
            "libdbus-1-3",
        ],
        programs: &["usr/sbin/nvme"],
    },
];

#[derive(Debug)]
struct Extra {
    packages: &'static [&'static str],
    /// Paths in the packages; the guest has them in the same place.
    programs: &'static [&'static str],
}

/// A program to put into the guest.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) place: String,
    pub(super) file: PathBuf,
    /// Folders that hold its libraries.
    pub(super) libraries: Vec<PathBuf>,
}

/// All of them, from the cache.
pub(super) fn programs(cache: &Cache) -> Result<Vec<Program>> {
    let mut found = Vec::new();
    for extra in EXTRA {
        let tree = tree(cache, extra.packages)?;
        found.extend(extra.programs.iter().map(|&place| {
            Program {
                place: place.to_owned(),
                file: tree.join(place),
                libraries: ["usr/lib", "lib"]
                    .map(|lib| tree.join(lib).join("x86_64-linux-gnu"))
                    .into(),
            }
        }));
    }
    Ok(found)
}

fn tree(cache: &Cache, packages: &[&str]) -> Result<PathBuf> {
    let apt = Apt::of_host();
    let archives: Result<Vec<PathBuf>> = packages
        .iter()
        .map(|name| apt.newest(cache, name))
        .collect();
    let archives = archives?;
    // An archive's folder is named by package, version and checksum.
    let names = archives
        .iter()
        .filter_map(|archive| archive.parent()?.file_name());
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    cache.entry(&format!("programs/{}", names.join("+")), |part| {
        archives
            .iter()
            .try_for_each(|archive| take_apart(archive, part))
    })
}

fn take_apart(archive: &Path, into: &Path) -> Result<()> {
    let doing = format!("taking apart {}", archive.display());
    command::run(
        Command::new("dpkg").arg("-x").arg(archive).arg(into),
        &doing,
    )
    .context("a program of the guest")
}
