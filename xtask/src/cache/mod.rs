//! The user's cache folder: what is downloaded or built once, shared by all clones of this repository.
//!
//! An entry is a folder that is there whole or not at all. It is filled under a temporary name, the checksums of its
//! files are written into it, and only then is it renamed; at every use the checksums are compared again. A fill that
//! fails or is interrupted leaves nothing that could be taken for an entry. A lock per entry keeps two clones that
//! want the same one at the same time from working against each other.
//!
//! Entries are named by version and, where it is known beforehand, by checksum; nothing is ever updated in place.

mod checksum;
mod lock;
mod recent;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

pub(crate) use checksum::{of_bytes, of_file};
pub(crate) use lock::Lock;

/// The cache folder.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$XDG_CACHE_HOME/pathwarden`, else `~/.cache/pathwarden`; created if it is not there.
    pub(crate) fn open() -> Result<Self> {
        // A relative XDG_CACHE_HOME is to be ignored (XDG base directory specification).
        let base = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        let base = base
            .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
            .context("finding the cache folder: neither XDG_CACHE_HOME nor HOME is set")?;
        Self::at(&base.join("pathwarden"))
    }

    fn at(root: &Path) -> Result<Self> {
        fs::create_dir_all(root)
            .with_context(|| format!("creating the cache folder {}", root.display()))?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// A path in the cache, whether there is anything or not.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Waits until nobody else holds the lock of that name, and holds it.
    pub(crate) fn lock(&self, name: &str) -> Result<Lock> {
        Lock::take(&self.root.join("locks"), name)
    }

    /// The entry of that name if it is there and its checksums hold.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let folder = self.path(name);
        checksum::verify(&folder).is_ok().then_some(folder)
    }

    /// The entry of that name; `fill` makes its content in the folder it is given if there is none yet.
    pub(crate) fn entry(
        &self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let folder = self.path(name);
        let _lock = self.lock(name)?;
        if folder.exists() {
            match checksum::verify(&folder) {
                Ok(()) => return Ok(folder),
                Err(why) => {
                    eprintln!("note: the cache's {name} is not whole and is made anew: {why:#}");
                }
            }
        }
        let mut part = folder.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        remove(&part)?;
        fs::create_dir_all(&part).with_context(|| format!("creating {}", part.display()))?;
        let filled = fill(&part).and_then(|()| checksum::seal(&part));
        if let Err(error) = filled {
            remove(&part)?;
            return Err(error.context(format!("filling the cache's {name}")));
        }
        remove(&folder)?;
        fs::rename(&part, &folder)
            .with_context(|| format!("naming {} once it was whole", folder.display()))?;
        Ok(folder)
    }
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn cache() -> (tempfile::TempDir, Cache) {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path()).unwrap();
        (dir, cache)
    }

    fn write_tool(folder: &Path) -> Result<()> {
        fs::create_dir(folder.join("bin"))?;
        Ok(fs::write(folder.join("bin/tool"), "whole")?)
    }

    #[test]
    fn an_entry_is_filled_once_and_then_found() {
        let (_dir, cache) = cache();

        let made = cache.entry("tools/x-1", write_tool).unwrap();
        let again = cache.entry("tools/x-1", |_| bail!("filled twice")).unwrap();

        assert_eq!(made, again);
        assert_eq!(cache.find("tools/x-1"), Some(made));
        assert_eq!(fs::read_to_string(again.join("bin/tool")).unwrap(), "whole");
    }

    #[test]
    fn a_fill_that_fails_leaves_nothing_and_is_named() {
        let (_dir, cache) = cache();

        let failed = cache.entry("debs/y-2", |folder| {
            fs::write(folder.join("y.deb"), "half")?;
            bail!("the connection was cut")
        });

        assert_eq!(
            format!("{:#}", failed.unwrap_err()),
            "filling the cache's debs/y-2: the connection was cut"
        );
        assert_eq!(cache.find("debs/y-2"), None);
        assert_eq!(fs::read_dir(cache.path("debs")).unwrap().count(), 0);
    }

    #[test]
    fn an_entry_cut_short_after_it_was_made_is_made_anew() {
        let (_dir, cache) = cache();
        let folder = cache.entry("tools/x-1", write_tool).unwrap();
        fs::write(folder.join("bin/tool"), "who").unwrap();

        assert_eq!(cache.find("tools/x-1"), None);
        let again = cache.entry("tools/x-1", write_tool).unwrap();

        assert_eq!(fs::read_to_string(again.join("bin/tool")).unwrap(), "whole");
    }

    #[test]
    fn what_an_interrupted_fill_left_behind_is_not_part_of_the_next() {
        let (_dir, cache) = cache();
        fs::create_dir_all(cache.path("tools/x-1.part")).unwrap();
        fs::write(cache.path("tools/x-1.part/left-over"), "").unwrap();

        let folder = cache.entry("tools/x-1", write_tool).unwrap();

        assert!(!folder.join("left-over").exists());
        assert!(!cache.path("tools/x-1.part").exists());
    }
}
