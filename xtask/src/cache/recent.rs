//! What was looked up a while ago: small notes in the cache that spare the network for a day.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Cache;

/// How long a note is fresh.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// A note of the last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recent<T> {
    /// What was noted.
    pub(crate) what: T,
    /// Not older than a day.
    pub(crate) fresh: bool,
}

impl Cache {
    /// The note of that name, if there is one that can be read.
    pub(crate) fn recall<T: DeserializeOwned>(&self, name: &str) -> Option<Recent<T>> {
        let path = self.path(name);
        let what = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
        // A time in the future is no age.
        let age = fs::metadata(&path).ok()?.modified().ok()?.elapsed();
        let fresh = age.is_ok_and(|age| age < KEPT);
        Some(Recent { what, fresh })
    }

    /// Writes the note down, as of now. The caller holds a lock.
    pub(crate) fn note<T: Serialize>(&self, name: &str, what: &T) -> Result<()> {
        let path = self.path(name);
        let write = || -> Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            Ok(fs::write(&path, serde_json::to_string(what)?)?)
        };
        write().with_context(|| format!("writing {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::SystemTime;

    #[test]
    fn a_note_is_fresh_for_a_day_and_told_apart_after_that() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path()).unwrap();
        assert_eq!(cache.recall::<String>("kernels/x.json"), None);

        cache.note("kernels/x.json", &"6.1").unwrap();
        let recent = |fresh| {
            Some(Recent {
                what: "6.1".to_owned(),
                fresh,
            })
        };
        assert_eq!(cache.recall("kernels/x.json"), recent(true));

        let file = File::options()
            .append(true)
            .open(cache.path("kernels/x.json"))
            .unwrap();
        let modified = |file: &File| file.metadata().unwrap().modified().unwrap();
        let now: SystemTime = modified(&file);
        file.set_modified(now - KEPT).unwrap();
        assert_eq!(cache.recall("kernels/x.json"), recent(false));
        file.set_modified(now + KEPT).unwrap();
        assert_eq!(cache.recall("kernels/x.json"), recent(false));
    }
}
