//! `pathwarden run`: the agent.

use std::{io::Write as _, time::Duration};

use anyhow::Context as _;

use crate::{
    config,
    engine::{self, Settings, Told},
    watch::Change,
};

use super::{Common, Exit, Format, window};

/// Flags of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    watching: Watching,
}

/// Flags of every command that watches.
#[derive(Debug, clap::Args)]
pub(super) struct Watching {
    /// How often sysfs is looked at where there are no probes, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    poll: Option<u64>,
    /// Do without the kernel's probes: look at sysfs only
    #[arg(long)]
    no_probes: bool,
}

impl Watching {
    /// How to watch: by the flags, then the settings.
    pub(super) fn settings(&self, common: &Common) -> anyhow::Result<Settings> {
        let config = config::load(common.config.as_deref(), std::env::vars())?;
        let this_host = common.is_this_host();
        Ok(Settings {
            sysfs: common.sys_root(),
            this_host,
            poll: self.poll.map_or(config.watch.poll, Duration::from_millis),
            audit: config.watch.audit,
            probes: !self.no_probes && this_host,
            ring_bytes: config.probe.ring_bytes,
            bounds: config.bounds(),
        })
    }
}

/// What the agent runs on.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the event loop")
}

pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let settings = args.watching.settings(common)?;
    let output = common.output;
    runtime()?.block_on(engine::run(&settings, |told| {
        let Told::Change(Change::Closed(window)) = told else {
            return Ok(());
        };
        let mut out = std::io::stdout().lock();
        match output {
            Format::Json => {
                serde_json::to_writer(&mut out, window)?;
                writeln!(out)?;
            }
            Format::Text => writeln!(out, "{}", window::text(window))?,
        }
        out.flush()
    }))?;
    Ok(Exit::Clean)
}
