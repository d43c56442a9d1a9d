//! `pathwarden replay`: the whole pipeline over a trace.

use std::{fs::File, io::BufReader, path::PathBuf};

use anyhow::Context as _;

use super::{
    Common, Exit, Format, inspect,
    render::{Style, counted},
    window,
};
use crate::{
    config,
    diagnose::HostId,
    engine::{self, Replayed},
    event::trace::Reader,
    fabric::Nqn,
};

/// Flags of `replay`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// Who the host is, where several were connected
    #[arg(long, value_name = "NQN")]
    hostnqn: Option<Nqn>,
}

pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let config = config::load(common.config.as_deref(), std::env::vars())?;
    let desired = match &common.desired {
        Some(path) => Some(config::load_desired(path, config.desired)?),
        None => None,
    };
    let host = args.hostnqn.clone().map(|nqn| HostId { nqn, id: None });
    let name = args.trace.display();
    let input: Box<dyn std::io::Read> = if args.trace.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(&args.trace).with_context(|| format!("opening {name}"))?)
    };
    let mut trace =
        Reader::open(BufReader::new(input)).with_context(|| format!("reading {name}"))?;
    let replayed = engine::replay(&mut trace, &config, host, desired)
        .with_context(|| format!("reading {name}"))?;
    let text = match common.output {
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&replayed).context("writing JSON")?;
            text.push('\n');
            text
        }
        Format::Text => text(&replayed, Style::of_stdout()),
    };
    super::print(&text)?;
    Ok(if !replayed.unchecked.is_empty() {
        Exit::Unchecked
    } else if replayed.findings.is_empty() {
        Exit::Clean
    } else {
        Exit::Findings
    })
}

fn text(replayed: &Replayed, style: Style) -> String {
    let mut text = String::new();
    for it in &replayed.windows {
        text.push_str(&window::text(it));
        text.push_str("\n\n");
    }
    for freeze in &replayed.freezes {
        text.push_str(&window::freeze(freeze));
        text.push('\n');
    }
    if !replayed.freezes.is_empty() {
        text.push('\n');
    }
    for finding in &replayed.findings {
        inspect::finding_lines(&mut text, finding, style);
        text.push('\n');
    }
    for unchecked in &replayed.unchecked {
        text.push_str(&format!(
            "not checked: {}: {}\n",
            unchecked.object, unchecked.reason
        ));
    }
    text.push_str(&format!(
        "{} events: {}, {}, {}\n",
        replayed.events,
        counted(replayed.windows.len(), "window"),
        counted(replayed.freezes.len(), "freeze"),
        counted(replayed.findings.len(), "finding")
    ));
    text
}
