//! One namespace: its legs, its head, its window.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    event::ControllerId,
    fabric::{AnaState, BootNs, Nsid, usable},
};

use super::{
    Bounds, CauseKind, Change, DoubleOptimized, LegChange, Moment, NamespaceKey, Severity, Window,
    context::Context, freeze::Freezes, window::Because,
};

/// How long after its end more may become known of a window.
const KNOWN_LATE: Duration = Duration::from_secs(2);

/// A leg as the namespace last knew it.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) usable: bool,
    name: String,
}

/// The multipath disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadDisk {
    /// Nothing was heard of it.
    Unknown,
    /// It is there; it may outlive its last leg and hold I/O meanwhile (`delayed_removal_secs`).
    There { outlives: bool },
    /// It has gone.
    Gone,
}

#[derive(Debug)]
pub(super) struct Namespace {
    pub(super) nsid: Nsid,
    pub(super) ever_usable: bool,
    pub(super) legs: BTreeMap<ControllerId, Leg>,
    pub(super) head: HeadDisk,
    pub(super) window: Option<Window>,
    closed: Option<Window>,
    pub(super) freezes: Freezes,
    /// Every leg that went since it was last usable was taken away by a process.
    orderly: bool,
    /// Since when no leg is left.
    lost_since: Option<BootNs>,
    double_since: Option<BootNs>,
    /// When I/O last failed over, and when the oldest such I/O had been sent.
    trouble: Option<(BootNs, BootNs)>,
}

impl Namespace {
    pub(super) fn new(nsid: Nsid) -> Self {
        Self {
            nsid,
            ever_usable: false,
            legs: BTreeMap::new(),
            head: HeadDisk::Unknown,
            window: None,
            closed: None,
            freezes: Freezes::default(),
            orderly: true,
            lost_since: None,
            double_since: None,
            trouble: None,
        }
    }

    /// Compares its legs over these controllers with the words, and its window with its legs.
    pub(super) fn judge(
        &mut self,
        context: &Context<'_>,
        key: &NamespaceKey,
        controllers: &[ControllerId],
        because: &Because<'_>,
        at: Moment,
    ) -> Vec<Change> {
        let mut turned = Vec::new();
        for controller in controllers {
            turned.extend(self.compare_leg(context, key, *controller));
        }
        let turned = turned.into_iter().map(|(leg, usable)| LegChange {
            time: at.time,
            leg,
            usable,
            why: because.kind,
        });
        let mut changes = Vec::new();
        if self.legs.values().any(|leg| leg.usable) {
            self.ever_usable = true;
            self.orderly = true;
            self.lost_since = None;
            if let Some(mut window) = self.window.take() {
                turned.for_each(|leg| window.note_leg(leg));
                changes.extend(self.close(context, window, because, at, !at.seen));
            }
        } else if let Some(window) = &mut self.window {
            turned.for_each(|leg| window.note_leg(leg));
            changes.extend(self.worsen(context, at.time));
        } else if self.ever_usable {
            let migration = context.migrations.of(&key.nqn).map(|(id, _)| id.to_owned());
            let mut window = Window::open(
                context.boot_id,
                key,
                self.nsid,
                at.edge(because.cause()),
                context.unix_ms(at.time),
            );
            window.controllers_steady = because.kind != CauseKind::ControllerState;
            window.truncated_begin = !at.seen;
            window.migration = migration;
            window.trouble_ns = self.trouble_before(at.time);
            turned.for_each(|leg| window.note_leg(leg));
            self.window = Some(window);
            self.worsen(context, at.time);
            changes.extend(self.window.clone().map(Change::Opened));
        }
        changes.extend(self.watch_double(context, key, at.time));
        changes
    }

