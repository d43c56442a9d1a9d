//! The table of windows: put, chosen, cut off, dropped.

use std::time::Duration;

use rusqlite::{Connection, Row, TransactionBehavior, params};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    event::ControllerId,
    fabric::{BootNs, Nqn, Nsid, Unchecked},
    watch::Window,
};

use super::{Store, StoreError};

/// A window as it was recorded. What is not known is none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StoredWindow {
    /// Its name.
    pub id: String,
    /// Subsystem.
    pub nqn: Nqn,
    /// Namespace.
    pub nsid: Nsid,
    /// The boot whose clock the times are of.
    pub boot_id: String,
    /// Beginning, boot clock.
    pub begin_ns: BootNs,
    /// Beginning in wall time.
    pub begin_unix_ms: Option<i64>,
    /// Length, nanoseconds; none while it is open and when an end of it was not seen.
    pub duration_ns: Option<u64>,
    /// How long it lasted at least, nanoseconds.
    pub at_least_ns: Option<u64>,
    /// Whether it was still open when it was last recorded.
    pub open: bool,
    /// What it belongs to, by its word.
    pub class: String,
    /// The worst it came to, by its word.
    pub severity: String,
    /// Why it began.
    pub cause_begin: StoredCause,
    /// Why it ended.
    pub cause_end: Option<StoredCause>,
    /// All of it.
    #[serde(skip)]
    pub document: Value,
}

/// A cause and the controller it came by.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StoredCause {
    /// What, by its word.
    pub kind: String,
    /// Through which controller.
    pub controller: Option<ControllerId>,
}

/// Which windows are asked for; what is none asks for nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowQuery {
    /// Of this subsystem.
    pub nqn: Option<Nqn>,
    /// That lasted into this time or began later, milliseconds since 1970; also those of which that is not known.
    pub since_unix_ms: Option<i64>,
    /// Known to have lasted longer, and those of which no length is known.
    pub longer_than: Option<Duration>,
    /// Of this class, by its word.
    pub class: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<u32>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// In the order in which they were first recorded.
    pub windows: Vec<StoredWindow>,
    /// Rows that could not be read.
    pub unchecked: Vec<Unchecked>,
}

const PUT: &str = "INSERT INTO windows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
    ON CONFLICT (id) DO UPDATE SET
        nqn = excluded.nqn, nsid = excluded.nsid, boot_id = excluded.boot_id, begin_ns = excluded.begin_ns,
        begin_unix_ms = excluded.begin_unix_ms, duration_ns = excluded.duration_ns,
        at_least_ns = excluded.at_least_ns, open = excluded.open, class = excluded.class,
        severity = excluded.severity, document = excluded.document";

// By row number, which an update keeps: wall time can step, and boot clocks of two boots do not compare.
const CHOOSE: &str = "SELECT id, document FROM windows
    WHERE (?1 IS NULL OR nqn = ?1)
    AND (?2 IS NULL OR open OR begin_unix_ms IS NULL
        OR begin_unix_ms + coalesce(duration_ns, at_least_ns, 0) / 1000000 >= ?2)
    AND (?3 IS NULL OR coalesce(duration_ns, at_least_ns, ?3 + 1) > ?3)
    AND (?4 IS NULL OR class = ?4)
    ORDER BY rowid DESC LIMIT ?5";

// A window of this boot that began since is the new agent's own.
const ABANDONED: &str = "SELECT id, document FROM windows
    WHERE open AND NOT (boot_id = ?1 AND begin_ns >= ?2)";

const CUT_OFF: &str = "UPDATE windows
    SET open = 0, duration_ns = NULL, document = coalesce(?2, document) WHERE id = ?1";

const PRUNE: &str = "DELETE FROM windows WHERE NOT open AND (begin_unix_ms < ?2 OR rowid NOT IN
    (SELECT rowid FROM windows WHERE NOT open ORDER BY rowid DESC LIMIT ?1))";

