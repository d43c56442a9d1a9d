//! Times and their differences.
//!
//! Lengths are measured on the boot clock only, which never steps and which the kernel's events carry.
//! Wall time is for people and for documents from elsewhere.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A time on the boot clock (`CLOCK_BOOTTIME`, `bpf_ktime_get_boot_ns`), in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootNs(pub u64);

impl BootNs {
    /// The boot.
    pub const ZERO: Self = Self(0);

    /// How long after `earlier` this is; `None` when it is before it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_nanos)
    }

    /// How long after `earlier` this is, and zero when it is before it: for events of several CPUs,
    /// whose times can be out of order by microseconds.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time `length` later; `None` past the end of the clock (584 years).
    #[must_use]
    pub fn checked_add(self, length: Duration) -> Option<Self> {
        let length = u64::try_from(length.as_nanos()).ok()?;
        self.0.checked_add(length).map(Self)
    }

    /// The time `length` earlier; `None` before the boot.
    #[must_use]
    pub fn checked_sub(self, length: Duration) -> Option<Self> {
        let length = u64::try_from(length.as_nanos()).ok()?;
        self.0.checked_sub(length).map(Self)
    }
}

impl fmt::Display for BootNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

/// A wall-clock time in nanoseconds since 1970 (UTC). It can step: never subtract two of them to
/// measure a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixNs(pub i64);

impl UnixNs {
    /// Whole milliseconds since 1970.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// How old something from `earlier` is now, `None` when `earlier` is in the future: the age of a
    /// document, where both sides are wall time because another machine wrote one of them.
    #[must_use]
    pub fn age_of(self, earlier: Self) -> Option<Duration> {
        u64::try_from(self.0.checked_sub(earlier.0)?)
            .ok()
            .map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_never_negative() {
        let (early, late) = (BootNs(1_000), BootNs(3_500));
        assert_eq!(late.since(early), Some(Duration::from_nanos(2_500)));
        assert_eq!(early.since(late), None);
        assert_eq!(early.saturating_since(late), Duration::ZERO);
    }

    #[test]
    fn arithmetic_past_either_end_is_no_time() {
        assert_eq!(BootNs(u64::MAX).checked_add(Duration::from_nanos(1)), None);
        assert_eq!(BootNs(1).checked_sub(Duration::from_nanos(2)), None);
        assert_eq!(
            BootNs(1).checked_add(Duration::from_nanos(2)),
            Some(BootNs(3))
        );
    }

    #[test]
    fn seconds_are_shown_with_all_their_digits() {
        assert_eq!(BootNs(1_000_000_001).to_string(), "1.000000001 s");
    }
}
