//! What can be wrong with the database.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};

use super::schema;

/// The database cannot be used. Each names the file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing has been recorded here.
    #[error(
        "{path} is not there: no agent has recorded here; `pathwarden run` makes it \
         (--state-dir DIR or store.path says where)"
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It is no database, or its pages contradict each other.
    #[error("{path} is damaged: {problem}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        problem: String,
    },
    /// A newer agent has written it.
    #[error(
        "{path} is of schema version {found}, written by a newer pathwarden; this one knows up to {}",
        schema::VERSION
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// An older agent has written it, and who only reads cannot change it.
    #[error(
        "{path} is of schema version {found}; `pathwarden run` brings it up to {} as it starts",
        schema::VERSION
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// The file or its folder.
    #[error("{doing} {path}")]
    File {
        /// What was being done.
        doing: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("{doing} {path}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: rusqlite::Error,
    },
    /// A window's document lacks what every window has.
    #[error("a window's document cannot be kept")]
    Document(#[source] serde_json::Error),
}

impl StoreError {
    pub(super) fn of(doing: &'static str, path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged {
                path,
                problem: source.to_string(),
            },
            _ => Self::Database {
                doing,
                path,
                source,
            },
        }
    }
}
