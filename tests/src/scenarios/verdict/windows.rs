//! Windows of the agent against what the trace and the prober saw.

use std::time::Duration;

use anyhow::Result;

use super::Verdict;
use crate::lab::agent::{Cause, Window};
use crate::lab::clock::{BootNs, Millis, Offset, Span};
use crate::lab::host::Controller;
use crate::lab::io::Record;
use crate::lab::truth::TrueWindow;

/// How far an end of a window may be from the truth, and how far it may stick out of the prober's gap.
const ENDS_WITHIN: Duration = Duration::from_millis(1);

impl Verdict {
    /// A whole window of the namespace, measured by the probes, with both ends at the truth.
    pub(in crate::scenarios) fn window(
        &mut self,
        window: &Window,
        truth: &TrueWindow,
    ) -> Result<()> {
        let [begin, end] = self.at_truth(window, truth)?;
        self.figure(format!(
            "window {} ms true {} ms begin {begin} end {end} ms",
            Millis(window.span()?.length()),
            Millis(truth.span.length()),
        ));
        Ok(())
    }

    /// The same without a figure, for scenarios that have many. How far each end is off.
    pub(in crate::scenarios) fn at_truth(
        &mut self,
        window: &Window,
        truth: &TrueWindow,
    ) -> Result<[Offset; 2]> {
        let span = window.span()?;
        let begin = self.at("begin", span.begin, truth.span.begin);
        let end = self.at("end", span.end, truth.span.end);
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
        self.by_probes(window);
        Ok([begin, end])
    }

    /// A window that was under way when the agent began to look, or lost sight of it: its begin is the earliest that is
    /// certain, its length is not known, and its end is at the truth.
    pub(in crate::scenarios) fn truncated(
        &mut self,
        window: &Window,
        truth: &TrueWindow,
    ) -> Result<()> {
        let span = window.span()?;
        let end = self.at("end", span.end, truth.span.end);
        self.figure(format!(
            "window at least {} ms of true {} ms end {end} ms",
            Millis(span.length()),
            Millis(truth.span.length()),
        ));
        let inside = truth.span.contains(&span, ENDS_WITHIN);
        self.require(inside, || {
            format!("the window {span} is not inside the true {}", truth.span)
        });
        let marked = window.truncated_begin && !window.truncated_end && !window.open;
        let length = u64::try_from(span.length().as_nanos()).ok();
        let unknown = window.duration_ns.is_none() && window.at_least_ns == length;
        self.require(marked && unknown, || {
            format!("the window is not marked as begun before: {window:?}")
        });
        self.by_probes(window);
        Ok(())
    }

    /// A window measured by looking: each end is as far off as the window admits.
    pub(in crate::scenarios) fn looked_at(
        &mut self,
        name: &str,
        window: &Window,
        truth: &TrueWindow,
    ) -> Result<()> {
        let (span, truth) = (window.span()?, truth.span);
        let offsets = [
            ("begin", span.begin - truth.begin),
            ("end", span.end - truth.end),
        ];
        let error = Duration::from_nanos(window.error_ns);
        let [(_, begin), (_, end)] = offsets;
        self.figure(format!(
            "{name} window {} ms true {} ms begin {begin} end {end} ms error {} ms",
            Millis(span.length()),
            Millis(truth.length()),
            Millis(error),
        ));
        for (which, offset) in offsets {
            self.require(offset.magnitude() <= error, || {
                format!(
                    "{name}: the {which} is {offset} ms from the truth, the error bound {error:?}"
                )
            });
        }
        let source = &window.source;
        self.require(["poll", "uevent"].contains(&&source[..]), || {
            format!("{name}: source {source}")
        });
        Ok(())
    }

    /// Something of a window has its moment at the truth.
    pub(in crate::scenarios) fn at(&mut self, what: &str, seen: BootNs, truth: BootNs) -> Offset {
        let offset = seen - truth;
        self.within(offset.magnitude() <= ENDS_WITHIN, || {
            format!("the window's {what} is {offset} ms from the truth")
        });
        offset
    }

