//! `pathwarden record`: writes what happens into a trace.

use std::{
    fs::OpenOptions,
    io::{BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::{Common, Exit, run};
use crate::{
    engine::{self, Told},
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

/// How long an event may wait before it is on its way to the disk.
const FLUSH: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let settings = args.watching.settings(common)?;
    let name = args.trace.display().to_string();
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if args.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let file = options
        .open(&args.trace)
        .with_context(|| format!("creating {name}"))?;
    let header = Header::new(
        Some(boot::id()),
        Some(boot::kernel()),
        sysfs::multipath(&settings.sysfs),
    );
    let mut writer =
        Writer::create(BufWriter::new(file), &header).with_context(|| format!("writing {name}"))?;
    let (mut events, mut windows) = (0_u64, 0_u64);
    let mut flushed = Instant::now();
    run::runtime()?.block_on(engine::run(&settings, |told| {
        match told {
            Told::Event(envelope) => {
                writer.write(envelope)?;
                events += 1;
            }
            Told::Change(Change::Closed(_)) => windows += 1,
            _ => {}
        }
        if flushed.elapsed() >= FLUSH {
            writer.flush()?;
            flushed = Instant::now();
        }
        Ok(())
    }))?;
    writer.flush().with_context(|| format!("writing {name}"))?;
    let mut err = std::io::stderr().lock();
    writeln!(err, "{name}: {events} events, {windows} windows ended")?;
    Ok(Exit::Clean)
}
