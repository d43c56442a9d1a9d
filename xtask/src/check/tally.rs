//! Counting what passed and failed, and saying it.

use std::time::Duration;

use super::steps::Step;

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It ran. A step that holds several checks counts each; most are one.
    Ran {
        passed: usize,
        failed: usize,
        why: Option<String>,
    },
    /// It could not run here, for this reason.
    Skipped(String),
}

impl Verdict {
    pub(super) fn passed() -> Self {
        Self::counted(1, 0)
    }

    pub(super) fn counted(passed: usize, failed: usize) -> Self {
        Self::Ran {
            passed,
            failed,
            why: None,
        }
    }

    pub(super) fn failed(why: String) -> Self {
        Self::Ran {
            passed: 0,
            failed: 1,
            why: Some(why),
        }
    }
}

/// All steps so far.
#[derive(Debug)]
pub(super) struct Tally {
    skip_is_failure: bool,
    passed: usize,
    failed: usize,
    lines: Vec<String>,
}

impl Tally {
    /// An empty one; in CI a skipped step is a failure.
    pub(super) fn new(in_ci: bool) -> Self {
        Self {
            skip_is_failure: in_ci,
            passed: 0,
            failed: 0,
            lines: Vec::new(),
        }
    }

    /// Counts a step and returns its line.
    pub(super) fn add(&mut self, step: Step, verdict: Verdict, took: Duration) -> &str {
        let (passed, failed, what) = match verdict {
            Verdict::Ran {
                passed,
                failed,
                why,
            } => {
                let word = if failed == 0 { "ok" } else { "FAIL" };
                let count = if passed + failed > 1 {
                    format!(" {passed} ok, {failed} failed")
                } else {
                    String::new()
                };
                let why = why.map(|why| format!(" {why}")).unwrap_or_default();
                (passed, failed, format!("{word}{count}{why}"))
            }
            Verdict::Skipped(why) if self.skip_is_failure => {
                (0, 1, format!("FAIL skipped in CI: {why}"))
            }
            Verdict::Skipped(why) => (0, 0, format!("skipped: {why}")),
        };
        self.passed += passed;
        self.failed += failed;
        self.lines
            .push(format!("{step}: {what} ({:.1} s)", took.as_secs_f64()));
        self.lines.last().map_or("", String::as_str)
    }

    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// A line for each step.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// What a CI reads.
    pub(super) fn closing_line(&self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(1_540);

    #[test]
    fn steps_and_scenarios_are_counted_together() {
        let mut tally = Tally::new(true);

        assert_eq!(
            tally.add(Step::Format, Verdict::passed(), TOOK),
            "format: ok (1.5 s)"
        );
        let failed = Verdict::failed("clippy ended with 101".to_owned());
        assert_eq!(
            tally.add(Step::Clippy, failed, TOOK),
            "clippy: FAIL clippy ended with 101 (1.5 s)"
        );
        let lab = tally.add(Step::Lab, Verdict::counted(11, 1), TOOK);
        assert_eq!(lab, "lab on all kernels: FAIL 11 ok, 1 failed (1.5 s)");

        assert_eq!(tally.closing_line(), "12 passed, 2 failed");
        assert_eq!(tally.text().lines().count(), 3);
    }

    #[test]
    fn a_skip_says_why_and_in_ci_it_is_a_failure() {
        let skipped = || Verdict::Skipped("no emulator".to_owned());

        let mut here = Tally::new(false);
        assert_eq!(
            here.add(Step::Lab, skipped(), TOOK),
            "lab on all kernels: skipped: no emulator (1.5 s)"
        );
        assert_eq!(here.closing_line(), "0 passed, 0 failed");

        let mut ci = Tally::new(true);
        assert_eq!(
            ci.add(Step::Lab, skipped(), TOOK),
            "lab on all kernels: FAIL skipped in CI: no emulator (1.5 s)"
        );
        assert_eq!(ci.closing_line(), "0 passed, 1 failed");
    }
}
