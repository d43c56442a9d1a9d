//! The steps of a test run.

use std::fmt;
use std::process::Command;

use anyhow::Result;

use super::tally::Verdict;
use crate::cache::Cache;
use crate::setup::{self, CargoTool, Need};
use crate::{command, ebpf, lab};

/// One step. The cheap ones come first; the BPF object comes before what embeds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Format,
    BpfBuild,
    Clippy,
    Tests,
    DocTests,
    Lab,
}

impl Step {
    pub(super) const ALL: [Self; 6] = [
        Self::Format,
        Self::BpfBuild,
        Self::Clippy,
        Self::Tests,
        Self::DocTests,
        Self::Lab,
    ];

    /// Runs it. An error is the step's failure.
    pub(super) fn run(self) -> Result<Verdict> {
        match self {
            Self::Format => {
                setup::ensure(&[Need::Lints])?;
                cargo(&["fmt", "--all", "--check"])
            }
            Self::BpfBuild => ebpf::build(false).map(|()| Verdict::passed()),
            Self::Clippy => {
                setup::ensure(&[Need::Lints])?;
                cargo(&[
                    "clippy",
                    "--quiet",
                    "--workspace",
                    "--all-targets",
                    "--",
                    "-D",
                    "warnings",
                ])
            }
            Self::Tests => tests(),
            // cargo-nextest does not run them, and `cargo test` has run them already.
            Self::DocTests => cargo(&["test", "--quiet", "--workspace", "--doc"]),
            Self::Lab => {
                let run = lab::run(&lab::Options::everything())?;
                Ok(Verdict::counted(run.passed(), run.failed()))
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "format",
            Self::BpfBuild => "BPF build",
            Self::Clippy => "clippy",
            Self::Tests => "unit and integration tests",
            Self::DocTests => "tests in documentation",
            Self::Lab => "lab on all kernels",
        })
    }
}

fn tests() -> Result<Verdict> {
    let nextest = command::output(
        command::cargo().args(["nextest", "--version"]),
        "looking for cargo-nextest",
    )?;
    if nextest.status.success() {
        println!("with cargo nextest");
        cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--no-fail-fast",
            "--status-level",
            "fail",
        ])
    } else {
        println!("with cargo test (cargo-nextest is not installed)");
        cargo(&[
            "test",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--no-fail-fast",
        ])
    }
}

fn cargo(arguments: &[&str]) -> Result<Verdict> {
    let mut cargo: Command = command::cargo();
    command::run(cargo.args(arguments), "this step")?;
    Ok(Verdict::passed())
}

/// cargo-deny, built into the cache on first use.
pub(super) fn deny() -> Result<()> {
    let tool = CargoTool {
        name: "cargo-deny",
        version: "0.20.2",
        variant: None,
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    let program = setup::install_cargo_tool(&Cache::open()?, &tool)?;
    let mut deny = Command::new(program);
    deny.current_dir(crate::workspace::root());
    deny.args(["check", "licenses", "bans", "sources"]);
    command::run(&mut deny, "checking licences, bans and sources")
}
