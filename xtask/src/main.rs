//! How this repository is worked on: `cargo xtask COMMAND`.
//!
//! A program instead of scripts, so that it is checked and tested like the rest. Each command makes sure of what it
//! needs by itself (`setup`), on a machine that has only rustup's stable tool chain and Debian 12.

mod artifacts;
mod cache;
mod command;
mod ebpf;
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
    }
    Ok(ExitCode::SUCCESS)
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
