//! Everything the guest can run, with the libraries it takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{extra, libraries, own};
use crate::cache::Cache;

/// A program to put into the guest.
#[derive(Debug)]
pub(super) struct Program {
    /// Where the guest has it.
    pub(super) place: String,
    /// Where it is on this machine.
    pub(super) file: PathBuf,
    /// Folders that hold its libraries, beside the system's.
    pub(super) libraries: Vec<PathBuf>,
}

/// All programs and their libraries, ready to be put into archives.
#[derive(Debug)]
pub(crate) struct Programs {
    /// File on this machine by place in the guest.
    pub(super) files: BTreeMap<String, PathBuf>,
}

impl Programs {
    /// Builds the project's own into `folder`, and takes the others that these scenarios need from the cache.
    pub(crate) fn prepare(cache: &Cache, folder: &Path, scenarios: &[String]) -> Result<Self> {
        let mut files = BTreeMap::new();
        for program in own::programs(folder)?
            .into_iter()
            .chain(extra::programs(cache, scenarios)?)
        {
            let needed = libraries::of_program(&program.file, &program.libraries)?;
            files.extend(
                needed
                    .into_iter()
                    .map(|library| (library.place, library.file)),
            );
            files.insert(program.place, program.file);
        }
        Ok(Self { files })
    }
}