    fn by_probes(&mut self, window: &Window) {
        self.require(window.source == "bpf", || {
            format!("source is {:?}", window.source)
        });
        self.require(
            u128::from(window.error_ns) <= ENDS_WITHIN.as_nanos(),
            || format!("error_ns {} with probes", window.error_ns),
        );
    }

    /// The causes that the truth shows, each through the controller that the scenario moved: `by` for begin and end.
    pub(in crate::scenarios) fn causes(
        &mut self,
        window: &Window,
        truth: &TrueWindow,
        by: [&Controller; 2],
    ) {
        self.kinds(window, truth);
        let found = [Some(&window.cause_begin), window.cause_end.as_ref()];
        for (found, by) in found.into_iter().zip(by) {
            let name = found.and_then(|cause| cause.controller.as_ref());
            self.require(name.is_some_and(|name| name.name == by.name), || {
                format!("{found:?} is not through {}", by.name)
            });
        }
    }

    /// The causes that the truth shows, through whichever controller.
    pub(in crate::scenarios) fn kinds(&mut self, window: &Window, truth: &TrueWindow) {
        let latest = truth.span.begin + ENDS_WITHIN;
        let begins = truth.begun_by.iter().filter(|(at, _)| *at <= latest);
        let begins: Vec<_> = begins.map(|(_, cause)| *cause).collect();
        let mut kind = |of: &str, found: Option<&Cause>, kinds: &[&str]| {
            let holds = found.is_some_and(|cause| kinds.contains(&&cause.kind[..]));
            self.require(holds, || format!("cause_{of} is {found:?}, not {kinds:?}"));
        };
        kind("begin", Some(&window.cause_begin), &begins);
        kind("end", window.cause_end.as_ref(), &[truth.ended_by]);
    }

    /// Its class.
    pub(in crate::scenarios) fn class(&mut self, window: &Window, class: &str) {
        self.require(window.class == class, || {
            format!("class is {}, not {class}", window.class)
        });
    }

    /// What became of I/O, at worst.
    pub(in crate::scenarios) fn severity(&mut self, window: &Window, severity: &str) {
        self.require(window.severity == severity, || {
            format!("severity is {}, not {severity}", window.severity)
        });
    }

    /// The prober's gap contains the window, and nothing was served inside it.
    pub(in crate::scenarios) fn gap(&mut self, seen: &Record, window: &Span) -> Result<Span> {
        let gap = self.in_gap(seen, window)?;
        self.figure(format!("gap {} ms", Millis(gap.length())));
        let errors = seen.errors();
        self.require(errors.is_empty(), || format!("I/O failed: {errors:?}"));
        Ok(gap)
    }

