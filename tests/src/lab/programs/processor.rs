//! Processor time: of a program that runs, and of those that have ended, as the kernel charges it to who waited for them.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// Times of proc_pid_stat(5) are in ticks of which a second has 100 on every architecture's ABI that
/// the lab runs (`USER_HZ`).
pub const TICK: Duration = Duration::from_millis(10);

/// `utime`, followed by `stime`.
const OWN: usize = 14;
/// `cutime`, followed by `cstime`.
const CHILDREN: usize = 16;

/// Processor time, of all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processor {
    /// In the program.
    pub user: Duration,
    /// In the kernel, on its behalf.
    pub kernel: Duration,
}

impl Processor {
    /// Of all children that have been waited for.
    pub(super) fn of_children() -> Result<Self> {
        Self::read("/proc/self/stat", CHILDREN)
    }

    /// Of a process that runs, so far.
    pub fn of_process(id: u32) -> Result<Self> {
        Self::read(&format!("/proc/{id}/stat"), OWN)
    }

    fn read(path: &str, field: usize) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("read {path}"))?;
        Self::parse(&text, field).with_context(|| format!("times in {path}: {text:?}"))
    }

    /// What was added since.
    pub fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            kernel: self.kernel.saturating_sub(before.kernel),
        }
    }

    /// This field and the next, counted from 1. The second, the program's name, may hold anything; its end is the last
    /// parenthesis.
    fn parse(stat: &str, field: usize) -> Option<Self> {
        let (_, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_whitespace().skip(field - 3);
        let mut time = || Some(TICK * fields.next()?.parse::<u32>().ok()?);
        Some(Self {
            user: time()?,
            kernel: time()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "1 (a b) c) S 0 1 1 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 3";
        let times = |user, kernel| {
            let [user, kernel] = [user, kernel].map(Duration::from_millis);
            Some(Processor { user, kernel })
        };
        assert_eq!(Processor::parse(stat, CHILDREN), times(110, 120));
        assert_eq!(Processor::parse(stat, OWN), times(90, 100));
        assert_eq!(Processor::parse("1 (a) S 0 1", OWN), None);
    }

    #[test]
    fn a_child_that_works_is_charged() {
        let before = Processor::of_children().unwrap();
        let spin = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        super::super::once("/bin/sh", &["-c", spin]).unwrap();
        let spent = Processor::of_children().unwrap().since(before);
        assert!(spent.user + spent.kernel >= TICK, "{spent:?}");
    }
}
