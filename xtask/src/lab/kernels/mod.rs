//! The kernels the lab boots: Debian's own, chosen by suite, in the cache.
//!
//! Versions move: a suite's kernel is looked up anew once a day, the newest its metapackage depends on is taken, and one
//! that has vanished from the archive falls to the next newest. Without a network what the cache has is used. Knows
//! nothing of guests; the lab asks for a [`Kernel`] and gets files.

mod apt;
mod choice;
mod debversion;
mod mirror;
mod modules;
mod prepare;
mod stanza;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

pub(crate) use apt::Apt;
use choice::Candidate;
pub(crate) use suite::{Selection, Suite};

use crate::cache::Cache;

/// How long a suite's choice is kept before its index is looked at again.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// How many of a suite's kernels are tried before giving up.
const TRIED: usize = 3;

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kernel {
    /// As `uname -r` prints it.
    pub(crate) release: String,
    /// Version of its Debian packages.
    pub(crate) version: String,
    /// The prepared folder's name in the cache.
    entry: String,
    /// How it was prepared: see `prepare::recipe`.
    recipe: String,
}

impl Kernel {
    /// The suite's kernel, prepared in the cache.
    pub(crate) fn of(cache: &Cache, suite: Suite) -> Result<Self> {
        let _lock = cache.lock(&format!("kernel-{suite}"))?;
        let pointer = cache.path(&format!("kernels/{suite}.json"));
        let last = Self::last(cache, &pointer);
        if let Some(kernel) = last
            .as_ref()
            .filter(|kernel| is_fresh(&pointer) && kernel.recipe == prepare::recipe())
        {
            return Ok(kernel.clone());
        }
        match Self::look_up(cache, suite) {
            Ok(kernel) => {
                let text = serde_json::to_string(&kernel)
                    .context("writing down which kernel was chosen")?;
                fs::write(&pointer, text)
                    .with_context(|| format!("writing {}", pointer.display()))?;
                Ok(kernel)
            }
            Err(error) => match last {
                Some(last) => {
                    eprintln!(
                        "note: {suite}: using {} again, the kernel of last time: {error:#}",
                        last.release
                    );
                    Ok(last)
                }
                None => Err(error.context(format!("looking up the kernel of {suite}"))),
            },
        }
    }

    /// What people call it, and the lab's name for it: "6.1".
    pub(crate) fn series(&self) -> String {
        choice::series(&self.release)
    }

    /// The image to boot.
    pub(crate) fn image(&self, cache: &Cache) -> PathBuf {
        cache.path(&self.entry).join(prepare::IMAGE)
    }

    /// The folder that holds `lib/modules/<release>`.
    pub(crate) fn modules(&self, cache: &Cache) -> PathBuf {
        cache.path(&self.entry).join("lib")
    }

    fn last(cache: &Cache, pointer: &Path) -> Option<Self> {
        let kernel: Self = serde_json::from_str(&fs::read_to_string(pointer).ok()?).ok()?;
        cache.find(&kernel.entry).is_some().then_some(kernel)
    }

    fn look_up(cache: &Cache, suite: Suite) -> Result<Self> {
        let apt = Apt::of_suite(cache, suite)?;
        if let Err(error) = apt.refresh() {
            // What is in the cache may do: the index of last time and the archives it names.
            eprintln!("note: the index of {suite} stays as it was: {error:#}");
        }
        let mut names = apt.names("linux-image-")?;
        ensure!(!names.is_empty(), "the index of {suite} has no kernels");
        names.sort();
        let candidates = choice::candidates(&apt.show(&names)?)?;
        let mut failed = None;
        for candidate in candidates.into_iter().take(TRIED) {
            match Self::prepare(cache, &apt, &candidate) {
                Ok(kernel) => return Ok(kernel),
                Err(error) => {
                    eprintln!(
                        "note: {} of {suite} cannot be used: {error:#}",
                        candidate.release
                    );
                    failed = Some(error);
                }
            }
        }
        Err(failed.unwrap_or_else(|| {
            anyhow::anyhow!("{suite} has none of the kernels its metapackage names")
        }))
    }

    fn prepare(cache: &Cache, apt: &Apt, candidate: &Candidate) -> Result<Self> {
        let Candidate {
            release,
            version,
            packages,
        } = candidate;
        let archives: Result<Vec<_>> = packages
            .iter()
            .map(|package| apt.archive(cache, package, version))
            .collect();
        let (archives, recipe) = (archives?, prepare::recipe());
        let entry = format!(
            "kernels/{release}_{version}_{}",
            prepare::key(&recipe, &archives)
        );
        cache.entry(&entry, |folder| {
            eprintln!("note: preparing the kernel {release}");
            prepare::fill(folder, candidate, &archives)
        })?;
        Ok(Self {
            release: release.clone(),
            version: version.clone(),
            entry,
            recipe,
        })
    }
}

fn is_fresh(file: &Path) -> bool {
    let modified = fs::metadata(file).and_then(|meta| meta.modified());
    // A time in the future is no age: looked at again.
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < KEPT))
}
