//! What the prober saw, and the gap in it.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::lab::clock::{BootNs, Span};

/// One operation's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// When it was submitted.
    pub begun: BootNs,
    /// When it completed.
    pub at: BootNs,
    /// What went wrong, if it did.
    pub error: Option<String>,
}

/// All completions of one prober, in order.
#[derive(Debug, Default)]
pub struct Record {
    completions: Vec<Completion>,
}

impl Record {
    pub(super) fn push(&mut self, completion: Completion) {
        self.completions.push(completion);
    }

    /// How many operations begun since `moment` completed well.
    pub fn good_since(&self, moment: BootNs) -> usize {
        let later = self
            .completions
            .iter()
            .rev()
            .take_while(|done| done.begun >= moment);
        later.filter(|done| done.error.is_none()).count()
    }

    /// Whether an operation begun since `moment` failed.
    pub fn failed_since(&self, moment: BootNs) -> bool {
        let mut later = self
            .completions
            .iter()
            .rev()
            .take_while(|done| done.begun >= moment);
        later.any(|done| done.error.is_some())
    }

    /// When the first operation failed, if one did.
    pub fn first_error(&self) -> Option<BootNs> {
        let mut completions = self.completions.iter();
        completions
            .find(|done| done.error.is_some())
            .map(|done| done.at)
    }

    /// The errors, in order.
    pub fn errors(&self) -> Vec<&str> {
        self.completions
            .iter()
            .filter_map(|done| done.error.as_deref())
            .collect()
    }

    /// Operations that were begun and completed well inside `window`, by more than `slack` at each end: none, if nothing
    /// was usable in it.
    pub fn served_inside(&self, window: &Span, slack: Duration) -> usize {
        let begin = window.begin + slack;
        let inside = |done: &&Completion| begin <= done.begun && done.at + slack <= window.end;
        self.completions
            .iter()
            .filter(inside)
            .filter(|done| done.error.is_none())
            .count()
    }

    /// The operations around `moment`, for an error.
    pub fn around(&self, moment: BootNs) -> String {
        const EACH_SIDE: usize = 3;
        let middle = self.completions.partition_point(|done| done.at <= moment);
        let first = middle.saturating_sub(EACH_SIDE);
        let last = self.completions.len().min(middle + EACH_SIDE);
        let lines = self.completions[first..last].iter().map(|done| {
            let end = done.error.as_deref().unwrap_or("good");
            format!("{}..{} {end}", done.begun, done.at)
        });
        lines.collect::<Vec<_>>().join(", ")
    }

    /// The gap at `moment`: from the last good completion before it to the first good one after. The one that spans a
    /// window contains the window; the time from submit to completion of the held operation need not.
    pub fn gap_at(&self, moment: BootNs) -> Result<Span> {
        let good = || {
            self.completions
                .iter()
                .filter(|done| done.error.is_none())
                .map(|done| done.at)
        };
        let begin = good().take_while(|at| *at <= moment).last();
        let end = good().find(|at| *at > moment);
        match (begin, end) {
            (Some(begin), Some(end)) => Ok(Span { begin, end }),
            (None, _) => bail!("no good completion before {moment}"),
            (_, None) => bail!("no good completion after {moment}"),
        }
    }
}

#[cfg(test)]
impl Record {
    /// A record of operations of one nanosecond: when each completed, and whether it was good.
    pub(crate) fn of(completions: &[(u64, bool)]) -> Self {
        let mut record = Self::default();
        for &(at, good) in completions {
            let error = (!good).then(|| "I/O error".to_owned());
            record.push(Completion {
                begun: BootNs(at - 1),
                at: BootNs(at),
                error,
            });
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_reaches_from_the_last_good_completion_to_the_next() {
        let record = Record::of(&[(10, true), (20, true), (2_000, true), (2_010, true)]);
        let gap = record.gap_at(BootNs(500)).unwrap();
        assert_eq!(
            gap,
            Span {
                begin: BootNs(20),
                end: BootNs(2_000)
            }
        );
    }

    #[test]
    fn an_operation_under_way_when_the_window_begins_was_not_served_inside() {
        let record = Record::of(&[(10, true), (500, true), (900, false), (2_000, true)]);
        let window = |begin| Span {
            begin: BootNs(begin),
            end: BootNs(1_000),
        };
        assert_eq!(record.served_inside(&window(499), Duration::ZERO), 1);
        assert_eq!(
            record.served_inside(&window(499), Duration::from_nanos(1)),
            0
        );
        assert_eq!(record.served_inside(&window(500), Duration::ZERO), 0);
    }

    #[test]
    fn a_failed_operation_does_not_end_a_gap() {
        let record = Record::of(&[(10, true), (900, false), (2_000, true)]);
        let gap = record.gap_at(BootNs(500)).unwrap();
        assert_eq!(
            gap,
            Span {
                begin: BootNs(10),
                end: BootNs(2_000)
            }
        );
        assert_eq!(record.errors(), ["I/O error"]);
        assert_eq!(record.first_error(), Some(BootNs(900)));
        assert!(record.failed_since(BootNs(899)) && !record.failed_since(BootNs(901)));
    }

    #[test]
    fn a_gap_that_never_ends_is_an_error_not_a_length() {
        let error = Record::of(&[(10, true)]).gap_at(BootNs(500)).unwrap_err();
        assert_eq!(error.to_string(), "no good completion after 0.000000");
        assert!(Record::of(&[(900, true)]).gap_at(BootNs(500)).is_err());
    }

    #[test]
    fn an_operation_begun_before_the_moment_does_not_count_as_flowing() {
        let record = Record::of(&[(10, true), (20, true), (30, false), (40, true)]);
        assert_eq!(record.good_since(BootNs(20)), 1);
        assert_eq!(record.good_since(BootNs(15)), 2);
    }
}