    /// The same without a figure, for scenarios that have many windows or failing I/O.
    pub(in crate::scenarios) fn in_gap(&mut self, seen: &Record, window: &Span) -> Result<Span> {
        let gap = seen.gap_at(window.middle())?;
        self.within(gap.contains(window, ENDS_WITHIN), || {
            let around = seen.around(window.begin);
            format!("the prober's gap {gap} does not contain the window {window}: {around}")
        });
        let served = seen.served_inside(window, ENDS_WITHIN);
        self.require(served == 0, || {
            format!("{served} operations were served inside {window}")
        });
        Ok(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::agent::ControllerName;

    fn window(begin: u64, end: u64) -> Window {
        let cause = |kind: &str| Cause {
            kind: kind.to_owned(),
            controller: Some(ControllerName {
                name: "nvme0".to_owned(),
            }),
            nearby: None,
        };
        Window {
            nqn: "nqn.a".to_owned(),
            nsid: 1,
            begin_ns: BootNs(begin),
            end_ns: Some(BootNs(end)),
            duration_ns: Some(end - begin),
            at_least_ns: None,
            open: false,
            truncated_begin: false,
            truncated_end: false,
            class: "cutover".to_owned(),
            severity: "queued".to_owned(),
            failing_since_ns: None,
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
            begun_by: vec![(BootNs(begin), "ana-error")],
            ended_by: "ana-log",
        }
    }

    /// What a verdict of one check says.
    fn said(check: impl FnOnce(&mut Verdict)) -> Result<String, String> {
        let mut verdict = Verdict::default();
        check(&mut verdict);
        verdict.close().map_err(|error| error.to_string())
    }

    #[test]
    fn a_window_at_the_truth_gives_its_figures() {
        let (window, truth) = (
            window(1_004_000, 2_011_349_000),
            truth(1_000_000, 2_011_348_000),
        );
        assert_eq!(
            said(|verdict| verdict.window(&window, &truth).unwrap()).unwrap(),
            "window 2010.345 ms true 2010.348 ms begin +0.004 end +0.001 ms"
        );
    }

    #[test]
    fn an_end_too_far_off_fails_and_says_what_was_measured() {
        let (window, truth) = (window(1_000, 3_000_000), truth(1_000, 1_000_000));
        let error = said(|verdict| verdict.window(&window, &truth).unwrap()).unwrap_err();
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
    fn a_window_begun_before_has_no_length_and_lies_inside_the_true_one() {
        let truth = truth(1_000_000, 9_000_000);
        let judged = |window: &Window| said(|verdict| verdict.truncated(window, &truth).unwrap());
        let mut seen = window(5_000_000, 9_000_000);
        assert!(judged(&seen).unwrap_err().contains("not marked"));
        seen.truncated_begin = true;
        seen.at_least_ns = seen.duration_ns.take();
        assert_eq!(
            judged(&seen).unwrap(),
            "window at least 4.000 ms of true 8.000 ms end +0.000 ms"
        );
        seen.begin_ns = BootNs(0);
        seen.at_least_ns = Some(9_000_000);
        seen.error_ns = 0;
        assert!(judged(&seen).is_ok(), "1 ms is forgiven");
    }

    #[test]
    fn a_window_by_looking_must_admit_its_error() {
        let truth = truth(1_000_000, 9_000_000);
        let mut seen = window(3_000_000, 9_500_000);
        seen.source = "poll".to_owned();
        seen.error_ns = 2_000_000;
        let judged =
            |window: &Window| said(|verdict| verdict.looked_at("x", window, &truth).unwrap());
        assert!(judged(&seen).is_ok());
        seen.error_ns = 1_999_999;
        let error = judged(&seen).unwrap_err();
        assert!(error.starts_with("x: the begin is +2.000 ms"), "{error}");
    }

    #[test]
    fn a_cause_other_than_the_truths_or_through_another_controller_fails() {
        let (source, other) = (Controller::named("nvme0"), Controller::named("nvme1"));
        let mut measured = window(1_000, 2_000);
        let causes = |measured: &Window, by| {
            said(|verdict| verdict.causes(measured, &truth(1_000, 2_000), by))
        };
        assert!(causes(&measured, [&source, &source]).is_ok());
        let error = causes(&measured, [&source, &other]).unwrap_err();
        assert!(error.contains("is not through nvme1"), "{error}");
        measured.cause_begin.kind = "ana-log".to_owned();
        let error = causes(&measured, [&source, &source]).unwrap_err();
        assert!(error.starts_with("cause_begin is"), "{error}");
        assert!(error.contains("not [\"ana-error\"]"), "{error}");
    }

    #[test]
    fn a_window_that_sticks_out_of_the_gap_fails() {
        let seen = Record::of(&[(5_000_000, true), (9_000_000, true)]);
        let span = window(3_000_000, 8_000_000).span().unwrap();
        let error = said(|verdict| {
            verdict.gap(&seen, &span).unwrap();
        });
        assert!(error.unwrap_err().contains("does not contain"));
    }
}
