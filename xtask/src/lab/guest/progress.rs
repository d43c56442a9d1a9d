//! How far a run has come, from the guest's report lines.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pathwarden_tests::lab::protocol::Report;

/// A scenario's closing line, or what stands in for it when there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its name.
    pub(crate) scenario: String,
    /// All its checks held.
    pub(crate) ok: bool,
    /// What was measured, or what went wrong, in one line.
    pub(crate) figures: String,
    /// How long it took by the guest's clock.
    pub(crate) elapsed: Duration,
}

/// A scenario that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) scenario: String,
    pub(super) expects_hung_task: bool,
    /// Since the emulator was started.
    pub(super) since: Duration,
}

/// What the report has told so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How long the guest took to come up, from the start of the emulator.
    pub(super) booted: Option<Duration>,
    pub(super) running: Option<Running>,
    pub(super) ended: Vec<Ended>,
    /// The guest said that it was done.
    pub(super) done: bool,
}

impl Progress {
    /// Takes a line in, `now` after the start; returns the scenario that ended by it.
    pub(super) fn take(&mut self, line: &str, now: Duration) -> Result<Option<Ended>> {
        let report =
            serde_json::from_str(line).with_context(|| format!("not a report line: {line}"))?;
        match report {
            Report::Booted { .. } => self.booted = Some(now),
            Report::Begin {
                scenario,
                expects_hung_task,
            } => {
                self.running = Some(Running {
                    scenario,
                    expects_hung_task,
                    since: now,
                });
            }
            Report::End {
                scenario,
                ok,
                figures,
                elapsed_ms,
            } => {
                self.running = None;
                let elapsed = Duration::from_millis(elapsed_ms);
                let ended = Ended {
                    scenario,
                    ok,
                    figures,
                    elapsed,
                };
                self.ended.push(ended.clone());
                return Ok(Some(ended));
            }
            Report::Done { passed, failed } => {
                self.done = true;
                let heard = (self.passed(), self.ended.len() - self.passed());
                if heard != (passed, failed) {
                    bail!(
                        "the guest counts {passed} passed and {failed} failed, the report has {heard:?}"
                    );
                }
            }
        }
        Ok(None)
    }

    /// Closing lines for those of the expected scenarios that have none. The first has the reason: it is the one that was
    /// running, if any was.
    pub(super) fn unfinished(&self, expected: &[String], why: &str) -> Vec<Ended> {
        let missing = expected
            .iter()
            .filter(|name| !self.ended.iter().any(|ended| &ended.scenario == *name));
        let line = |(at, name): (usize, &String)| {
            let begun = self
                .running
                .as_ref()
                .is_some_and(|running| &running.scenario == name);
            let what = if begun { "did not end" } else { "was not run" };
            let why = if at == 0 {
                format!(": {why}")
            } else {
                String::new()
            };
            let figures = format!("{what}{why}");
            Ended {
                scenario: name.clone(),
                ok: false,
                figures,
                elapsed: Duration::ZERO,
            }
        };
        missing.enumerate().map(line).collect()
    }

    fn passed(&self) -> usize {
        self.ended.iter().filter(|ended| ended.ok).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn line(report: &Report) -> String {
        serde_json::to_string(report).unwrap()
    }

    fn begin(scenario: &str) -> String {
        line(&Report::Begin {
            scenario: scenario.to_owned(),
            expects_hung_task: false,
        })
    }

    fn end(scenario: &str, ok: bool) -> String {
        line(&Report::End {
            scenario: scenario.to_owned(),
            ok,
            figures: "2.001 s".to_owned(),
            elapsed_ms: 4_500,
        })
    }

    #[test]
    fn a_whole_report_becomes_its_closing_lines() {
        let mut progress = Progress::default();

        progress
            .take(
                &line(&Report::Booted {
                    kernel: "6.1".to_owned(),
                    uptime_ms: 7_000,
                }),
                9 * SECOND,
            )
            .unwrap();
        progress.take(&begin("a"), 10 * SECOND).unwrap();
        let ended = progress.take(&end("a", true), 15 * SECOND).unwrap();
        progress
            .take(
                &line(&Report::Done {
                    passed: 1,
                    failed: 0,
                }),
                15 * SECOND,
            )
            .unwrap();

        let ended = ended.unwrap();
        assert_eq!((ended.scenario.as_str(), ended.ok), ("a", true));
        assert_eq!(ended.elapsed, Duration::from_millis(4_500));
        assert_eq!(progress.booted, Some(9 * SECOND));
        assert!(progress.done && progress.running.is_none());
        assert!(progress.unfinished(&["a".to_owned()], "-").is_empty());
    }

    #[test]
    fn those_cut_short_fail_and_the_first_of_them_says_why() {
        let mut progress = Progress::default();
        progress.take(&begin("a"), SECOND).unwrap();

        let unfinished = progress.unfinished(&["a".to_owned(), "b".to_owned()], "kernel panic");

        let lines: Vec<_> = unfinished
            .iter()
            .map(|ended| (ended.ok, ended.figures.as_str()))
            .collect();
        assert_eq!(
            lines,
            [(false, "did not end: kernel panic"), (false, "was not run")]
        );
    }

    #[test]
    fn a_count_that_differs_from_the_lines_received_is_refused() {
        let mut progress = Progress::default();
        progress.take(&end("a", true), SECOND).unwrap();

        let error = progress
            .take(
                &line(&Report::Done {
                    passed: 2,
                    failed: 0,
                }),
                SECOND,
            )
            .unwrap_err();

        assert_eq!(
            error.to_string(),
            "the guest counts 2 passed and 0 failed, the report has (1, 0)"
        );
    }

    #[test]
    fn a_line_that_is_no_report_is_refused_with_its_text() {
        let error = Progress::default()
            .take("[  1.0] nvme", SECOND)
            .unwrap_err();

        assert_eq!(error.to_string(), "not a report line: [  1.0] nvme");
    }
}
