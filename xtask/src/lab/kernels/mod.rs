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

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

pub(crate) use apt::Apt;
use choice::Candidate;
pub(crate) use stanza::Stanza;
pub(crate) use suite::{Selection, Suite};

use crate::cache::Cache;

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
        let note = format!("kernels/{suite}.json");
        let last = cache
            .recall::<Self>(&note)
            .filter(|last| cache.find(&last.what.entry).is_some());
        if let Some(last) = &last
            && last.fresh
            && last.what.recipe == prepare::recipe()
        {
            return Ok(last.what.clone());
        }
        match (Self::look_up(cache, suite), last) {
            (Ok(kernel), _) => {
                cache.note(&note, &kernel)?;
                Ok(kernel)
            }
            (Err(error), Some(last)) => {
                let kernel = last.what;
                eprintln!(
                    "note: {suite}: using {} of last time again: {error:#}",
                    kernel.release
                );
                Ok(kernel)
            }
            (Err(error), None) => Err(error.context(format!("looking up the kernel of {suite}"))),
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
        let wanted: Vec<_> = packages
            .iter()
            .map(|name| format!("{name}={version}"))
            .collect();
        let archives: Result<Vec<_>> = apt
            .newest(&wanted)?
            .iter()
            .map(|package| apt.archive(cache, package))
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
