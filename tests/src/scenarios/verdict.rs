//! What a scenario measured and which of its checks failed, in one line.

use std::fmt::Display;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::lab::agent::{Cause, Memory, Ready, Window};
use crate::lab::clock::{Millis, Span};
use crate::lab::host::Controller;
use crate::lab::io::Record;
use crate::lab::programs::Inspect;
use crate::lab::truth::{BegunBy, TrueWindow};

/// How far an end of a window may be from the truth, and how far it may stick out of the prober's gap.
const ENDS_WITHIN: Duration = Duration::from_millis(1);
/// From the agent's start to its first snapshot, on an emulated CPU.
const READY_WITHIN: Duration = Duration::from_secs(3);
/// Anonymous memory after the first snapshot.
const ANONYMOUS_KIB: u64 = 24 * 1024;

/// Only bounds on time were missed, all else held. Whatever holds an emulated CPU up adds to what is measured there and
/// takes nothing away, so another try may tell; a wrong answer is never tried again.
#[derive(Debug)]
pub(crate) struct Missed {
    /// Which bounds.
    pub(crate) bounds: String,
    figures: String,
}

impl Display for Missed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; measured: {}", self.bounds, self.figures)
    }
}

impl std::error::Error for Missed {}

/// Figures and failures, collected.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    figures: Vec<String>,
    failures: Vec<String>,
    /// Failures of bounds on time.
    missed: Vec<String>,
}

impl Verdict {
    /// Adds a figure to the closing line.
    pub(super) fn figure(&mut self, figure: impl Display) {
        self.figures.push(figure.to_string());
    }

    /// Notes a failure unless the check holds.
    pub(super) fn require(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(failure());
        }
    }

    /// Notes that a bound on time was missed unless it holds.
    pub(super) fn within(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        if !holds {
            self.missed.push(failure());
        }
    }

    /// Nothing was found, and everything was looked at.
    pub(super) fn clean(&mut self, inspect: &Inspect) {
        let clean = inspect.findings.is_empty() && inspect.unchecked.is_empty();
        self.require(clean, || {
            format!(
                "inspect finds {:?}, unchecked {:?}",
                inspect.findings, inspect.unchecked
            )
        });
    }

    /// The agent was ready in time, with all its probes.
    pub(super) fn ready(&mut self, ready: &Ready, memory: Memory) {
        self.figure(format!("ready {} ms", ready.after.as_millis()));
        self.figure(format!(
            "rss {} MiB peak {} MiB",
            mib(memory.anonymous_kib),
            mib(memory.peak_kib)
        ));
        self.within(ready.after < READY_WITHIN, || {
            format!("ready after {:?}, more than {READY_WITHIN:?}", ready.after)
        });
        self.require(ready.source == "bpf", || {
            format!("source is {:?}, not bpf", ready.source)
        });
        self.require(ready.attached == ready.probes && ready.probes > 0, || {
            format!("{} of {} probes attached", ready.attached, ready.probes)
        });
        self.require(memory.anonymous_kib < ANONYMOUS_KIB, || {
            format!(
                "{} KiB anonymous, more than {ANONYMOUS_KIB}",
                memory.anonymous_kib
            )
        });
    }

    /// A whole window of the namespace, measured by the probes, with both ends at the truth.
    pub(super) fn window(&mut self, window: &Window, truth: &TrueWindow) -> Result<()> {
        let span = window.span()?;
        let (begin, end) = (span.begin - truth.span.begin, span.end - truth.span.end);
        self.figure(format!(
            "window {} ms true {} ms begin {begin} end {end} ms",
            Millis(span.length()),
            Millis(truth.span.length()),
        ));
        for (which, offset) in [("begin", begin), ("end", end)] {
            self.within(offset.magnitude() <= ENDS_WITHIN, || {
                format!("the window's {which} is {offset} ms from the truth")
            });
        }
        let whole = !window.open && !window.truncated_begin && !window.truncated_end;
        self.require(whole, || {
            format!("the window is open or truncated: {window:?}")
        });
        let length = u64::try_from(span.length().as_nanos()).ok();
        self.require(window.duration_ns == length, || {
            format!(
                "duration_ns {:?} is not from begin to end",
                window.duration_ns
            )
        });
        self.require(window.source == "bpf", || {
            format!("source is {:?}", window.source)
        });
        self.require(
            u128::from(window.error_ns) <= ENDS_WITHIN.as_nanos(),
            || format!("error_ns {} with probes", window.error_ns),
        );
        Ok(())
    }

    /// The causes that the truth shows, each through the controller that the scenario moved: `by` for begin and end.
    pub(super) fn causes(&mut self, window: &Window, truth: &TrueWindow, by: [&Controller; 2]) {
        let latest = truth.span.begin + ENDS_WITHIN;
        let begins = truth.begun_by.iter().filter(|(at, _)| *at <= latest);
        let begins: Vec<_> = begins.map(|(_, by)| kind(*by)).collect();
        // What a log or a failed request took away, a log gives back.
        let lost = begins.contains(&kind(BegunBy::ControllerState));
        let end = kind(if lost {
            BegunBy::ControllerState
        } else {
            BegunBy::AnaLog
        });
        self.cause("begin", Some(&window.cause_begin), &begins, by[0]);
        self.cause("end", window.cause_end.as_ref(), &[end], by[1]);
    }

    fn cause(&mut self, of: &str, found: Option<&Cause>, kinds: &[&str], by: &Controller) {
        let holds = found.is_some_and(|cause| {
            let name = cause.controller.as_ref().map(|controller| &controller.name);
            kinds.contains(&cause.kind.as_str()) && name == Some(&by.name)
        });
        self.require(holds, || {
            format!("cause_{of} is {found:?}, not {kinds:?} through {}", by.name)
        });
    }

    /// The prober's gap contains the window, and nothing was served inside it.
    pub(super) fn gap(&mut self, seen: &Record, window: &Span) -> Result<Span> {
        let gap = seen.gap_at(window.middle())?;
        self.figure(format!("gap {} ms", Millis(gap.length())));
        self.within(gap.contains(window, ENDS_WITHIN), || {
            let around = seen.around(window.begin);
            format!("the prober's gap {gap} does not contain the window {window}: {around}")
        });
        let served = seen.served_inside(window, ENDS_WITHIN);
        self.require(served == 0, || {
            format!("{served} operations were served inside {window}")
        });
        let errors = seen.errors();
        self.require(errors.is_empty(), || format!("I/O failed: {errors:?}"));
        Ok(gap)
    }

    /// The closing line, or the failures with it.
    pub(super) fn close(self) -> Result<String> {
        let figures = self.figures.join(" ");
        let bounds = self.missed.join("; ");
        if !self.failures.is_empty() {
            let failures = [self.failures, self.missed].concat().join("; ");
            return Err(anyhow!("{failures}; measured: {figures}"));
        }
        if !bounds.is_empty() {
            return Err(Missed { bounds, figures }.into());
        }
        Ok(figures)
    }
}

