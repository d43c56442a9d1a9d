//! The running agent: one loop that owns all state; events in, changes out.
//!
//! Owns: when to look, when to stop, what is told to whom. Holds no rule of its own: events come from
//! [`crate::probe`], windows from [`crate::watch`].

mod feed;

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    event::{Envelope, Event},
    host::{SysRoot, boot, clock},
    watch::{Change, Watch},
};

use feed::Feed;

/// How the agent is to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Stands for `/sys`.
    pub sysfs: SysRoot,
    /// How often sysfs is looked at where there are no probes.
    pub poll: Duration,
    /// Whether probes are wanted; a `--sysfs` folder is not the running kernel's.
    pub probes: bool,
}

/// The agent cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The first look failed, so nothing can be measured.
    #[error("sysfs cannot be read: {0}")]
    Sysfs(String),
    /// The signals that end the agent.
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    /// The thread that reads the probes' events.
    #[error("cannot read the probes' events")]
    Reader(#[source] std::io::Error),
    /// That thread has ended.
    #[error("the probes' events have ended")]
    ReaderEnded,
    /// Printing.
    #[error("a window cannot be written")]
    Output(#[source] std::io::Error),
}

/// Runs until SIGTERM or SIGINT; hands each change of a window to `sink`.
pub async fn run(
    settings: &Settings,
    sink: impl FnMut(&Change) -> std::io::Result<()>,
) -> Result<(), Error> {
    let begun = Instant::now();
    let mut stop = Stop::listen().map_err(Error::Signals)?;
    let mut feed = Feed::start(settings)?;
    let mut agent = Agent {
        watch: Watch::new(boot::id()),
        sink,
    };
    feed.look().await?;
    let mut ready = false;
    loop {
        let events = tokio::select! {
            () = stop.requested() => break,
            events = feed.next() => events?,
        };
        let told = agent.deliver(&events)?;
        if told.snapshot && !ready {
            ready = true;
            let (attached, probes) = feed.probes();
            let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(
                source = feed.source().as_str(),
                attached,
                probes,
                elapsed_ms,
                "ready"
            );
        }
        if told.lost {
            feed.look().await?;
        }
    }
    agent.deliver(&feed.rest())?;
    agent.stop()?;
    tracing::info!("stopped");
    Ok(())
}

/// What a delivery had in it that the loop acts on.
#[derive(Default)]
struct Told {
    snapshot: bool,
    lost: bool,
}

struct Agent<S> {
    watch: Watch,
    sink: S,
}

impl<S: FnMut(&Change) -> std::io::Result<()>> Agent<S> {
    /// Folds events in.
    fn deliver(&mut self, events: &[Envelope]) -> Result<Told, Error> {
        let mut told = Told::default();
        for envelope in events {
            tracing::debug!(time = %envelope.time, event = ?envelope.event, "event");
            match envelope.event {
                Event::Snapshot(_) => told.snapshot = true,
                Event::Lost { count } => {
                    tracing::warn!(
                        count,
                        "events lost: open windows are marked, sysfs is read anew"
                    );
                    told.lost = true;
                }
                _ => {}
            }
            let changes = self.watch.apply(envelope);
            self.tell(&changes)?;
        }
        Ok(told)
    }

    fn stop(&mut self) -> Result<(), Error> {
        let changes = self.watch.stop(clock::boot());
        self.tell(&changes)
    }

    fn tell(&mut self, changes: &[Change]) -> Result<(), Error> {
        changes
            .iter()
            .try_for_each(|change| (self.sink)(change))
            .map_err(Error::Output)
    }
}

/// SIGTERM and SIGINT.
struct Stop {
    term: Signal,
    int: Signal,
}

impl Stop {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
        })
    }

    async fn requested(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}
