//! A guest: boots a kernel with the lab's root file system and follows what it says until it is over.
//!
//! The run ends by the guest's own closing line, by a fault the kernel reports on its console, by the guest going off
//! early, or by a limit. The console is kept. Knows nothing of where kernels come from or what scenarios check.

mod console;
mod emulator;
mod progress;
mod tail;
mod watch;

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use pathwarden_tests::lab::protocol::SCENARIOS_PARAMETER;

use emulator::{Emulator, Machine};
pub(crate) use progress::Ended;
use tail::Tail;
use watch::{Ending, Limits, Watch};

/// How often the ports are looked at. The guest's own clock measures; this only decides when we hear of it.
const LOOK: Duration = Duration::from_millis(50);

/// For the guest to power off by itself once it is done.
const POWER_OFF: Duration = Duration::from_secs(10);

/// For the rest of a fault's report (registers, call trace) to come through.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What to run.
#[derive(Debug)]
pub(crate) struct Guest<'a> {
    /// The kernel's image.
    pub(crate) kernel: &'a Path,
    /// The root file system.
    pub(crate) initrd: &'a Path,
    /// Where the console and the report are kept.
    pub(crate) folder: &'a Path,
    /// The scenarios to run, by name.
    pub(crate) scenarios: &'a [String],
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// One for each scenario that ended.
    pub(crate) ended: Vec<Ended>,
    /// One for each other scenario that was asked for, with the reason.
    pub(crate) unfinished: Vec<Ended>,
    /// What went wrong beside the scenarios' own checks.
    pub(crate) trouble: Option<String>,
    /// What went wrong is the emulator's fault: trying again is no dishonesty.
    pub(crate) emulator_slipped: bool,
    /// From the start of the emulator until the guest was up.
    pub(crate) boot: Option<Duration>,
    /// All of it.
    pub(crate) elapsed: Duration,
    /// The kept console.
    pub(crate) console: PathBuf,
}

impl Guest<'_> {
    /// Runs it to its end; `closed` hears of every scenario that ends, as it does.
    pub(crate) fn run(&self, closed: &mut dyn FnMut(&Ended)) -> Result<Outcome> {
        let console = self.folder.join("console.log");
        let report = self.folder.join("report.jsonl");
        for port in [&console, &report] {
            std::fs::write(port, "").with_context(|| format!("emptying {}", port.display()))?;
        }
        let mut ports = Ports {
            console: Tail::open(&console).context("opening the console")?,
            report: Tail::open(&report).context("opening the report")?,
        };
        // `panic=-1` restarts at once after a panic, which `-no-reboot` turns into an end.
        let command_line = format!(
            "console=ttyS0 panic=-1 quiet {SCENARIOS_PARAMETER}={}",
            self.scenarios.join(",")
        );
        let start = Instant::now();
        let mut emulator = Emulator::start(Machine {
            kernel: self.kernel,
            initrd: self.initrd,
            command_line: &command_line,
            console: &console,
            report: &report,
        })?;
        let mut watch = Watch::new(Limits::of(self.scenarios));
        let ending = follow(&mut watch, &mut ports, &mut emulator, start, closed)?;
        let grace = if ending == Ending::Done {
            POWER_OFF
        } else {
            LAST_WORDS
        };
        let until = Instant::now() + grace;
        while Instant::now() < until && emulator.ended()?.is_none() {
            sleep(LOOK);
        }
        let mut ending = ending;
        let mut stays = None;
        if ending == Ending::Done {
            // What the kernel said after the last look at the console, powering off included.
            let late = ports.console.lines().context("reading the console")?;
            ending = late
                .iter()
                .find_map(|line| watch.console(line))
                .unwrap_or(ending);
            stays = emulator
                .ended()?
                .is_none()
                .then(|| "the guest was done but did not power off".to_owned());
        }
        drop(emulator);
        let why = (ending != Ending::Done).then(|| ending.to_string());
        Ok(Outcome {
            unfinished: watch
                .progress
                .unfinished(self.scenarios, &ending.to_string()),
            emulator_slipped: ending.is_emulators_fault(),
            trouble: why.or(stays),
            ended: watch.progress.ended,
            boot: watch.progress.booted,
            elapsed: start.elapsed(),
            console,
        })
    }
}

struct Ports {
    console: Tail,
    report: Tail,
}

fn follow(
    watch: &mut Watch,
    ports: &mut Ports,
    emulator: &mut Emulator,
    start: Instant,
    closed: &mut dyn FnMut(&Ended),
) -> Result<Ending> {
    loop {
        // Asked before the ports are read: what it wrote before it ended is then seen.
        let off = emulator.ended()?;
        // The report first: it says whether a hung task on the console is expected.
        for line in ports.report.lines().context("reading the report")? {
            if let Some(ending) = watch.report(&line, start.elapsed(), closed) {
                return Ok(ending);
            }
        }
        for line in ports.console.lines().context("reading the console")? {
            if let Some(ending) = watch.console(&line) {
                return Ok(ending);
            }
        }
        if let Some(status) = off {
            return Ok(Ending::Off(status.to_string()));
        }
        if let Some(ending) = watch.tick(start.elapsed()) {
            return Ok(ending);
        }
        sleep(LOOK);
    }
}