    /// Ends a window that was taken out.
    pub(super) fn close(
        &mut self,
        context: &Context<'_>,
        mut window: Window,
        because: &Because<'_>,
        at: Moment,
        truncated: bool,
    ) -> Vec<Change> {
        window.close(at.edge(because.cause()), truncated, context.bounds);
        let freeze = self.freezes.window(&window, context.bounds);
        self.closed = Some(window.clone());
        let mut changes: Vec<Change> = freeze.into_iter().map(Change::Froze).collect();
        changes.push(Change::Closed(window));
        changes
    }

    /// Its disk has gone: the window ends there if a process took the paths away and nobody missed them.
    pub(super) fn lose_head(
        &mut self,
        context: &Context<'_>,
        held: Option<bool>,
        at: Moment,
    ) -> Vec<Change> {
        self.head = HeadDisk::Gone;
        let Some(window) = &self.window else {
            return Vec::new();
        };
        let failed = window.failed.is_some_and(|count| count > 0);
        // A source that cannot tell whether it is held leaves the I/O as witness.
        let waited = window.requeued.is_some_and(|count| count > 0);
        let held = held.unwrap_or(waited);
        if self.legs.is_empty() && self.orderly && !failed && !held {
            let because = Because::of_nobody(CauseKind::Removed);
            self.ever_usable = false;
            let window = self.window.take();
            return window
                .map(|window| self.close(context, window, &because, at, false))
                .unwrap_or_default();
        }
        self.worsen(context, at.time)
    }

    /// Brings the window up to what the kernel does with I/O now.
    pub(super) fn worsen(&mut self, context: &Context<'_>, time: BootNs) -> Vec<Change> {
        let severity = self.severity(context);
        if severity == Severity::Lost {
            self.lost_since.get_or_insert(time);
        }
        let Some(window) = &mut self.window else {
            return Vec::new();
        };
        let worse = window.worsen(severity, time);
        worse
            .then(|| Change::Worsened(window.clone()))
            .into_iter()
            .collect()
    }

    /// Counts for the open window, or for one that has just ended.
    pub(super) fn count(
        &mut self,
        requeued: Option<u64>,
        failed: Option<u64>,
        exact: bool,
        time: BootNs,
    ) -> Option<Change> {
        if let Some(window) = &mut self.window {
            window.count(requeued, failed, exact);
            return None;
        }
        let window = self.closed.as_mut()?;
        window.ended_within(KNOWN_LATE, time).then(|| {
            window.count(requeued, failed, exact);
            Change::Amended(window.clone())
        })
    }

    /// Events are missing: what is open, or has just ended, may be otherwise than it looks.
    pub(super) fn truncate(&mut self, now: BootNs) -> Option<Change> {
        if let Some(window) = &mut self.window {
            window.truncated_begin = true;
            return None;
        }
        let window = self.closed.as_mut()?;
        window.ended_within(KNOWN_LATE, now).then(|| {
            window.truncate();
            Change::Amended(window.clone())
        })
    }

    /// Whether no leg has been left for this long.
    pub(super) fn lost_for(&self, now: BootNs) -> Option<Duration> {
        let since = self.lost_since.filter(|_| self.window.is_some())?;
        Some(now.saturating_since(since))
    }

    /// When time alone changes something about it next.
    pub(super) fn due(&self, bounds: &Bounds) -> Option<BootNs> {
        let lost = self.lost_since.filter(|_| self.window.is_some());
        let given_up = lost.and_then(|since| since.checked_add(bounds.lost_after));
        // A freeze that an open window may belong to waits for its end.
        let freeze = self.freezes.due(bounds).filter(|_| self.window.is_none());
        given_up.into_iter().chain(freeze).min()
    }

    /// Nothing is left to be said about it.
    pub(super) fn is_over(&self) -> bool {
        self.legs.is_empty()
            && self.window.is_none()
            && !self.freezes.waits()
            && !matches!(self.head, HeadDisk::There { .. })
    }

