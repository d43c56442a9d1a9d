//! `pathwarden run`: the agent.

use std::{io::Write as _, path::PathBuf, time::Duration};

use anyhow::Context as _;

use crate::{
    config,
    engine::{self, Settings},
    store::{Recorder, Retention},
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
    /// Where windows are kept, instead of store.path (/var/lib/pathwarden); with --sysfs nowhere but here
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let settings = Settings {
        sysfs: common.sys_root(),
        poll: Duration::from_millis(args.poll),
        probes: !args.no_probes && common.is_this_host(),
    };
    let mut recorder = recorder(args, common)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the event loop")?;
    let output = common.output;
    runtime.block_on(engine::run(&settings, |change| {
        let (Change::Opened(window) | Change::Closed(window)) = change;
        // Before it is told: whoever hears of a window finds it.
        if let Some(recorder) = &mut recorder {
            recorder.put(window);
        }
        if matches!(change, Change::Opened(_)) {
            return Ok(());
        }
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

/// Where windows go besides the output.
fn recorder(args: &Args, common: &Common) -> anyhow::Result<Option<Recorder>> {
    let settings = config::load(common.config.as_deref(), std::env::vars())?.store;
    let folder = match &args.state_dir {
        Some(folder) => folder,
        None if common.is_this_host() => &settings.path,
        // The windows of some other tree are not this host's.
        None => return Ok(None),
    };
    let retention = Retention {
        keep: settings.keep,
        max_age: settings.max_age,
    };
    let recorder = Recorder::start(folder, retention).context("starting the store's thread")?;
    Ok(Some(recorder))
}
