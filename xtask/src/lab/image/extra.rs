//! Programs of Debian packages that the guest has beside the project's own.
//!
//! The packages are those of the host's own suite, so that they fit the C library the guest gets from the host. They are
//! downloaded to the cache and taken apart there, never installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::programs::Program;
use crate::cache::{self, Cache};
use crate::command;
use crate::lab::kernels::{Apt, Stanza};
use crate::setup;

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

/// All of them, from the cache.
pub(super) fn programs(cache: &Cache) -> Result<Vec<Program>> {
    let mut found = Vec::new();
    for extra in EXTRA {
        let tree = tree(cache, extra.packages)
            .with_context(|| format!("fetching {}", extra.packages.join(", ")))?;
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

/// The packages, taken apart into one folder. Their versions are looked up once a day.
fn tree(cache: &Cache, packages: &[&str]) -> Result<PathBuf> {
    let note = format!("programs/{}.json", packages.join("+"));
    let _lock = cache.lock(&note)?;
    let last = cache.recall::<String>(&note);
    let folder = last.as_ref().and_then(|last| cache.find(&last.what));
    if let (Some(folder), true) = (&folder, last.is_some_and(|last| last.fresh)) {
        return Ok(folder.clone());
    }
    // The host's index may be missing, or older than what the archive still has.
    let looked_up = look_up(cache, packages).or_else(|_| {
        setup::refresh_package_index()?;
        look_up(cache, packages)
    });
    match (looked_up, folder) {
        (Ok(name), _) => {
            cache.note(&note, &name)?;
            Ok(cache.path(&name))
        }
        (Err(error), Some(folder)) => {
            eprintln!(
                "note: using {} of last time again: {error:#}",
                packages.join(", ")
            );
            Ok(folder)
        }
        (Err(error), None) => Err(error),
    }
}

/// The entry's name in the cache.
fn look_up(cache: &Cache, packages: &[&str]) -> Result<String> {
    let apt = Apt::of_host();
    let packages: Vec<String> = packages.iter().map(|&name| name.to_owned()).collect();
    let found = apt.newest(&packages)?;
    let sums: Vec<_> = found.iter().map(Stanza::sha256).collect();
    let first = found.first().context("no packages are named")?;
    let key = &cache::of_bytes(sums.concat().as_bytes())[..12];
    let name = format!("programs/{}_{}_{key}", first.name(), first.version());
    cache.entry(&name, |part| {
        found
            .iter()
            .try_for_each(|package| take_apart(&apt.archive(cache, package)?, part))
    })?;
    Ok(name)
}

fn take_apart(archive: &Path, into: &Path) -> Result<()> {
    let doing = format!("taking apart {}", archive.display());
    command::run(
        Command::new("dpkg").arg("-x").arg(archive).arg(into),
        &doing,
    )
}