    pub(super) fn note_trouble(&mut self, seen: BootNs, oldest: BootNs) {
        self.trouble = Some(match self.trouble_before(seen) {
            Some(before) => (seen, before.min(oldest)),
            None => (seen, oldest),
        });
        if let Some(window) = &mut self.window {
            let earliest = window.trouble_ns.map_or(oldest, |it| it.min(oldest));
            // What was sent later is the window's own doing.
            if earliest < window.begin_ns {
                window.trouble_ns = Some(earliest);
            }
        }
    }

    /// The oldest I/O that failed over right before: within a second, it is the same trouble.
    fn trouble_before(&self, time: BootNs) -> Option<BootNs> {
        let (seen, oldest) = self.trouble?;
        let near = time.saturating_since(seen) <= Duration::from_secs(1);
        (near && oldest < time).then_some(oldest)
    }

    /// Brings one leg up to the words; tells its name and usability if that changed.
    fn compare_leg(
        &mut self,
        context: &Context<'_>,
        key: &NamespaceKey,
        controller: ControllerId,
    ) -> Option<(String, bool)> {
        let words = context.words;
        if words.key(controller, self.nsid).as_ref() != Some(key) {
            let gone = self.legs.remove(&controller)?;
            self.orderly &= context.histories.deleted_by_process(controller);
            return gone.usable.then_some((gone.name, false));
        }
        let usable = words.usable(controller, self.nsid);
        let name = words.leg_name(controller, self.nsid);
        let leg = Leg {
            usable,
            name: name.clone(),
        };
        let before = self.legs.insert(controller, leg);
        (before.is_some_and(|leg| leg.usable) != usable).then_some((name, usable))
    }

    /// What the kernel does with its I/O, no leg being usable.
    fn severity(&self, context: &Context<'_>) -> Severity {
        let outlives = self.head == HeadDisk::There { outlives: true };
        if self.legs.is_empty() && !outlives {
            return Severity::Lost;
        }
        let controllers = self.legs.keys();
        let controllers = controllers.filter_map(|id| context.words.controller(*id));
        if usable::queues(controllers, outlives) {
            Severity::Queued
        } else {
            Severity::Failing
        }
    }

    /// In a known migration: whether source and target both serve it as their best.
    fn watch_double(
        &mut self,
        context: &Context<'_>,
        key: &NamespaceKey,
        time: BootNs,
    ) -> Option<Change> {
        let double = self.double(context, key);
        let since = match (self.double_since, double) {
            (None, true) => {
                self.double_since = Some(time);
                return Some(Change::DoubleOptimized(self.doubled(key, time, None)));
            }
            (Some(since), false) => since,
            _ => return None,
        };
        self.double_since = None;
        let doubled = self.doubled(key, since, Some(time));
        Some(Change::DoubleOptimized(doubled))
    }

    fn double(&self, context: &Context<'_>, key: &NamespaceKey) -> bool {
        let Some((_, migration)) = context.migrations.of(&key.nqn) else {
            return false;
        };
        let (mut target, mut source) = (false, false);
        for (id, _) in self.legs.iter().filter(|(_, leg)| leg.usable) {
            let ana = context.words.leg(*id, self.nsid).map(|leg| leg.state.ana);
            let endpoint = context.words.track(*id).and_then(|it| it.endpoint.as_ref());
            if let (Some(Some(AnaState::Optimized)), Some(endpoint)) = (ana, endpoint) {
                let of_target = migration.targets.iter().any(|it| it.covers(endpoint));
                target |= of_target;
                source |= !of_target;
            }
        }
        target && source
    }

    fn doubled(&self, key: &NamespaceKey, since: BootNs, until: Option<BootNs>) -> DoubleOptimized {
        DoubleOptimized {
            nqn: key.nqn.clone(),
            nsid: self.nsid,
            begin_ns: since,
            end_ns: until,
        }
    }

    /// Since when source and target both serve it.
    pub(super) fn double_since(&self) -> Option<BootNs> {
        self.double_since
    }
}
