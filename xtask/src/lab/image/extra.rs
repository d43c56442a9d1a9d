//! Programs of Debian packages that the guest has beside the project's own.
//!
//! The packages are those of the host's own suite, so that they fit the C library the guest gets from the host. They are
//! downloaded to the cache and taken apart there, never installed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use pathwarden_tests::scenarios;

use super::programs::Program;
use crate::cache::{self, Cache};
use crate::command;
use crate::lab::kernels::{Apt, Stanza};
use crate::setup;

/// The programs and the packages they come from. Beside a program's own package, list those of its libraries that a host
/// need not have, or have all of them found; the C library is always there.
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
        all_libraries: false,
        programs: &["usr/sbin/nvme"],
        scenarios: None,
    },
    // With what it can read beside block devices (Ceph, Gluster and more) it is 80 MiB: not for every guest.
    Extra {
        packages: &["fio"],
        all_libraries: true,
        programs: &["usr/bin/fio"],
        scenarios: Some(&scenarios::WITH_FIO),
    },
];

#[derive(Debug)]
struct Extra {
    packages: &'static [&'static str],
    /// Whether the library packages that these depend on are fetched too.
    all_libraries: bool,
    /// Paths in the packages; the guest has them in the same place.
    programs: &'static [&'static str],
    /// The scenarios that need them; none: all.
    scenarios: Option<&'static [&'static str]>,
}

impl Extra {
    fn is_for(&self, wanted: &[String]) -> bool {
        self.scenarios
            .is_none_or(|needing| wanted.iter().any(|name| needing.contains(&name.as_str())))
    }
}

/// All that these scenarios need, from the cache.
pub(super) fn programs(cache: &Cache, scenarios: &[String]) -> Result<Vec<Program>> {
    let mut found = Vec::new();
    for extra in EXTRA.iter().filter(|extra| extra.is_for(scenarios)) {
        let tree = tree(cache, extra)
            .with_context(|| format!("fetching {}", extra.packages.join(", ")))?;
        found.extend(extra.programs.iter().map(|&place| {
            Program {
                place: place.to_owned(),
                file: tree.join(place),
                libraries: [
                    "usr/lib/x86_64-linux-gnu",
                    "lib/x86_64-linux-gnu",
                    "usr/lib/x86_64-linux-gnu/ceph",
                ]
                .map(|lib| tree.join(lib))
                .into(),
            }
        }));
    }
    Ok(found)
}

/// The packages, taken apart into one folder. Their versions are looked up once a day.
fn tree(cache: &Cache, extra: &Extra) -> Result<PathBuf> {
    let packages = extra.packages;
    let note = format!("programs/{}.json", packages.join("+"));
    let _lock = cache.lock(&note)?;
    let last = cache.recall::<String>(&note);
    let folder = last.as_ref().and_then(|last| cache.find(&last.what));
    if let (Some(folder), true) = (&folder, last.is_some_and(|last| last.fresh)) {
        return Ok(folder.clone());
    }
    // The host's index may be missing, or older than what the archive still has.
    let looked_up = look_up(cache, extra).or_else(|_| {
        setup::refresh_package_index()?;
        look_up(cache, extra)
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
fn look_up(cache: &Cache, extra: &Extra) -> Result<String> {
    let apt = Apt::of_host();
    let packages: Vec<String> = extra.packages.iter().map(|&name| name.to_owned()).collect();
    let mut found = apt.newest(&packages)?;
    if extra.all_libraries {
        found.extend(libraries_of(&found, |names| apt.newest(names))?);
    }
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

/// The library packages that these depend on, directly or not, by name.
fn libraries_of(
    packages: &[Stanza],
    newest: impl Fn(&[String]) -> Result<Vec<Stanza>>,
) -> Result<Vec<Stanza>> {
    let mut known: BTreeSet<String> = packages.iter().map(|it| it.name().to_owned()).collect();
    let mut found = Vec::new();
    let mut latest = packages.to_vec();
    while !latest.is_empty() {
        let needed = latest.iter().flat_map(Stanza::depends);
        let needed: BTreeSet<String> = needed
            .filter(|name| is_library(name) && !known.contains(*name))
            .map(str::to_owned)
            .collect();
        known.extend(needed.iter().cloned());
        latest = match needed.is_empty() {
            true => Vec::new(),
            false => newest(&needed.into_iter().collect::<Vec<_>>())?,
        };
        found.extend(latest.iter().cloned());
    }
    found.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(found)
}

/// By Debian's names. The C library is the host's, as the guest's own programs use it.
fn is_library(package: &str) -> bool {
    let named = package.starts_with("lib") || package == "zlib1g";
    named && package != "libc6"
}

fn take_apart(archive: &Path, into: &Path) -> Result<()> {
    let doing = format!("taking apart {}", archive.display());
    command::run(
        Command::new("dpkg").arg("-x").arg(archive).arg(into),
        &doing,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Vec<Stanza> {
        Stanza::parse_all(
            "Package: fio\nVersion: 1\nDepends: libc6 (>= 2), librbd1 (>= 1), python3, zlib1g\n\n\
             Package: librbd1\nVersion: 1\nDepends: libc6, librados2 (= 1), adduser\n\n\
             Package: librados2\nVersion: 1\nDepends: librbd1, zlib1g\n\n\
             Package: zlib1g\nVersion: 1\nDepends: libc6\n",
        )
    }

    #[test]
    fn libraries_are_found_through_one_another_once_and_nothing_else() {
        let all = index();
        let newest = |names: &[String]| {
            let found = names.iter().map(|name| {
                let found = all.iter().find(|it| it.name() == name).cloned();
                found.context(format!("{name} was asked for"))
            });
            found.collect()
        };

        let libraries = libraries_of(&all[..1], newest).unwrap();

        let names: Vec<_> = libraries.iter().map(Stanza::name).collect();
        assert_eq!(names, ["librados2", "librbd1", "zlib1g"]);
    }

    #[test]
    fn large_programs_are_only_for_the_scenarios_that_need_them() {
        let given = |names: &[&str]| {
            let wanted: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            let extra = EXTRA.iter().filter(|extra| extra.is_for(&wanted));
            extra.map(|extra| extra.packages[0]).collect::<Vec<_>>()
        };
        assert_eq!(given(&["clean-cutover"]), ["nvme-cli"]);
        assert_eq!(given(&["clean-cutover", "io-cost"]), ["nvme-cli", "fio"]);
    }
}
