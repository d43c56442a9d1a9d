//! Programs that are run once and whose output is read: the agent's `status`, `inspect`, `doctor` and `replay`, fio, and
//! nvme-cli's `list-subsys`, which does not know the agent and must say the same of every controller ([`agreement`]).

pub mod agreement;
mod desired;
mod doctor;
mod fio;
mod inspect;
mod list_subsys;
mod processor;
mod replay;
mod status;

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::clock::BootNs;
pub use desired::Desired;
pub use doctor::{RunCounting, Runs};
pub use fio::{Amount, Reads, random_reads};
pub use inspect::{Finding, Inspect, Verdict};
pub use list_subsys::ListSubsys;
pub use processor::{Processor, TICK};
pub use replay::Replay;
pub use status::{Controller, Leg, Namespace, Status, Subsystem};

/// The agent.
pub const PATHWARDEN: &str = "/usr/bin/pathwarden";
/// nvme-cli.
pub const NVME: &str = "/usr/sbin/nvme";

/// fio.
pub const FIO: &str = "/usr/bin/fio";

/// Exit codes of the agent's commands.
pub mod exit {
    /// Clean, or done.
    pub const CLEAN: i32 = 0;
    /// There are findings.
    pub const FINDINGS: i32 = 1;
}

/// What a program left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// From before it was started until its end was seen.
    pub took: Duration,
    /// What the kernel charged for it; right where no other program was run meanwhile.
    pub processor: Processor,
}

/// Runs a program to its end. A signal that ends it is an error, an exit code is not.
pub fn once(program: &str, arguments: &[&str]) -> Result<Finished> {
    with_settings(program, arguments, &[])
}

/// The same with these variables in its environment.
fn with_settings(program: &str, arguments: &[&str], settings: &[(&str, &str)]) -> Result<Finished> {
    let doing = || format!("run {program} {}", arguments.join(" "));
    let charged = Processor::of_children()?;
    let begin = BootNs::now();
    let output = Command::new(program)
        .args(arguments)
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .output()
        .with_context(doing)?;
    let took = BootNs::now().since(begin);
    let code = output.status.code();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Finished {
        code: code.with_context(|| format!("{}: {}", doing(), output.status))?,
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        took,
        processor: Processor::of_children()?.since(charged),
    })
}

impl Finished {
    /// The document that it printed; `of` completes "read …".
    fn document<T: DeserializeOwned>(&self, of: &str) -> Result<T> {
        serde_json::from_str(&self.stdout).with_context(|| {
            format!(
                "read {of}, which ended with {} and said {:?}: {:?}",
                self.code,
                self.stderr.trim(),
                self.stdout
            )
        })
    }
}

/// Refuses a document of another form than is read here.
fn expect_schema(found: &str, expected: &str) -> Result<()> {
    ensure!(found == expected, "schema {found:?}, not {expected:?}");
    Ok(())
}

/// Totals of a host, in `status` and in `inspect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Counts {
    /// Of the kernel.
    pub subsystems: usize,
    /// Of every transport.
    pub controllers: usize,
    /// From legs and heads.
    pub namespaces: usize,
    /// Paths of controllers to namespaces.
    pub legs: usize,
    /// Those that the kernel would route over.
    pub usable_legs: usize,
    /// Live controllers whose legs are all inaccessible.
    pub parked: usize,
    /// Live controllers without a leg.
    pub husks: usize,
}

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Unchecked {
    /// What.
    pub object: String,
    /// Why not.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_run_to_its_end_and_its_code_kept() {
        let finished = once("/bin/sh", &["-c", "echo out; echo err >&2; exit 3"]).unwrap();
        let parts = (finished.code, &finished.stdout[..], &finished.stderr[..]);
        assert_eq!(parts, (3, "out\n", "err\n"));
        assert!(once("/no/such/program", &[]).is_err());
    }

    #[test]
    fn a_document_that_cannot_be_read_tells_what_came_instead() {
        let finished = once("/bin/sh", &["-c", "echo no; echo why >&2; exit 4"]).unwrap();
        let error = finished.document::<Counts>("the counts").unwrap_err();
        assert_eq!(
            error.to_string(),
            "read the counts, which ended with 4 and said \"why\": \"no\\n\""
        );
    }
}
