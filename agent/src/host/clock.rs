//! The clocks. Lengths and ages come from the boot clock; wall time is for people and documents.

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::fabric::time::{BootNs, UnixNs};

/// Now on the boot clock, the one that the kernel's events carry (`bpf_ktime_get_boot_ns`).
#[must_use]
pub fn boot() -> BootNs {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    // Neither is negative on the boot clock.
    let (seconds, nanos) = (u64::try_from(tv_sec), u64::try_from(tv_nsec));
    BootNs(seconds.unwrap_or(0) * 1_000_000_000 + nanos.unwrap_or(0))
}

/// Now in wall time.
#[must_use]
pub fn wall() -> UnixNs {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Realtime);
    UnixNs(tv_sec.saturating_mul(1_000_000_000).saturating_add(tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_does_not_go_back() {
        let first = boot();
        assert!(boot() >= first && first.0 > 0);
    }

    #[test]
    fn wall_time_is_of_this_century() {
        assert!(wall().millis() > 946_684_800_000);
    }
}
