//! `pathwarden record`: writes what happens into a trace.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::{Common, Exit, run};
use crate::{
    config,
    engine::{self, Settings, Told},
    event::trace::{Header, Writer},
    host::{boot, sysfs},
    watch::Change,
};

/// Flags of `record`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    watching: run::Watching,
    /// The trace to write; it must not be there yet
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// Overwrite it if it is there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let config = config::load(common.config.as_deref(), std::env::vars())?;
    let settings = args.watching.settings(common, &config);
    let mut trace = TraceFile::create(&args.trace, args.force, &settings)?;
    let mut windows = 0_u64;
    run::runtime()?.block_on(engine::run(&settings, |told| {
        windows += u64::from(matches!(told, Told::Change(Change::Closed(_))));
        trace.take(&told)
    }))?;
    let events = trace.close()?;
    let name = args.trace.display();
    writeln!(
        io::stderr().lock(),
        "{name}: {events} events, {windows} windows ended"
    )?;
    Ok(Exit::Clean)
}

/// A trace on its way to a file.
#[derive(Debug)]
pub(super) struct TraceFile {
    name: String,
    writer: Writer<BufWriter<File>>,
    events: u64,
    flushed: Instant,
}

/// How long an event may wait before it is on its way to the disk.
const FLUSH: Duration = Duration::from_secs(1);

impl TraceFile {
    /// A file that only its owner reads: a trace names hosts and addresses.
    pub(super) fn create(path: &Path, force: bool, settings: &Settings) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600);
        if force {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        let file = options
            .open(path)
            .with_context(|| format!("creating {name}"))?;
        let header = Header::new(
            Some(boot::id()),
            Some(boot::kernel()),
            sysfs::multipath(&settings.sysfs),
        );
        let writer = Writer::create(BufWriter::new(file), &header)
            .with_context(|| format!("writing {name}"))?;
        Ok(Self {
            name,
            writer,
            events: 0,
            flushed: Instant::now(),
        })
    }

    /// Writes what is an event.
    pub(super) fn take(&mut self, told: &Told<'_>) -> io::Result<()> {
        if let Told::Event(envelope) = told {
            self.writer.write(envelope)?;
            self.events += 1;
        }
        if self.flushed.elapsed() >= FLUSH {
            self.writer.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    /// Writes what is left. How many events it has.
    pub(super) fn close(mut self) -> anyhow::Result<u64> {
        let name = &self.name;
        self.writer
            .flush()
            .with_context(|| format!("writing {name}"))?;
        Ok(self.events)
    }
}
