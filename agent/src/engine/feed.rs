//! What the loop waits for: the probes' events or the next look at sysfs, uevents, links, the clock; in the order of
//! their times.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, sleep_until};

use crate::{
    event::{Envelope, Event, Source},
    fabric::{BootNs, Host},
    host::{
        clock,
        sysfs::{Detail, Scanner},
    },
    probe::{
        self, AttachReport, Attached, Differences, Order, ProbeState, Programs, Reader, Uevent,
    },
    watch::Change,
};

use super::{
    Error, Settings,
    io::IoCounts,
    surroundings::{Sign, Surroundings},
};

/// How long events are left in the ordering buffer before it is looked at again.
const ORDER_TICK: Duration = Duration::from_millis(5);
/// How often the boot clock is paired with wall time, which can be set meanwhile.
const WALL_EVERY: Duration = Duration::from_secs(60);
/// How often it is asked what the kernel could not tell.
const LOSSES_EVERY: Duration = Duration::from_secs(5);
/// Events of the time in between may still come.
const BEHIND: Duration = Duration::from_secs(1);
/// Looks out of turn are not more frequent.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(super) struct Feed {
    settings: Settings,
    scanner: Arc<Scanner>,
    origin: Origin,
    order: Order,
    surroundings: Surroundings,
    io: IoCounts,
    wall: Interval,
    second: Interval,
    look_due: Option<Instant>,
}

enum Origin {
    Probes(Box<Probes>),
    Looks {
        differences: Differences,
        timer: Interval,
    },
}

struct Probes {
    reader: Reader,
    report: AttachReport,
    /// Dropping them takes them out of the kernel.
    programs: Programs,
    audit: Interval,
    losses: Interval,
    /// Records that are missing in the numbers that came through.
    gaps: Arc<AtomicU64>,
    /// Records that found the ring full and that no gap has told yet.
    dropped_unseen: u64,
}

/// What ended a wait.
enum Woken {
    Events(Vec<Envelope>),
    LookDue(Source),
    LossesDue,
    Sign(Box<Sign>),
    WallDue,
    SecondPassed,
    OrderDue,
}

/// What a wait brought.
pub(super) enum Fed {
    /// Events, in the order of their times; there may be none.
    Events(Vec<Envelope>),
    /// Another second has passed; everything until then has been told.
    Second(BootNs),
}

impl Feed {
    /// Attaches the probes, or says in one line why not and what works all the same.
    pub(super) async fn start(settings: &Settings) -> Result<Self, Error> {
        let now = Instant::now();
        let scanner = Scanner::new(settings.sysfs.clone()).with_detail(Detail::Everything);
        let scanner = Arc::new(scanner);
        let mut order = Order::default();
        // Before the first look: what is dark already began then at the latest, and is told in wall time too.
        order.push(wall());
        Ok(Self {
            origin: Origin::start(settings)?,
            settings: settings.clone(),
            scanner,
            order,
            surroundings: Surroundings::listen(settings.this_host).await,
            io: IoCounts::default(),
            wall: every(WALL_EVERY, now + WALL_EVERY),
            second: every(Duration::from_secs(1), now + Duration::from_secs(1)),
            look_due: None,
        })
    }

    pub(super) fn source(&self) -> Source {
        match self.origin {
            Origin::Probes(_) => Source::Bpf,
            Origin::Looks { .. } => Source::Poll,
        }
    }

    /// How many probes fire, of how many.
    pub(super) fn probes(&self) -> (usize, usize) {
        match &self.origin {
            Origin::Probes(probes) => (probes.report.attached(), probes.report.wanted()),
            Origin::Looks { .. } => (0, probe::PROBES.len()),
        }
    }

    /// A look out of turn: something may have been missed.
    pub(super) fn look_soon(&mut self) {
        self.look_due
            .get_or_insert_with(|| Instant::now() + LOOK_AGAIN);
    }

    /// Looks at everything. What it shows takes its place among the events by the time at which it ended, and says when
    /// it began: what happened in between may show or not.
    pub(super) async fn look(&mut self, source: Source) -> Result<(), Error> {
        self.look_due = None;
        let begun = clock::boot();
        let host = scan(&self.scanner).await?;
        self.io.note_heads(&host);
        match &mut self.origin {
            Origin::Probes(_) => self.order.push(Envelope {
                time: clock::boot(),
                error_ns: 0,
                source: Source::Bpf,
                event: Event::Snapshot {
                    host: Box::new(host),
                    began: Some(begun),
                },
            }),
            Origin::Looks { differences, .. } => {
                let events = differences.look(host, begun, source);
                events.into_iter().for_each(|event| self.order.push(event));
            }
        }
        Ok(())
    }

