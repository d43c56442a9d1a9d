//! A program that runs beside a scenario: started as a user would, its lines collected, its end judged.

mod lines;

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::clock::BootNs;
use super::wait::{self, Look};
use lines::{Collected, Lines};

/// A running program.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pub(super) started: BootNs,
    stdout: Lines,
    stderr: Lines,
}

impl Process {
    /// Starts it. The names go before its lines on the console, for its output and for its complaints.
    pub(super) fn start(
        command: &mut Command,
        [output, complaints]: [&'static str; 2],
    ) -> Result<Self> {
        let started = BootNs::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {command:?}"))?;
        let stdout = child.stdout.take().context("its standard output")?;
        let stderr = child.stderr.take().context("its standard error")?;
        Ok(Self {
            child,
            started,
            stdout: Lines::collect(output, stdout)?,
            stderr: Lines::collect(complaints, stderr)?,
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub(super) fn printed(&self) -> Collected {
        self.stdout.so_far()
    }

    /// What it complained of so far.
    pub(super) fn said(&self) -> Collected {
        self.stderr.so_far()
    }

    /// The last complaints in one line; an error if it has ended.
    pub(super) fn still_runs(&mut self) -> Result<String> {
        let tail = self.stderr.tail();
        match self.child.try_wait().context("wait for a program")? {
            Some(status) => bail!("it ended with {status}: {tail}"),
            None => Ok(tail),
        }
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.context("its process id")?;
        kill_process(pid, signal).with_context(|| format!("send {signal:?}"))
    }

    /// Asks it to end. On return it has, well, and all it printed is there.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        let status = self.ended()?;
        ensure!(
            status.success(),
            "it ended with {status}: {}",
            self.stderr.tail()
        );
        self.stdout.finish()
    }

    /// Ends it without asking.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.ended()?;
        self.stdout.finish()
    }

    fn ended(&mut self) -> Result<ExitStatus> {
        wait::until("a program to end", Duration::from_secs(10), || {
            let status = self.child.try_wait().map_err(|error| anyhow!(error))?;
            Ok(match status {
                Some(status) => Look::Seen(status),
                None => Look::NotYet(self.stderr.tail()),
            })
        })
    }
}

impl Drop for Process {
    /// For a scenario that failed before it stopped the program.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None))
            && let Err(error) = self.child.kill().and_then(|()| self.child.wait())
        {
            eprintln!("a program could not be killed: {error}");
        }
    }
}
