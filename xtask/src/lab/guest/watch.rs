//! Decides when a run is over, from what the guest's two serial ports say and from the time that passes. No I/O here.

use std::fmt;
use std::time::Duration;

use pathwarden_tests::scenarios;

use super::console::{self, Fault};
use super::progress::{Ended, Progress};

/// How long things may take before the run is given up. Generous: the emulated CPU is slow, and a machine that builds
/// something beside it makes it slower.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) boot: Duration,
    pub(super) scenario: Duration,
    /// The whole run. Three kernels that all reach it must fit into a CI run of an hour.
    pub(super) run: Duration,
}

impl Limits {
    const LAB: Self = Self {
        boot: Duration::from_secs(180),
        scenario: Duration::from_secs(240),
        run: Duration::from_secs(17 * 60),
    };
    /// For scenarios that measure cost: a million I/Os are many on an emulated CPU.
    const COST: Self = Self {
        scenario: Duration::from_secs(15 * 60),
        run: Duration::from_secs(60 * 60),
        ..Self::LAB
    };

    /// Those for a run of these scenarios.
    pub(super) fn of(names: &[String]) -> Self {
        let costs = |name: &String| scenarios::ON_REQUEST.contains(&name.as_str());
        if names.iter().any(costs) {
            Self::COST
        } else {
            Self::LAB
        }
    }
}

/// Why a run is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// The guest said that it was done.
    Done,
    /// The kernel reported a fault in this line.
    Fault(Fault, String),
    /// The emulator ended, with this status, before the guest was done.
    Off(String),
    /// The guest did not come up in time.
    BootLimit(Duration),
    /// A scenario took too long.
    ScenarioLimit(String, Duration),
    /// All of it took too long.
    RunLimit(Duration),
    /// The report cannot be trusted.
    Report(String),
}

impl Ending {
    /// Whether the guest and what runs in it are not to blame.
    pub(super) fn is_emulators_fault(&self) -> bool {
        matches!(self, Self::Fault(Fault::StaleBreakpoint, _))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("the guest was done"),
            Self::Fault(fault, line) => write!(f, "{fault}: {line}"),
            Self::Off(status) => write!(f, "the guest went off early (the emulator's {status})"),
            Self::BootLimit(limit) => write!(f, "the guest was not up after {} s", limit.as_secs()),
            Self::ScenarioLimit(scenario, limit) => {
                write!(f, "{scenario} had not ended after {} s", limit.as_secs())
            }
            Self::RunLimit(limit) => write!(f, "the run had not ended after {} s", limit.as_secs()),
            Self::Report(what) => write!(f, "the report is broken: {what}"),
        }
    }
}

/// A run that is being followed. Times are since the emulator was started.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    pub(super) progress: Progress,
    /// A scenario that runs, or ran when the ports were last looked at, hangs on purpose: the two ports are not in step.
    expects_hung_task: bool,
}

