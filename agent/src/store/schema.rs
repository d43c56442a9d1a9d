//! The tables, and how a file of an older version gets them. The version stands in `PRAGMA user_version`.

use rusqlite::{Connection, TransactionBehavior};

/// One step a version. A step that was released is never changed.
const STEPS: [&str; 1] = [
    // The document is the truth; the columns are what rows are chosen by.
    "CREATE TABLE windows (
        id TEXT PRIMARY KEY NOT NULL,
        nqn TEXT NOT NULL,
        nsid INTEGER NOT NULL,
        boot_id TEXT NOT NULL,
        begin_ns INTEGER NOT NULL,
        begin_unix_ms INTEGER,
        duration_ns INTEGER,
        at_least_ns INTEGER,
        open INTEGER NOT NULL,
        class TEXT NOT NULL,
        severity TEXT NOT NULL,
        document TEXT NOT NULL
    ) STRICT",
];

/// The version that this program writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// The version of a file; 0 where nothing has been written yet.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Takes the steps that a file lacks: all of them, or none.
pub(super) fn bring_up(connection: &mut Connection) -> rusqlite::Result<()> {
    let steps = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Under the lock: another agent may have taken them meanwhile.
    let found = version(&steps)?;
    let done = usize::try_from(found).unwrap_or_default();
    for step in STEPS.iter().skip(done) {
        steps.execute_batch(step)?;
    }
    if found < VERSION {
        steps.pragma_update(None, "user_version", VERSION)?;
    }
    steps.commit()
}
