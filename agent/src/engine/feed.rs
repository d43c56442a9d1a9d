//! What the loop waits for: the probes' events, or the next look at sysfs; in the order of their times.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};

use crate::{
    event::{Envelope, Event, Source},
    fabric::Host,
    host::{clock, sysfs::Scanner},
    probe::{self, Attached, Differences, Order, ProbeState, Programs, Reader},
};

use super::{Error, Settings};

/// How long events are left in the ordering buffer before it is looked at again.
const ORDER_TICK: Duration = Duration::from_millis(5);
/// How often the boot clock is paired with wall time, which can be set meanwhile.
const WALL_EVERY: Duration = Duration::from_secs(60);

pub(super) struct Feed {
    scanner: Arc<Scanner>,
    origin: Origin,
    order: Order,
    wall: Interval,
}

enum Origin {
    Probes {
        reader: Reader,
        attached: usize,
        planned: usize,
        /// Dropping them takes them out of the kernel.
        _programs: Box<Programs>,
    },
    Looks {
        differences: Differences,
        timer: Interval,
    },
}

/// What ended a wait.
enum Woken {
    Events(Vec<Envelope>),
    LookDue,
    WallDue,
    OrderDue,
}

impl Feed {
    /// Attaches the probes, or says in one line why not and what works all the same.
    pub(super) fn start(settings: &Settings) -> Result<Self, Error> {
        let origin = match attach(settings) {
            Some(Attached {
                ring,
                report,
                programs,
            }) => Origin::Probes {
                reader: Reader::start(ring).map_err(Error::Reader)?,
                attached: report.attached(),
                planned: report.probes.len(),
                _programs: Box::new(programs),
            },
            None => Origin::Looks {
                differences: Differences::default(),
                timer: every(settings.poll, Instant::now() + settings.poll),
            },
        };
        let scanner = Arc::new(Scanner::new(settings.sysfs.clone()));
        Ok(Self {
            scanner,
            origin,
            order: Order::default(),
            wall: every(WALL_EVERY, Instant::now()),
        })
    }

    pub(super) fn source(&self) -> Source {
        match self.origin {
            Origin::Probes { .. } => Source::Bpf,
            Origin::Looks { .. } => Source::Poll,
        }
    }

    /// How many probes fire, of how many.
    pub(super) fn probes(&self) -> (usize, usize) {
        match self.origin {
            Origin::Probes {
                attached, planned, ..
            } => (attached, planned),
            Origin::Looks { .. } => (0, probe::PROBES.len()),
        }
    }

    /// Looks at everything. What it shows takes its place among the events by the time at which it began: they stand
    /// for what happened while it went on.
    pub(super) async fn look(&mut self) -> Result<(), Error> {
        let begun = clock::boot();
        let host = scan(&self.scanner).await?;
        match &mut self.origin {
            Origin::Probes { .. } => self.order.push(Envelope {
                time: begun,
                error_ns: 0,
                source: Source::Bpf,
                event: Event::Snapshot(Box::new(host)),
            }),
            Origin::Looks { differences, .. } => {
                let events = differences.look(host, begun);
                events.into_iter().for_each(|event| self.order.push(event));
            }
        }
        Ok(())
    }

    /// Waits for events; there may be none when it returns.
    pub(super) async fn next(&mut self) -> Result<Vec<Envelope>, Error> {
        let waiting = !self.order.is_empty();
        let woken = tokio::select! {
            woken = self.origin.woken() => woken?,
            _ = self.wall.tick() => Woken::WallDue,
            () = sleep(ORDER_TICK), if waiting => Woken::OrderDue,
        };
        match woken {
            Woken::Events(events) => events.into_iter().for_each(|event| self.order.push(event)),
            Woken::LookDue => self.look().await?,
            Woken::WallDue => self.order.push(wall_event()),
            Woken::OrderDue => {}
        }
        let now = clock::boot();
        Ok(std::iter::from_fn(|| self.order.pop(now)).collect())
    }

    /// What still waits for its turn.
    pub(super) fn rest(&mut self) -> Vec<Envelope> {
        if let Origin::Probes { reader, .. } = &mut self.origin {
            while let Some(events) = reader.try_next() {
                events.into_iter().for_each(|event| self.order.push(event));
            }
        }
        std::iter::from_fn(|| self.order.pop_any()).collect()
    }
}

impl Origin {
    async fn woken(&mut self) -> Result<Woken, Error> {
        match self {
            Self::Probes { reader, .. } => reader
                .next()
                .await
                .map(Woken::Events)
                .ok_or(Error::ReaderEnded),
            Self::Looks { timer, .. } => {
                timer.tick().await;
                Ok(Woken::LookDue)
            }
        }
    }
}

/// The probes, or one line on why there are none.
fn attach(settings: &Settings) -> Option<Attached> {
    let reason = if settings.probes {
        match probe::attach() {
            Ok(attached) => {
                warn_of_missing(&attached);
                return Some(attached);
            }
            Err(unavailable) => crate::error_chain(&unavailable),
        }
    } else {
        "not wanted here".to_owned()
    };
    let poll = settings.poll;
    tracing::warn!("no probes: {reason}; windows are measured by a look at sysfs every {poll:?}");
    None
}

fn warn_of_missing(attached: &Attached) {
    for (probe, state) in &attached.report.probes {
        if let ProbeState::Missing(reason) = state {
            let (function, tells) = (probe.function, probe.tells);
            tracing::warn!(
                function,
                "probe not attached: {reason}; without it: no {tells}"
            );
        }
    }
}

async fn scan(scanner: &Arc<Scanner>) -> Result<Host, Error> {
    let scanner = Arc::clone(scanner);
    // A look reads files, some of which can block: not on the loop's thread.
    match tokio::task::spawn_blocking(move || scanner.scan()).await {
        Ok(Ok(host)) => Ok(host),
        Ok(Err(error)) => Err(Error::Sysfs(crate::error_chain(&error))),
        Err(error) => Err(Error::Sysfs(error.to_string())),
    }
}

fn wall_event() -> Envelope {
    let event = Event::Wall {
        unix_ns: clock::wall(),
    };
    Envelope {
        time: clock::boot(),
        error_ns: 0,
        source: Source::Bpf,
        event,
    }
}

/// Ticks that were missed are not made up for.
fn every(period: Duration, first: Instant) -> Interval {
    let mut interval = interval_at(first, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
