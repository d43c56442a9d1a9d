//! The command line: one file a command.
//!
//! Owns: flags, exit codes, what people see. Holds no rule of its own.

mod doctor;
mod inspect;
mod record;
mod render;
mod replay;
mod run;
mod status;
mod watch;
mod window;
mod windows;

use std::{
    io::{BufWriter, IsTerminal, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;
use tracing_subscriber::EnvFilter;

use crate::{
    config::ConfigError,
    host::{SysRoot, sysfs::ScanError},
    probe,
};

/// How much of a document is written at once, in bytes.
const CHUNK: usize = 16 * 1024;

/// What a command came to; the highest that holds is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Clean, or done.
    Clean = 0,
    /// Findings, refused or declined.
    Findings = 1,
    /// Wrong usage.
    Usage = 2,
    /// Not everything could be checked.
    Unchecked = 3,
    /// Failed.
    Failed = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// For whom output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// People.
    #[default]
    Text,
    /// Programs.
    Json,
}

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct Common {
    /// A folder that stands for /sys
    #[arg(long, global = true, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
    /// A folder that stands for / (in a pod: the mounted host)
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "sysfs")]
    pub root: Option<PathBuf>,
    /// The settings, instead of /etc/pathwarden/config.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What a control plane wants of this host's subsystems (TOML)
    #[arg(long, global = true, value_name = "FILE")]
    pub desired: Option<PathBuf>,
    /// For whom the output is
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t
    )]
    pub output: Format,
    /// For whom the log (standard error) is
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t
    )]
    pub log_format: Format,
}

impl Common {
    fn sys_root(&self) -> SysRoot {
        SysRoot::from_flags(self.sysfs.as_deref(), self.root.as_deref())
    }

    /// Whether it is the running kernel that is looked at. A `--sysfs` folder may be anybody's.
    fn is_this_host(&self) -> bool {
        self.sysfs.is_none()
    }
}

#[derive(Debug, Parser)]
#[command(
    name = "pathwarden",
    about = "Watches the paths of NVMe-over-Fabrics volumes on this host",
    version = version(),
    arg_required_else_help = true,
    after_help = "Exit codes: 0 clean or done, 1 findings, 2 usage, 3 could not check everything, 4 failed."
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Follow the host's paths and print each window in which a volume had none
    Run(run::Args),
    /// Follow the host's paths and print what happens, one line an event
    Watch(watch::Args),
    /// Write what happens into a trace that anyone can replay
    Record(record::Args),
    /// Run the whole pipeline over a trace: its windows, and what was wrong at its end
    Replay(replay::Args),
    /// Say what of the kernel can be seen from here, and what is missing
    Doctor(doctor::Args),
    /// Print the topology: subsystems, controllers, namespaces, legs
    Status(status::Args),
    /// Say what is wrong, why, and what would be done about it
    Inspect(inspect::Args),
    /// List the windows that the agent has recorded
    Windows(windows::Args),
}

impl Command {
    /// Whether anything in it writes to the log. A command that only looks is started often and sets none up.
    fn logs(&self) -> bool {
        match self {
            Self::Run(_) | Self::Watch(_) | Self::Record(_) | Self::Doctor(_) => true,
            Self::Replay(_) | Self::Status(_) | Self::Inspect(_) | Self::Windows(_) => false,
        }
    }
}

/// Parses the arguments, runs the command, and turns what it came to into an exit code.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.command.logs() {
        log_to_stderr(cli.common.log_format);
    }
    let outcome = match &cli.command {
        Command::Run(args) => run::run(args, &cli.common),
        Command::Watch(args) => watch::run(args, &cli.common),
        Command::Record(args) => record::run(args, &cli.common),
        Command::Replay(args) => replay::run(args, &cli.common),
        Command::Doctor(args) => doctor::run(args, &cli.common),
        Command::Status(args) => status::run(args, &cli.common),
        Command::Inspect(args) => inspect::run(args, &cli.common),
        Command::Windows(args) => windows::run(args, &cli.common),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            // The reader has gone (`pathwarden … | head`): nobody to tell, nothing wrong.
            if broken_pipe(&error) {
                return Exit::Clean.into();
            }
            eprintln!("pathwarden: {error:#}");
            exit_of(&error).into()
        }
    }
}

/// What was asked for in a way that cannot be followed is wrong usage; the rest failed.
fn exit_of(error: &anyhow::Error) -> Exit {
    use std::io::ErrorKind::{NotADirectory, NotFound};

    let no_tree = match error.downcast_ref::<ScanError>() {
        Some(ScanError::Root { source, .. }) => matches!(source.kind(), NotADirectory | NotFound),
        _ => false,
    };
    if no_tree || error.is::<ConfigError>() {
        Exit::Usage
    } else {
        Exit::Failed
    }
}

/// Writes a command's output.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a command's output as JSON, as it is made: the document of a large host is in no one piece of memory.
fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(CHUNK, std::io::stdout().lock());
    // As the error it was: a reader that has gone is told apart by it.
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

fn version() -> &'static str {
    if probe::object::embedded().is_some() {
        concat!(env!("CARGO_PKG_VERSION"), " (with probes)")
    } else {
        concat!(env!("CARGO_PKG_VERSION"), " (built without probes)")
    }
}

/// Level by `PATHWARDEN_LOG` (`debug`, `pathwarden::probe=trace`), else informational.
fn log_to_stderr(format: Format) {
    let filter =
        EnvFilter::try_from_env("PATHWARDEN_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        Format::Json => builder.json().init(),
        Format::Text => {
            builder
                .with_ansi(std::io::stderr().is_terminal())
                .with_target(false)
                .init();
        }
    }
}

fn broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_flags_fit_together() {
        Cli::command().debug_assert();
    }
}
