//! The embedded database: what outlives the agent. One SQLite file in a folder of its own.
//!
//! Owns: the file, its schema and versions, how rows are written, read and dropped. Does not own: what a window is
//! ([`crate::watch`]) nor what is done about one; it decides nothing.
//!
//! Invariants: what was put is on the disk when the call returns (WAL, `synchronous = FULL`); a file that is damaged
//! or newer is never written to and never deleted; a reader never waits for the writer, nor the writer for a reader.

mod error;
mod recorder;
mod schema;
mod windows;

use std::{
    ffi::OsString,
    fs::{DirBuilder, OpenOptions},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::fabric::UnixNs;

pub use error::StoreError;
pub use recorder::{Recorder, Retention};
pub use windows::{Listing, StoredCause, StoredWindow, WindowQuery};

/// The database's name in its folder.
pub const FILE: &str = "pathwarden.db";

/// How long a writer waits for another one. Readers do not hold it up.
const BUSY: Duration = Duration::from_secs(5);

/// The open database.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the database of a folder to read and write, and brings it up to date. Makes both where there are none,
    /// for their owner alone.
    ///
    /// # Errors
    /// When either cannot be made or opened, and when the file is damaged or of a newer version.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        make(folder, &path)?;
        let mut store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Before anything is written: a newer file stays as it is.
        store.version()?;
        store.pragma("journal_mode", "wal")?;
        store.pragma("synchronous", "full")?;
        if let Some(problem) = store.problem()? {
            let path = store.path;
            return Err(StoreError::Damaged { path, problem });
        }
        let brought = schema::bring_up(&mut store.connection);
        brought.map_err(|source| store.failed("bringing up to date", source))?;
        Ok(store)
    }

    /// Opens the database of a folder to read it, also while an agent writes. A file that is damaged inside opens:
    /// see [`Store::problem`].
    ///
    /// # Errors
    /// When there is none, it cannot be opened, is no database, or of another version.
    pub fn open_read_only(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        // SQLite tells "unable to open" for everything; the system says why.
        if let Err(source) = std::fs::File::open(&path) {
            return Err(match source.kind() {
                std::io::ErrorKind::NotFound => StoreError::Missing { path },
                _ => StoreError::File {
                    doing: "opening",
                    path,
                    source,
                },
            });
        }
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let found = store.version()?;
        if found < schema::VERSION {
            let path = store.path;
            return Err(StoreError::Older { path, found });
        }
        Ok(store)
    }

    /// Puts the database of a folder out of the way, under a name with this time; a new one can be made then. Nothing
    /// is deleted or overwritten. No process may have it open. Returns the new name.
    ///
    /// # Errors
    /// When a file cannot be renamed, or one of the new name is there.
    pub fn set_aside(folder: &Path, at: UnixNs) -> Result<PathBuf, StoreError> {
        let path = folder.join(FILE);
        let aside = folder.join(format!("{FILE}.{}", stamp(at)));
        // The log goes first: one left beside a new database would be played into it.
        for suffix in ["-wal", "-shm", ""] {
            let (from, to) = (with_suffix(&path, suffix), with_suffix(&aside, suffix));
            match renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE) {
                Err(rustix::io::Errno::NOENT) if !suffix.is_empty() => {}
                renamed => renamed.map_err(|source| StoreError::File {
                    doing: "setting aside",
                    path: from,
                    source: source.into(),
                })?,
            }
        }
        Ok(aside)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first thing that is wrong inside the file, by SQLite's own check of all its pages.
    ///
    /// # Errors
    /// When the check cannot be made.
    pub fn problem(&self) -> Result<Option<String>, StoreError> {
        let first = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match first {
            Ok(text) => Ok((text != "ok").then_some(text)),
            Err(source) => match self.failed("checking", source) {
                StoreError::Damaged { problem, .. } => Ok(Some(problem)),
                other => Err(other),
            },
        }
    }

    fn connect(path: PathBuf, access: OpenFlags) -> Result<Self, StoreError> {
        // One thread uses a connection at a time: `Connection` is not shared.
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&path, flags)
            .and_then(|connection| connection.busy_timeout(BUSY).map(|()| connection));
        match opened {
            Ok(connection) => Ok(Self { connection, path }),
            Err(source) => Err(StoreError::of("opening", &path, source)),
        }
    }

    fn version(&self) -> Result<i64, StoreError> {
        let found = schema::version(&self.connection)
            .map_err(|source| self.failed("reading the version of", source))?;
        if found > schema::VERSION {
            let path = self.path.clone();
            return Err(StoreError::Newer { path, found });
        }
        Ok(found)
    }

    fn pragma(&self, name: &str, value: &str) -> Result<(), StoreError> {
        // Some answer with what now holds, some with nothing.
        self.connection
            .pragma_update_and_check(None, name, value, |_| Ok(()))
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(()),
                other => Err(self.failed("preparing", other)),
            })
    }

    fn failed(&self, doing: &'static str, source: rusqlite::Error) -> StoreError {
        StoreError::of(doing, &self.path, source)
    }
}

/// Makes folder and file where they are not there; SQLite makes its log with the file's mode.
fn make(folder: &Path, path: &Path) -> Result<(), StoreError> {
    let failed = |doing, path: &Path, source| StoreError::File {
        doing,
        path: path.to_owned(),
        source,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| failed("making", folder, source))?;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(|source| failed("opening", path, source))
}

/// A time as it can stand in a file's name.
fn stamp(at: UnixNs) -> String {
    jiff::Timestamp::from_millisecond(at.millis()).map_or_else(
        |_| at.millis().to_string(),
        |time| time.strftime("%Y%m%dT%H%M%SZ").to_string(),
    )
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests;