impl Watch {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            progress: Progress::default(),
            expects_hung_task: false,
        }
    }

    /// A line of the console.
    pub(super) fn console(&self, line: &str) -> Option<Ending> {
        let fault = console::fault_in(line)?;
        (fault != Fault::HungTask || !self.expects_hung_task)
            .then(|| Ending::Fault(fault, line.to_owned()))
    }

    /// A line of the report; `closed` hears of a scenario that ended by it.
    pub(super) fn report(
        &mut self,
        line: &str,
        now: Duration,
        closed: &mut dyn FnMut(&Ended),
    ) -> Option<Ending> {
        match self.progress.take(line, now) {
            Ok(Some(ended)) => closed(&ended),
            Ok(None) if self.progress.done => return Some(Ending::Done),
            Ok(None) => self.expects_hung_task |= self.running_expects_hung_task(),
            Err(error) => return Some(Ending::Report(format!("{error:#}"))),
        }
        None
    }

    /// Both ports have been looked at, and time has passed.
    pub(super) fn tick(&mut self, now: Duration) -> Option<Ending> {
        self.expects_hung_task = self.running_expects_hung_task();
        let Limits {
            boot,
            scenario,
            run,
        } = self.limits;
        if now > run {
            return Some(Ending::RunLimit(run));
        }
        if self.progress.booted.is_none() && now > boot {
            return Some(Ending::BootLimit(boot));
        }
        let running = self.progress.running.as_ref()?;
        let over = now.saturating_sub(running.since) > scenario;
        over.then(|| Ending::ScenarioLimit(running.scenario.clone(), scenario))
    }

    fn running_expects_hung_task(&self) -> bool {
        self.progress
            .running
            .as_ref()
            .is_some_and(|running| running.expects_hung_task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const LIMITS: Limits = Limits {
        boot: Duration::from_secs(10),
        scenario: Duration::from_secs(20),
        run: Duration::from_secs(60),
    };
    const BOOTED: &str = r#"{"event":"booted","kernel":"6.1.0-57-amd64","uptime_ms":5000}"#;
    const HUNG: &str = "[  130.0] INFO: task nvme:93 blocked for more than 120 seconds.";

    fn begin(expects_hung_task: bool) -> String {
        format!(
            r#"{{"event":"begin","scenario":"hung-delete","expects_hung_task":{expects_hung_task}}}"#
        )
    }

    fn watch(lines: &[&str]) -> Watch {
        let mut watch = Watch::new(LIMITS);
        for line in lines {
            assert_eq!(watch.report(line, 5 * SECOND, &mut |_| {}), None);
        }
        watch
    }

    #[test]
    fn only_what_runs_on_request_may_take_long() {
        let of = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            Limits::of(&names).scenario
        };
        let usual = of(&["clean-cutover", "healthy"]);
        for name in scenarios::ON_REQUEST {
            assert!(of(&["clean-cutover", name]) > usual, "{name}");
        }
    }

    #[test]
    fn the_closing_line_ends_the_run() {
        let mut watch = watch(&[BOOTED]);
        let mut closed = Vec::new();

        let end = r#"{"event":"end","scenario":"a","ok":true,"figures":"x","elapsed_ms":1}"#;
        let scenario = watch.report(end, SECOND, &mut |ended| {
            closed.push(ended.scenario.clone());
        });
        let run = watch.report(
            r#"{"event":"done","passed":1,"failed":0}"#,
            SECOND,
            &mut |_| {},
        );

        assert_eq!((scenario, run), (None, Some(Ending::Done)));
        assert_eq!(closed, ["a"]);
    }

    #[test]
    fn a_hung_task_ends_the_run_unless_the_running_scenario_expects_it() {
        assert_eq!(watch(&[BOOTED, &begin(true)]).console(HUNG), None);

        let ending = watch(&[BOOTED, &begin(false)]).console(HUNG).unwrap();
        assert_eq!(ending, Ending::Fault(Fault::HungTask, HUNG.to_owned()));
    }

    #[test]
    fn a_panic_ends_the_run_whatever_is_expected() {
        let panic = "[  1.0] Kernel panic - not syncing: Attempted to kill init!";

        assert!(watch(&[BOOTED, &begin(true)]).console(panic).is_some());
    }

    #[test]
    fn the_expectation_ends_with_its_scenario() {
        let end =
            r#"{"event":"end","scenario":"hung-delete","ok":true,"figures":"x","elapsed_ms":1}"#;

        let mut watch = watch(&[BOOTED, &begin(true), end]);

        assert_eq!(
            watch.console(HUNG),
            None,
            "it may have been printed before the scenario ended"
        );
        assert_eq!(watch.tick(6 * SECOND), None);
        assert!(watch.console(HUNG).is_some());
    }

    #[test]
    fn boot_scenario_and_run_each_have_their_limit() {
        assert_eq!(watch(&[]).tick(10 * SECOND), None);
        assert_eq!(
            watch(&[]).tick(11 * SECOND),
            Some(Ending::BootLimit(10 * SECOND))
        );
        assert_eq!(watch(&[BOOTED]).tick(50 * SECOND), None);
        assert_eq!(
            watch(&[BOOTED, &begin(false)]).tick(26 * SECOND),
            Some(Ending::ScenarioLimit("hung-delete".to_owned(), 20 * SECOND))
        );
        assert_eq!(
            watch(&[BOOTED]).tick(61 * SECOND),
            Some(Ending::RunLimit(60 * SECOND))
        );
    }

    #[test]
    fn only_a_stale_breakpoint_is_the_emulators_fault() {
        let slip = watch(&[BOOTED])
            .console("[  2.4] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI")
            .unwrap();
        let oops = watch(&[BOOTED])
            .console("[  2.4] Oops: general protection fault: 0000 [#1]")
            .unwrap();

        assert!(slip.is_emulators_fault());
        assert!(!oops.is_emulators_fault());
    }

    #[test]
    fn a_broken_report_ends_the_run() {
        let ending = watch(&[BOOTED]).report("{", SECOND, &mut |_| {}).unwrap();

        assert!(
            ending
                .to_string()
                .starts_with("the report is broken: not a report line: {"),
            "{ending}"
        );
    }
}