/// The agent's word for it.
fn kind(begun_by: BegunBy) -> &'static str {
    match begun_by {
        BegunBy::FailedIo => "ana-error",
        BegunBy::AnaLog => "ana-log",
        BegunBy::ControllerState => "controller-state",
    }
}

/// Mebibytes with one decimal.
fn mib(kib: u64) -> String {
    format!("{}.{}", kib / 1024, kib % 1024 * 10 / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::agent::ControllerName;
    use crate::lab::clock::BootNs;

    fn window(begin: u64, end: u64) -> Window {
        let cause = |kind: &str| Cause {
            kind: kind.to_owned(),
            controller: Some(ControllerName {
                name: "nvme0".to_owned(),
            }),
        };
        Window {
            nqn: "nqn.a".to_owned(),
            nsid: 1,
            begin_ns: BootNs(begin),
            end_ns: Some(BootNs(end)),
            duration_ns: Some(end - begin),
            open: false,
            truncated_begin: false,
            truncated_end: false,
            class: "cutover".to_owned(),
            severity: "queued".to_owned(),
            cause_begin: cause("ana-error"),
            cause_end: Some(cause("ana-log")),
            error_ns: 0,
            source: "bpf".to_owned(),
        }
    }

    fn truth(begin: u64, end: u64) -> TrueWindow {
        let span = Span {
            begin: BootNs(begin),
            end: BootNs(end),
        };
        TrueWindow {
            span,
            begun_by: vec![(BootNs(begin), BegunBy::FailedIo)],
        }
    }

    #[test]
    fn a_window_at_the_truth_gives_its_figures() {
        let mut verdict = Verdict::default();
        verdict
            .window(
                &window(1_004_000, 2_011_349_000),
                &truth(1_000_000, 2_011_348_000),
            )
            .unwrap();
        assert_eq!(
            verdict.close().unwrap(),
            "window 2010.345 ms true 2010.348 ms begin +0.004 end +0.001 ms"
        );
    }

    #[test]
    fn an_end_too_far_off_fails_and_says_what_was_measured() {
        let mut verdict = Verdict::default();
        verdict
            .window(&window(1_000, 3_000_000), &truth(1_000, 1_000_000))
            .unwrap();
        let error = verdict.close().unwrap_err().to_string();
        assert!(
            error.starts_with("the window's end is +2.000 ms from the truth"),
            "{error}"
        );
        assert!(
            error.contains("measured: window 2.999 ms true 0.999 ms"),
            "{error}"
        );
    }

    #[test]
    fn a_cause_other_than_the_truths_or_through_another_controller_fails() {
        let controller = |name: &str| Controller::named(name);
        let (source, other) = (controller("nvme0"), controller("nvme1"));
        let mut measured = window(1_000, 2_000);
        let causes = |measured: &Window, by| {
            let mut verdict = Verdict::default();
            verdict.causes(measured, &truth(1_000, 2_000), by);
            verdict.close().map_err(|error| error.to_string())
        };
        assert!(causes(&measured, [&source, &source]).is_ok());
        assert!(
            causes(&measured, [&source, &other])
                .unwrap_err()
                .starts_with("cause_end is")
        );
        measured.cause_begin.kind = "ana-log".to_owned();
        let error = causes(&measured, [&source, &source]).unwrap_err();
        assert!(
            error.contains("not [\"ana-error\"] through nvme0"),
            "{error}"
        );
    }

    #[test]
    fn a_window_that_sticks_out_of_the_gap_fails() {
        let mut verdict = Verdict::default();
        let seen = Record::of(&[(5_000_000, true), (9_000_000, true)]);
        verdict
            .gap(&seen, &window(3_000_000, 8_000_000).span().unwrap())
            .unwrap();
        assert!(
            verdict
                .close()
                .unwrap_err()
                .to_string()
                .contains("does not contain")
        );
    }

    #[test]
    fn memory_is_shown_in_mebibytes() {
        assert_eq!(mib(9_312), "9.0");
        assert_eq!(mib(21_700), "21.1");
    }
}
