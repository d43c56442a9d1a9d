//! How this repository is worked on: `cargo xtask COMMAND`.
//!
//! A program instead of scripts, so that it is checked and tested like the rest. Each command makes sure of what it
//! needs by itself (`setup`), on a machine that has only rustup's stable tool chain and Debian 12.

mod artifacts;
mod bench;
mod cache;
mod check;
mod command;
mod ebpf;
mod fuzz;
mod lab;
mod setup;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// How this repository is worked on.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Find what is missing for all commands and install it
    ///
    /// Debian packages are installed through apt-get when run as root; otherwise the apt-get line to run is printed and
    /// the command fails. Tools that are built go to ${XDG_CACHE_HOME:-~/.cache}/pathwarden. Every other command does
    /// this for what it needs itself.
    Setup,
    /// Build the BPF object that the agent embeds
    BuildEbpf {
        /// With the programs' own debug lines (the agent needs its feature ebpf-log to show them)
        #[arg(long)]
        log: bool,
    },
    Lab(lab::Options),
    /// Run everything that must hold: format, clippy, tests, BPF build, and the lab on all kernels
    ///
    /// All steps run even if one fails. What cannot run here is skipped and says why; with CI set in the environment a skip
    /// is a failure. The last line is `N passed, N failed`: steps, and the lab's scenarios each.
    Test,
    /// Measure what is promised of speed, and print it
    Bench {
        /// What to measure
        subject: bench::Subject,
        /// Kernel for `cost`, by version or by Debian suite, or all
        #[arg(long, default_value = "6.12")]
        kernel: lab::Selection,
    },
    /// Run each fuzz target for a while (60 s unless told)
    Fuzz(fuzz::Options),
    /// Check licences, bans and sources of all dependencies with cargo-deny (built on first use)
    Deny,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(action: &Action) -> Result<ExitCode> {
    match action {
        Action::Setup => setup::setup()?,
        Action::BuildEbpf { log } => ebpf::build(*log)?,
        Action::Lab(options) => return Ok(exit_code(lab::run(options)?.failed() == 0)),
        Action::Test => return Ok(exit_code(check::test()?)),
        Action::Bench { subject, kernel } => bench::run(*subject, kernel)?,
        Action::Fuzz(options) => fuzz::run(options)?,
        Action::Deny => check::deny()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn exit_code(all_held: bool) -> ExitCode {
    if all_held {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