    /// Waits for something to happen.
    pub(super) async fn next(&mut self) -> Result<Fed, Error> {
        let waiting = !self.order.is_empty();
        let look_due = self.look_due;
        let woken = tokio::select! {
            woken = self.origin.woken() => woken?,
            sign = self.surroundings.next() => Woken::Sign(Box::new(sign)),
            _ = self.wall.tick() => Woken::WallDue,
            _ = self.second.tick() => Woken::SecondPassed,
            () = sleep(ORDER_TICK), if waiting => Woken::OrderDue,
            () = at(look_due), if look_due.is_some() => Woken::LookDue(self.source()),
        };
        match woken {
            Woken::Events(events) => {
                for event in events {
                    self.push(event).await;
                }
            }
            Woken::LookDue(source) => self.look(source).await?,
            Woken::LossesDue => {
                let lost = self.losses().map(told);
                lost.into_iter().for_each(|event| self.order.push(event));
            }
            Woken::Sign(sign) => self.follow(*sign).await?,
            Woken::WallDue => self.order.push(wall()),
            Woken::SecondPassed => {
                while let Some(events) = self.origin.waiting() {
                    for event in events {
                        self.push(event).await;
                    }
                }
                return Ok(Fed::Second(self.told_until()));
            }
            Woken::OrderDue => {}
        }
        let now = clock::boot();
        let events = std::iter::from_fn(|| self.order.pop(now)).collect();
        Ok(Fed::Events(events))
    }

    /// What is known of windows as they open and close: I/O that was held and failed, events that were missed.
    pub(super) fn known_of(&mut self, changes: &[Change], time: BootNs) -> Vec<Envelope> {
        let mut known = Vec::new();
        for change in changes {
            let programs = match &mut self.origin {
                Origin::Probes(probes) => Some(&mut probes.programs),
                Origin::Looks { .. } => None,
            };
            known.extend(self.io.follow(change, programs, &self.settings.sysfs));
        }
        let at_an_end = |change| matches!(change, &Change::Opened(_) | &Change::Closed(_));
        if changes.iter().any(at_an_end) {
            // What was missed may have been of these very windows.
            known.extend(self.losses());
        }
        let told = |event| Envelope {
            time,
            ..told(event)
        };
        known.into_iter().map(told).collect()
    }

    /// No event before this is still to come, as far as can be known.
    fn told_until(&self) -> BootNs {
        let behind = clock::boot().checked_sub(BEHIND).unwrap_or(BootNs::ZERO);
        self.order
            .earliest()
            .map_or(behind, |waits| waits.min(behind))
    }

    /// What still waits for its turn.
    pub(super) fn rest(&mut self) -> Vec<Envelope> {
        while let Some(events) = self.origin.waiting() {
            events.into_iter().for_each(|event| self.order.push(event));
        }
        std::iter::from_fn(|| self.order.pop_any()).collect()
    }

    /// An event gets the name of the interface that its controller's connection goes through.
    async fn push(&mut self, mut envelope: Envelope) {
        if let Event::ControllerAdded {
            endpoint: Some(endpoint),
            interface: interface @ None,
            ..
        } = &mut envelope.event
        {
            *interface = self.surroundings.interface_of(endpoint).await;
        }
        self.order.push(envelope);
    }

    async fn follow(&mut self, sign: Sign) -> Result<(), Error> {
        match sign {
            Sign::Event(envelope) => self.order.push(envelope),
            Sign::Uevent(uevent) => self.follow_uevent(uevent).await?,
        }
        Ok(())
    }

    async fn follow_uevent(&mut self, uevent: Uevent) -> Result<(), Error> {
        if let Uevent::Module { name, change } = &uevent {
            if *change == probe::Presence::Added {
                self.module_came(name);
            }
            return Ok(());
        }
        match self.origin {
            // The probes tell it, but for a size that has changed.
            Origin::Probes(_) => {
                let resized = matches!(
                    uevent,
                    Uevent::Overflow
                        | Uevent::Head {
                            change: probe::HeadChange::Resized,
                            ..
                        }
                );
                if resized {
                    self.look_soon();
                }
                Ok(())
            }
            Origin::Looks { .. } => self.look(Source::Uevent).await,
        }
    }

    /// The driver's own module takes its probes with it when it goes; the kernel does not say so. Of one that comes later
    /// only what was missing is attached, as long as that tells all.
    fn module_came(&mut self, module: &str) {
        if !self.settings.probes || !module.starts_with("nvme") {
            return;
        }
        let again = match &mut self.origin {
            Origin::Looks { .. } => module == "nvme_core",
            Origin::Probes(probes) => {
                let lacking = |report: &AttachReport| report.attached() < report.wanted();
                match module {
                    "nvme_core" => true,
                    // What its reconnect decision is given is read with the types, before the programs are loaded.
                    "nvme_fabrics" => lacking(&probes.report),
                    _ => {
                        probes.programs.attach_missing(&mut probes.report);
                        false
                    }
                }
            }
        };
        if again {
            self.attach_again(module);
        }
    }

