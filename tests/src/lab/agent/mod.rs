//! The agent under test: started as a user would, read as a consumer of its output would.

mod lines;
mod log;
mod window;

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::attribute;
use super::clock::BootNs;
use super::wait::{self, Look};
use lines::Lines;
pub use log::{LogLine, Ready};
pub use window::{Cause, ControllerName, Window};

const PROGRAM: &str = "/usr/bin/pathwarden";
/// User and group `nobody`.
const NOBODY: u32 = 65_534;

/// A running agent.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    started: BootNs,
    windows: Lines,
    log: Lines,
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
        Self::spawn(&mut command())
    }

    /// Starts it as a user who may read sysfs and nothing else.
    pub fn start_as_nobody() -> Result<Self> {
        Self::spawn(command().uid(NOBODY).gid(NOBODY))
    }

    fn spawn(command: &mut Command) -> Result<Self> {
        let started = BootNs::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("start {PROGRAM}"))?;
        let stdout = child.stdout.take().context("the agent's standard output")?;
        let stderr = child.stderr.take().context("the agent's standard error")?;
        Ok(Self {
            child,
            started,
            windows: Lines::collect("window", stdout)?,
            log: Lines::collect("agent", stderr)?,
        })
    }

    /// Waits until its probes are attached and its first snapshot is done.
    pub fn ready(&mut self) -> Result<Ready> {
        wait::until("the agent to be ready", Duration::from_secs(20), || {
            let ready = self
                .log_lines()?
                .iter()
                .find_map(|(at, line)| line.ready(at.since(self.started)));
            match ready {
                Some(ready) => Ok(Look::Seen(ready)),
                None => match self.child.try_wait().context("wait for the agent")? {
                    Some(status) => bail!("the agent ended with {status}: {}", self.log.tail()),
                    None => Ok(Look::NotYet(self.log.tail())),
                },
            }
        })
    }

    /// Its memory now.
    pub fn memory(&self) -> Result<Memory> {
        let status = Path::new("/proc")
            .join(self.child.id().to_string())
            .join("status");
        memory(&attribute::read(&status)?)
    }

    /// Waits until it has printed `count` windows and returns all of them.
    pub fn windows(&self, count: usize) -> Result<Vec<Window>> {
        wait::until(
            &format!("{count} windows of the agent"),
            Duration::from_secs(5),
            || {
                let windows = self.printed()?;
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
        let lines = self.log.so_far();
        lines
            .iter()
            .map(|(at, line)| Ok((*at, LogLine::parse(line)?)))
            .collect()
    }

    /// Asks it to end and returns every window it printed, the last words included.
    pub fn stop(mut self) -> Result<Vec<Window>> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("the agent's process id")?, Signal::TERM).context("SIGTERM")?;
        let status = self.ended()?;
        ensure!(
            status.success(),
            "the agent ended with {status}: {}",
            self.log.tail()
        );
        self.windows.finish()?;
        self.printed()
    }

    fn ended(&mut self) -> Result<ExitStatus> {
        wait::until("the agent to end", Duration::from_secs(10), || {
            Ok(match self.child.try_wait().context("wait for the agent")? {
                Some(status) => Look::Seen(status),
                None => Look::NotYet(self.log.tail()),
            })
        })
    }

    fn printed(&self) -> Result<Vec<Window>> {
        self.windows
            .so_far()
            .iter()
            .map(|(_, line)| Window::parse(line))
            .collect()
    }
}

impl Drop for Agent {
    /// For a scenario that failed before it stopped the agent.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None))
            && let Err(error) = self.child.kill().and_then(|()| self.child.wait())
        {
            eprintln!("agent: could not be killed: {error}");
        }
    }
}

fn command() -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["run", "-o", "json", "--log-format", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
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
