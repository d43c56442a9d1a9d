//! The agent under test: started as a user would, read as a consumer of its output would.

mod log;
mod window;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;

use super::attribute;
use super::clock::BootNs;
use super::process::Process;
use super::programs::{PATHWARDEN, Processor, Replay};
use super::wait::{self, Look};
pub use log::{LogLine, Ready};
pub use window::{Cause, ControllerName, Window};

/// User and group `nobody`.
const NOBODY: u32 = 65_534;

/// A running agent.
#[derive(Debug)]
pub struct Agent {
    process: Process,
    /// Where it writes all that it sees, if it does.
    trace: Option<PathBuf>,
}

/// Anonymous memory of the agent, KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// `RssAnon`: what it holds now.
    pub anonymous_kib: u64,
    /// `VmHWM`: the most that was ever resident, shared pages included.
    pub peak_kib: u64,
}

impl Agent {
    /// Starts it as root.
    pub fn start() -> Result<Self> {
        Self::traced(&mut command())
    }

    /// Starts it as a user who may read sysfs and nothing else.
    pub fn start_as_nobody() -> Result<Self> {
        Self::spawn(command().uid(NOBODY).gid(NOBODY))
    }

    /// Starts it without probes: it looks at sysfs, and sooner where a uevent tells.
    pub fn start_looking_only() -> Result<Self> {
        Self::traced(command().arg("--no-probes"))
    }

    /// Starts it with a setting from its environment.
    pub fn start_set(variable: &str, value: &str) -> Result<Self> {
        Self::traced(command().env(variable, value))
    }

    /// Starts it with a trace, which is replayed when it has stopped.
    fn traced(command: &mut Command) -> Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let trace = PathBuf::from(format!("/tmp/agent-{number}.trace"));
        let agent = Self::spawn(command.arg("--trace").arg(&trace))?;
        Ok(Self {
            trace: Some(trace),
            ..agent
        })
    }

    fn spawn(command: &mut Command) -> Result<Self> {
        let process = Process::start(command, ["window", "agent"]).context("the agent")?;
        Ok(Self {
            process,
            trace: None,
        })
    }

    /// Waits until its probes are attached and its first snapshot is done.
    pub fn ready(&mut self) -> Result<Ready> {
        wait::until("the agent to be ready", Duration::from_secs(20), || {
            let started = self.process.started;
            let ready = self
                .log_lines()?
                .iter()
                .find_map(|(at, line)| line.ready(at.since(started)));
            Ok(match ready {
                Some(ready) => Look::Seen(ready),
                None => Look::NotYet(self.process.still_runs().context("the agent")?),
            })
        })
    }

    /// Its memory now.
    pub fn memory(&self) -> Result<Memory> {
        let status = Path::new("/proc")
            .join(self.process.id().to_string())
            .join("status");
        memory(&attribute::read(&status)?)
    }

    /// Its processor time so far.
    pub fn processor(&self) -> Result<Processor> {
        Processor::of_process(self.process.id())
    }

    /// The windows that it has printed so far.
    pub fn windows_so_far(&self) -> Result<Vec<Window>> {
        let lines = self.process.printed();
        lines.iter().map(|(_, line)| Window::parse(line)).collect()
    }

    /// Waits until it has printed `count` windows and returns all of them.
    pub fn windows(&self, count: usize) -> Result<Vec<Window>> {
        wait::until(
            &format!("{count} windows of the agent"),
            Duration::from_secs(5),
            || {
                let windows = self.windows_so_far()?;
                Ok(if windows.len() >= count {
                    Look::Seen(windows)
                } else {
                    Look::NotYet(format!("{windows:?}"))
                })
            },
        )
    }

    /// The log so far, each line with the moment it was read.
    pub fn log_lines(&self) -> Result<Vec<(BootNs, LogLine)>> {
        let lines = self.process.said();
        lines
            .iter()
            .map(|(at, line)| Ok((*at, LogLine::parse(line)?)))
            .collect()
    }

    /// Waits until it logs a line in which `what` stands.
    pub fn says(&mut self, what: &str) -> Result<LogLine> {
        let waited_for = format!("the agent to say {what:?}");
        wait::until(&waited_for, Duration::from_secs(10), || {
            let mut lines = self.log_lines()?.into_iter();
            let found = lines.find(|(_, line)| line.text().contains(what));
            Ok(match found {
                Some((_, line)) => Look::Seen(line),
                None => Look::NotYet(self.process.still_runs().context("the agent")?),
            })
        })
    }

    /// Does something while the agent gets no processor.
    pub fn while_halted<T>(&self, what: impl FnOnce() -> Result<T>) -> Result<T> {
        self.process.signal(Signal::STOP)?;
        let done = what();
        self.process.signal(Signal::CONT)?;
        done
    }

    /// Ends it without a warning and returns every window it had printed.
    pub fn kill(mut self) -> Result<Vec<Window>> {
        self.process.kill().context("the agent")?;
        self.windows_so_far()
    }

    /// Asks it to end and returns every window it printed, the last words included. Its trace must come to the same.
    pub fn stop(mut self) -> Result<Vec<Window>> {
        self.process.stop().context("the agent")?;
        if let Some(trace) = self.trace.take() {
            self.replays(&trace).context("the replay of its trace")?;
            fs::remove_file(&trace)?;
        }
        self.windows_so_far()
    }

    /// Every window that ended while it watched, whole and to the nanosecond.
    fn replays(&self, trace: &Path) -> Result<()> {
        let ended = |window: &Value| window["open"] == false && window["truncated_end"] == false;
        let lines = self.process.printed();
        let live: Vec<Value> = lines
            .iter()
            .map(|(_, line)| serde_json::from_str(line).context("a window"))
            .collect::<Result<_>>()?;
        let mut live: Vec<Value> = live.into_iter().filter(ended).collect();
        live.sort_by_key(|window| window["begin_ns"].as_u64());
        let replayed = Replay::of(trace, &[])?.windows_as_printed();
        let replayed: Vec<Value> = replayed.into_iter().filter(ended).collect();
        ensure!(
            replayed == live,
            "{replayed:?} is not what was printed: {live:?}"
        );
        Ok(())
    }
}

fn command() -> Command {
    let mut command = Command::new(PATHWARDEN);
    command.args(["run", "-o", "json", "--log-format", "json"]);
    command
}

/// From `/proc/PID/status`.
fn memory(status: &str) -> Result<Memory> {
    let field = |name: &str| -> Result<u64> {
        let value = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .with_context(|| format!("no {name} in the process status"))?;
        let number = value.trim().trim_end_matches(" kB");
        number
            .parse()
            .with_context(|| format!("{name} is {value:?}"))
    };
    Ok(Memory {
        anonymous_kib: field("RssAnon")?,
        peak_kib: field("VmHWM")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_process_status() {
        let status =
            "Name:\tpathwarden\nVmHWM:\t   21504 kB\nVmRSS:\t 12000 kB\nRssAnon:\t    9312 kB\n";
        assert_eq!(
            memory(status).unwrap(),
            Memory {
                anonymous_kib: 9312,
                peak_kib: 21504
            }
        );
        assert!(memory("VmHWM: 1 kB\n").is_err());
    }
}