    fn attach_again(&mut self, module: &str) {
        // The old ones are dead; without them there is room for the new.
        self.origin = Origin::looking(&self.settings);
        match Origin::start(&self.settings) {
            Ok(origin) => {
                self.origin = origin;
                let (attached, probes) = self.probes();
                tracing::info!(module, attached, probes, "a module came: probes attached");
                // Not watched between the module's coming and now.
                self.order.push(told(Event::Lost { count: 0 }));
                self.look_soon();
            }
            Err(error) => {
                let reason = crate::error_chain(&error);
                tracing::error!(module, "probes cannot be attached again: {reason}");
            }
        }
    }

    /// What the kernel skipped, and what no gap has told: nothing may have come through since.
    fn losses(&mut self) -> Option<Event> {
        let Origin::Probes(probes) = &mut self.origin else {
            return None;
        };
        let skipped = probes.programs.skipped().unwrap_or_else(|error| {
            tracing::debug!(%error, "skipped runs cannot be counted");
            0
        });
        let dropped = probes.programs.dropped().unwrap_or(0);
        let unseen = dropped.saturating_sub(probes.gaps.load(Ordering::Relaxed));
        let count = skipped + unseen.saturating_sub(probes.dropped_unseen);
        probes.dropped_unseen = unseen;
        (count > 0).then_some(Event::Lost { count })
    }
}

impl Origin {
    fn start(settings: &Settings) -> Result<Self, Error> {
        let now = Instant::now();
        let Some(Attached {
            ring,
            report,
            programs,
        }) = attach(settings)
        else {
            return Ok(Self::looking(settings));
        };
        let gaps = ring.gaps();
        Ok(Self::Probes(Box::new(Probes {
            reader: Reader::start(ring).map_err(Error::Reader)?,
            report,
            programs,
            audit: every(settings.audit, now + settings.audit),
            losses: every(LOSSES_EVERY, now + LOSSES_EVERY),
            gaps,
            dropped_unseen: 0,
        })))
    }

    fn looking(settings: &Settings) -> Self {
        Self::Looks {
            differences: Differences::default(),
            timer: every(settings.poll, Instant::now() + settings.poll),
        }
    }

    /// Events that are there already.
    fn waiting(&mut self) -> Option<Vec<Envelope>> {
        match self {
            Self::Probes(probes) => probes.reader.try_next(),
            Self::Looks { .. } => None,
        }
    }

    async fn woken(&mut self) -> Result<Woken, Error> {
        match self {
            Self::Probes(probes) => tokio::select! {
                events = probes.reader.next() => events.map(Woken::Events).ok_or(Error::ReaderEnded),
                _ = probes.audit.tick() => Ok(Woken::LookDue(Source::Bpf)),
                _ = probes.losses.tick() => Ok(Woken::LossesDue),
            },
            Self::Looks { timer, .. } => {
                timer.tick().await;
                Ok(Woken::LookDue(Source::Poll))
            }
        }
    }
}

/// The probes, or one line on why there are none.
fn attach(settings: &Settings) -> Option<Attached> {
    let reason = if settings.probes {
        match probe::attach(settings.ring_bytes) {
            Ok(attached) => {
                warn_of_missing(&attached);
                return Some(attached);
            }
            Err(unavailable) => crate::error_chain(&unavailable),
        }
    } else if settings.this_host {
        "asked to do without".to_owned()
    } else {
        "the tree given by --sysfs is not the running kernel's".to_owned()
    };
    let poll = settings.poll;
    tracing::warn!("no probes: {reason}; windows are measured by a look at sysfs every {poll:?}");
    None
}

fn warn_of_missing(attached: &Attached) {
    for (probe, state) in &attached.report.probes {
        if let ProbeState::Missing(reason) = state {
            let (function, tells) = (probe.function(), probe.tells);
            match probe.otherwise {
                Some(otherwise) => tracing::debug!(
                    function,
                    "probe not attached: {reason}; {tells} are told by {otherwise}"
                ),
                None => tracing::warn!(
                    function,
                    "probe not attached: {reason}; without it: no {tells}"
                ),
            }
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

fn told(event: Event) -> Envelope {
    Envelope {
        time: clock::boot(),
        error_ns: 0,
        source: Source::Bpf,
        event,
    }
}

fn wall() -> Envelope {
    told(Event::Wall {
        unix_ns: clock::wall(),
    })
}

async fn at(when: Option<Instant>) {
    if let Some(when) = when {
        sleep_until(when).await;
    }
}

/// Ticks that were missed are not made up for.
fn every(period: Duration, first: Instant) -> Interval {
    let mut interval = interval_at(first, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
