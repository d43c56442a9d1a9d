//! The running agent: one loop that owns all state; events in, changes out.
//!
//! Owns: when to look, when to stop, what is told to whom. Holds no rule of its own: events come from
//! [`crate::probe`], windows from [`crate::watch`].

mod feed;
mod io;
mod replay;
mod surroundings;

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    event::{Envelope, Event},
    fabric::BootNs,
    host::{SysRoot, boot, clock},
    watch::{Bounds, Change, Watch},
};

pub use replay::{Replayed, replay};

use feed::{Fed, Feed};

/// How the agent is to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Stands for `/sys`.
    pub sysfs: SysRoot,
    /// Whether that is the running kernel's: a `--sysfs` folder may be anybody's.
    pub this_host: bool,
    /// How often sysfs is looked at where there are no probes.
    pub poll: Duration,
    /// How often the true words are compared with what events told, where there are.
    pub audit: Duration,
    /// Whether probes are wanted.
    pub probes: bool,
    /// How large the ring between kernel and agent is.
    pub ring_bytes: u32,
    /// From when on a window counts.
    pub bounds: Bounds,
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
    #[error("what was measured cannot be written")]
    Output(#[source] std::io::Error),
}

/// What the agent has to tell.
#[derive(Debug)]
pub enum Told<'a> {
    /// An event, before it is folded in.
    Event(&'a Envelope),
    /// What one came to.
    Change(&'a Change),
    /// Another second has passed: this is how things stand.
    Second(&'a Watch),
}

/// Runs until SIGTERM or SIGINT; hands what there is to tell to `sink`.
pub async fn run(
    settings: &Settings,
    sink: impl FnMut(Told<'_>) -> std::io::Result<()>,
) -> Result<(), Error> {
    let begun = Instant::now();
    let mut stop = Stop::listen().map_err(Error::Signals)?;
    let mut feed = Feed::start(settings).await?;
    let mut agent = Agent {
        watch: Watch::new(boot::id(), settings.bounds),
        sink,
    };
    feed.look(feed.source()).await?;
    let mut ready = false;
    loop {
        let fed = tokio::select! {
            () = stop.requested() => break,
            fed = feed.next() => fed?,
        };
        let events = match fed {
            Fed::Events(events) => events,
            Fed::Second(told_until) => {
                agent.pass_to(told_until)?;
                continue;
            }
        };
        let came = agent.deliver(&events, &mut feed)?;
        if came.looked && !ready {
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
        if came.look_again || (came.looked && agent.watch.unsettled()) {
            feed.look_soon();
        }
    }
    let rest = feed.rest();
    agent.deliver(&rest, &mut feed)?;
    agent.stop()?;
    tracing::info!("stopped");
    Ok(())
}

/// What a delivery came to.
#[derive(Default)]
struct Came {
    looked: bool,
    look_again: bool,
}

struct Agent<S> {
    watch: Watch,
    sink: S,
}

impl<S: FnMut(Told<'_>) -> std::io::Result<()>> Agent<S> {
    /// Folds events in.
    fn deliver(&mut self, events: &[Envelope], feed: &mut Feed) -> Result<Came, Error> {
        let mut came = Came::default();
        for envelope in events {
            tracing::debug!(time = %envelope.time, event = ?envelope.event, "event");
            match envelope.event {
                Event::Snapshot { .. } => came.looked = true,
                Event::Lost { count } => {
                    warn_of_loss(count);
                    came.look_again = true;
                }
                _ => {}
            }
            let mut changes = self.fold(envelope)?;
            for known in feed.known_of(&changes, envelope.time) {
                if let Event::Lost { count } = known.event {
                    warn_of_loss(count);
                    came.look_again = true;
                }
                for later in self.fold(&known)? {
                    if !changes.iter_mut().any(|change| change.take_in(&later)) {
                        changes.push(later);
                    }
                }
            }
            self.tell(&changes)?;
        }
        Ok(came)
    }

    fn fold(&mut self, envelope: &Envelope) -> Result<Vec<Change>, Error> {
        (self.sink)(Told::Event(envelope)).map_err(Error::Output)?;
        Ok(self.watch.apply(envelope))
    }

    fn pass_to(&mut self, now: BootNs) -> Result<(), Error> {
        let changes = self.watch.advance(now);
        self.tell(&changes)?;
        (self.sink)(Told::Second(&self.watch)).map_err(Error::Output)
    }

    fn stop(&mut self) -> Result<(), Error> {
        let changes = self.watch.stop(clock::boot());
        self.tell(&changes)
    }

    fn tell(&mut self, changes: &[Change]) -> Result<(), Error> {
        for change in changes {
            if let Change::Drifted(drift) = change {
                tracing::warn!("events had not told all: {drift} was another, and is corrected");
            }
            (self.sink)(Told::Change(change)).map_err(Error::Output)?;
        }
        Ok(())
    }
}

/// None were lost where nothing was watched for a moment.
fn warn_of_loss(count: u64) {
    if count > 0 {
        tracing::warn!(
            count,
            "events lost: open windows are marked, sysfs is read anew"
        );
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
