//! `pathwarden run`: the agent.

use std::{io::Write as _, time::Duration};

use anyhow::Context as _;

use crate::{
    engine::{self, Settings},
    watch::Change,
};

use super::{Common, Exit, Format, window};

/// Flags of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How often sysfs is looked at where there are no probes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    poll: u64,
    /// Do without the kernel's probes: look at sysfs only
    #[arg(long)]
    no_probes: bool,
}

pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let settings = Settings {
        sysfs: common.sys_root(),
        poll: Duration::from_millis(args.poll),
        probes: !args.no_probes && common.is_this_host(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the event loop")?;
    let output = common.output;
    runtime.block_on(engine::run(&settings, |change| {
        let Change::Closed(window) = change else {
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
