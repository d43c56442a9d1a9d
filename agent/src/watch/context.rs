//! What a namespace is judged by.

use crate::fabric::{BootNs, UnixNs};

use super::{Bounds, history::Histories, migrations::Migrations, words::Words};

/// Everything but the namespace itself.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) boot_id: &'a str,
    pub(super) wall: Option<(BootNs, UnixNs)>,
    pub(super) words: &'a Words,
    pub(super) histories: &'a Histories,
    pub(super) migrations: &'a Migrations,
    pub(super) bounds: &'a Bounds,
}

impl Context<'_> {
    /// A boot-clock time in wall time, as the two were last paired.
    pub(super) fn unix_ms(&self, time: BootNs) -> Option<i64> {
        let (boot, unix) = self.wall?;
        let nanoseconds = i128::from(unix.0) + i128::from(time.0) - i128::from(boot.0);
        Some(i64::try_from(nanoseconds.div_euclid(1_000_000)).unwrap_or(i64::MAX))
    }
}