impl Store {
    /// Records a window as it is now, in place of what was recorded of it before. It is on the disk on return.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_window(&self, window: &Window) -> Result<(), StoreError> {
        let document = serde_json::to_string(window).map_err(StoreError::Document)?;
        self.put_document(&document)
    }

    /// Records windows together: all of them, or none.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put_windows<'a>(
        &mut self,
        windows: impl IntoIterator<Item = &'a Window>,
    ) -> Result<(), StoreError> {
        // A transaction borrows the connection, and each window is put through the store. Dropped, it is undone.
        let together = self
            .connection
            .unchecked_transaction()
            .map_err(|source| self.failed("recording windows in", source))?;
        for window in windows {
            self.put_window(window)?;
        }
        together
            .commit()
            .map_err(|source| self.failed("recording windows in", source))
    }

    pub(super) fn put_document(&self, document: &str) -> Result<(), StoreError> {
        let row: StoredWindow = serde_json::from_str(document).map_err(StoreError::Document)?;
        let columns = params![
            row.id,
            row.nqn.as_str(),
            row.nsid.0,
            row.boot_id,
            integer(row.begin_ns.0),
            row.begin_unix_ms,
            row.duration_ns.map(integer),
            row.at_least_ns.map(integer),
            row.open,
            row.class,
            row.severity,
            document,
        ];
        let put = self.connection.execute(PUT, columns);
        put.map(drop)
            .map_err(|source| self.failed("recording a window in", source))
    }

    /// The windows that are asked for. A row that cannot be read is told of and does not hide the others.
    ///
    /// # Errors
    /// When the table cannot be read at all.
    pub fn windows(&self, query: &WindowQuery) -> Result<Listing, StoreError> {
        let failed = |source| self.failed("reading windows from", source);
        let mut chosen = self.connection.prepare(CHOOSE).map_err(failed)?;
        let longer_than = query.longer_than.map(|length| length.as_nanos());
        let wanted = params![
            query.nqn.as_ref().map(Nqn::as_str),
            query.since_unix_ms,
            // One less than the greatest: the statement adds one.
            longer_than.map(|length| i64::try_from(length).unwrap_or(i64::MAX - 1)),
            query.class,
            query.limit.map_or(-1, i64::from),
        ];
        let mut rows = chosen.query(wanted).map_err(failed)?;
        let mut listing = Listing::default();
        loop {
            match rows.next() {
                Ok(None) => break,
                Ok(Some(row)) => match stored(row) {
                    Ok(window) => listing.windows.push(window),
                    Err(unchecked) => listing.unchecked.push(unchecked),
                },
                Err(source) => match failed(source) {
                    // What comes behind a page that cannot be read cannot be found.
                    StoreError::Damaged { path, problem } => {
                        listing.unchecked.push(Unchecked {
                            object: path.display().to_string(),
                            reason: format!("the rest was not read: {problem}"),
                        });
                        break;
                    }
                    other => return Err(other),
                },
            }
        }
        listing.windows.reverse();
        listing.unchecked.reverse();
        Ok(listing)
    }

    /// Windows that are still open here, though the agent that recorded them is gone: their end was not seen. To be
    /// called by a new agent, with its boot and the time of its start. Returns how many there were.
    ///
    /// # Errors
    /// When they cannot be read or written; then all are as they were.
    pub fn close_abandoned(&mut self, boot_id: &str, since: BootNs) -> Result<usize, StoreError> {
        let cut = cut_off_all(&mut self.connection, boot_id, since);
        cut.map_err(|source| self.failed("closing abandoned windows in", source))
    }

    /// Drops windows that began before a time (milliseconds since 1970), and all but the newest `keep`. Open ones
    /// stay and do not count. Returns how many went.
    ///
    /// # Errors
    /// When they cannot be dropped.
    pub fn prune(&self, keep: u32, older_than_unix_ms: i64) -> Result<usize, StoreError> {
        self.connection
            .execute(PRUNE, params![keep, older_than_unix_ms])
            .map_err(|source| self.failed("dropping old windows from", source))
    }
}

fn stored(row: &Row<'_>) -> Result<StoredWindow, Unchecked> {
    let unchecked = |id: Option<&str>, reason: String| Unchecked {
        object: id.map_or_else(|| "a window".to_owned(), |id| format!("window {id}")),
        reason,
    };
    let id: String = row
        .get(0)
        .map_err(|error| unchecked(None, error.to_string()))?;
    let of_id = |reason: String| unchecked(Some(&id), reason);
    let text: String = row.get(1).map_err(|error| of_id(error.to_string()))?;
    let broken = |error: serde_json::Error| of_id(format!("its document: {error}"));
    let document: Value = serde_json::from_str(&text).map_err(broken)?;
    let mut window = StoredWindow::deserialize(&document).map_err(broken)?;
    window.document = document;
    Ok(window)
}

fn cut_off_all(
    connection: &mut Connection,
    boot_id: &str,
    since: BootNs,
) -> rusqlite::Result<usize> {
    let cut = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let abandoned = {
        let mut open = cut.prepare(ABANDONED)?;
        let rows = open.query_map(params![boot_id, integer(since.0)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<(String, String)>>>()?
    };
    for (id, document) in &abandoned {
        cut.execute(CUT_OFF, params![id, cut_off(document)])?;
    }
    cut.commit()?;
    Ok(abandoned.len())
}

/// A document whose end was not seen; none where it is not one, which is then left as it is.
fn cut_off(document: &str) -> Option<String> {
    let mut document: Value = serde_json::from_str(document).ok()?;
    let fields = document.as_object_mut()?;
    fields.insert("open".to_owned(), Value::Bool(false));
    fields.insert("truncated_end".to_owned(), Value::Bool(true));
    fields.insert("duration_ns".to_owned(), Value::Null);
    fields.insert("end_ns".to_owned(), Value::Null);
    Some(document.to_string())
}

/// SQLite's integers have a sign; 292 years of nanoseconds fit.
fn integer(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}
