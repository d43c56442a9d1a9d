//! Processor time of programs that have ended, as the kernel charges it to who waited for them.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// `cutime` and `cstime` of proc_pid_stat(5) are in ticks of which a second has 100 on every architecture's ABI that
/// the lab runs (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

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
        let path = "/proc/self/stat";
        let text = std::fs::read_to_string(path).with_context(|| format!("read {path}"))?;
        Self::parse(&text).with_context(|| format!("children's times in {path}: {text:?}"))
    }

    /// What was added since.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            kernel: self.kernel.saturating_sub(before.kernel),
        }
    }

    /// The 16th and 17th field. The second, the program's name, may hold anything; its end is the last parenthesis.
    fn parse(stat: &str) -> Option<Self> {
        let (_, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_whitespace().skip(13);
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
    fn the_childrens_times_are_found_behind_any_name() {
        let stat = "1 (a b) c) S 0 1 1 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 3";
        let expected = Processor {
            user: Duration::from_millis(110),
            kernel: Duration::from_millis(120),
        };
        assert_eq!(Processor::parse(stat), Some(expected));
        assert_eq!(Processor::parse("1 (a) S 0 1"), None);
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
