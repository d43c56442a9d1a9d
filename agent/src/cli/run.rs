//! `pathwarden run`: the agent.

use std::{io::Write as _, path::PathBuf, time::Duration};

use anyhow::Context as _;

use crate::{
    config::{self, Config},
    engine::{self, Settings, Told},
    store::{Recorder, Retention},
    watch::Change,
};

use super::{Common, Exit, Format, record::TraceFile, window};

/// Flags of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    watching: Watching,
    /// Where windows are kept, instead of store.path (/var/lib/pathwarden); with --sysfs nowhere but here
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Also write what happens into this trace; it must not be there yet
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
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
    pub(super) fn settings(&self, common: &Common, config: &Config) -> Settings {
        let this_host = common.is_this_host();
        Settings {
            sysfs: common.sys_root(),
            this_host,
            poll: self.poll.map_or(config.watch.poll, Duration::from_millis),
            audit: config.watch.audit,
            probes: !self.no_probes && this_host,
            ring_bytes: config.probe.ring_bytes,
            bounds: config.bounds(),
        }
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
    let config = config::load(common.config.as_deref(), std::env::vars())?;
    let settings = args.watching.settings(common, &config);
    let output = common.output;
    let trace = args.trace.as_deref();
    let trace = trace.map(|path| TraceFile::create(path, false, &settings));
    let mut trace = trace.transpose()?;
    let mut recorder = recorder(args, common, &config.store)?;
    let mut seconds = 0_u64;
    runtime()?.block_on(engine::run(&settings, |told| {
        if let Some(trace) = &mut trace {
            trace.take(&told)?;
        }
        // Before it is told: whoever hears of a window finds it.
        if let Some(recorder) = &mut recorder {
            record(recorder, &told, &mut seconds);
        }
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
    if let Some(trace) = trace {
        trace.close()?;
    }
    Ok(Exit::Clean)
}

/// Where windows go besides the output.
fn recorder(
    args: &Args,
    common: &Common,
    settings: &config::Store,
) -> anyhow::Result<Option<Recorder>> {
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

/// How often an open window is put again, so that one whose agent was killed has lasted this long at least.
const AGAIN_S: u64 = 5;

fn record(recorder: &mut Recorder, told: &Told<'_>, seconds: &mut u64) {
    match told {
        Told::Change(
            Change::Opened(window)
            | Change::Worsened(window)
            | Change::Closed(window)
            | Change::Amended(window),
        ) => recorder.put(window),
        Told::Second(watch) => {
            *seconds += 1;
            if seconds.is_multiple_of(AGAIN_S) {
                watch
                    .open()
                    .for_each(|window| recorder.put(&window.lasting_to(watch.now())));
            }
        }
        Told::Event(_) | Told::Change(_) => {}
    }
}
