//! The boot clock: the one clock that the kernel's trace, the agent's events and the prober share.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

/// A moment on `CLOCK_BOOTTIME`, nanoseconds since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct BootNs(pub u64);

impl BootNs {
    /// The moment of the call.
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
        Self(seconds * 1_000_000_000 + nanoseconds)
    }

    /// How long ago `earlier` was; zero if it was not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for BootNs {
    /// Seconds with microseconds, as the kernel's trace prints them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:06}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000 / 1_000
        )
    }
}

impl Add<Duration> for BootNs {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

impl Sub for BootNs {
    type Output = Offset;

    fn sub(self, other: Self) -> Offset {
        let magnitude = i64::try_from(self.0.abs_diff(other.0)).unwrap_or(i64::MAX);
        Offset(if self >= other { magnitude } else { -magnitude })
    }
}

/// A signed distance between two moments, nanoseconds; positive is later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offset(pub i64);

impl Offset {
    /// The distance without its direction.
    pub fn magnitude(self) -> Duration {
        Duration::from_nanos(self.0.unsigned_abs())
    }
}

impl fmt::Display for Offset {
    /// Milliseconds with microseconds and always a sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        write!(f, "{sign}{}", Millis(self.magnitude()))
    }
}

/// Prints a length as milliseconds with microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Millis(pub Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:03}",
            self.0.as_millis(),
            self.0.as_micros() % 1_000
        )
    }
}

/// An interval on the boot clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first moment.
    pub begin: BootNs,
    /// Its last moment.
    pub end: BootNs,
}

impl Span {
    /// How long it is.
    pub fn length(&self) -> Duration {
        self.end.since(self.begin)
    }

    /// The moment half-way.
    pub fn middle(&self) -> BootNs {
        self.begin + self.length() / 2
    }

    /// Whether `inner` lies in it, give or take `slack` at each end.
    pub fn contains(&self, inner: &Self, slack: Duration) -> bool {
        self.begin <= inner.begin + slack && inner.end <= self.end + slack
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}..{} ({} ms)",
            self.begin,
            self.end,
            Millis(self.length())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_prints_as_the_kernel_prints_it() {
        assert_eq!(BootNs(28_950_612_345).to_string(), "28.950612");
    }

    #[test]
    fn an_offset_keeps_its_sign_below_a_millisecond() {
        assert_eq!((BootNs(1_000) - BootNs(5_000)).to_string(), "-0.004");
        assert_eq!((BootNs(2_001_000) - BootNs(0)).to_string(), "+2.001");
    }

    #[test]
    fn containment_forgives_its_slack_and_no_more() {
        let outer = Span {
            begin: BootNs(1_000_000),
            end: BootNs(2_000_000),
        };
        let inner = Span {
            begin: BootNs(900_000),
            end: BootNs(2_100_000),
        };
        assert!(outer.contains(&inner, Duration::from_micros(100)));
        assert!(!outer.contains(&inner, Duration::from_micros(99)));
    }

    #[test]
    fn the_clock_does_not_go_back() {
        let first = BootNs::now();
        assert!(BootNs::now() >= first);
    }
}
