//! What happened to volumes: folds events into the words of controllers and legs, and those into windows, freezes and
//! each controller's history.
//!
//! Owns: the state that events add up to, and when a window opens and closes. A pure function of the events it was
//! given: no I/O, no clock. Does not own: where events come from ([`crate::probe`]), the rule for a usable leg
//! ([`crate::fabric::usable`]), what is wrong with a host ([`crate::diagnose`]).
//!
//! Invariants: the windows of one namespace never overlap; a namespace that was never usable has none; an end that
//! was not seen is marked, never guessed; time never steps back (an event that comes late counts from when it comes,
//! with an error as large as that).

mod bounds;
mod context;
mod drift;
mod freeze;
mod history;
mod host;
mod links;
mod merge;
mod migrations;
mod namespace;
mod namespaces;
mod signs;
mod window;
mod words;

pub use bounds::{Bounds, Rate};
pub use drift::Drift;
pub use freeze::Freeze;
pub use history::{History, rejects};
pub use links::Nearby;
pub use merge::{Merged, merged};
pub use migrations::Migration;
pub use signs::Sign;
pub use window::{
    Above, Cause, CauseKind, Class, LegChange, NamespaceKey, Severity, Window, WindowId,
};

use serde::Serialize;

use crate::{
    event::{ControllerId, ControllerSeen, Envelope, Event, Look, NamespaceId, Source},
    fabric::{AnaState, BootNs, Host, Nqn, Nsid, UnixNs},
};

use context::Context;
use history::Histories;
use links::Links;
use migrations::Migrations;
use namespaces::Namespaces;
use signs::Signs;
use window::Edge;
use words::{LegTrack, Words};

/// What a fold comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A namespace has become dark.
    Opened(Window),
    /// What the kernel does with its I/O has become worse.
    Worsened(Window),
    /// It is usable again, or is not watched any longer.
    Closed(Window),
    /// More has become known of a window that has ended.
    Amended(Window),
    /// A freeze is over.
    Froze(Freeze),
    /// Two copies of a namespace may both serve, or do no longer.
    DoubleOptimized(DoubleOptimized),
    /// The events had not told all; what a look showed was taken over.
    Drifted(Drift),
}

impl Change {
    /// Takes in what has become known of its window since; whether there was anything.
    pub fn take_in(&mut self, later: &Self) -> bool {
        match (self, later) {
            (Self::Closed(window), Self::Amended(amended)) if window.id == amended.id => {
                window.clone_from(amended);
                true
            }
            _ => false,
        }
    }
}

/// A span in which a leg of a migration's source and one of its target were optimized at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoubleOptimized {
    /// Subsystem.
    pub nqn: Nqn,
    /// Namespace.
    pub nsid: Nsid,
    /// Beginning.
    pub begin_ns: BootNs,
    /// End; none as long as it lasts.
    pub end_ns: Option<BootNs>,
}

/// What the control plane wants of a subsystem, as an event told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredState {
    /// Endpoints that are wanted.
    pub published: Vec<crate::fabric::Endpoint>,
    /// Endpoints that others have taken the place of.
    pub superseded: Vec<crate::fabric::Endpoint>,
    /// When it was asked.
    pub fetched_at: UnixNs,
    /// How long that is good for.
    pub max_age: std::time::Duration,
}

/// The folded state.
#[derive(Debug)]
pub struct Watch {
    boot_id: String,
    bounds: Bounds,
    wall: Option<(BootNs, UnixNs)>,
    now: BootNs,
    words: Words,
    namespaces: Namespaces,
    histories: Histories,
    links: Links,
    migrations: Migrations,
    signs: Signs,
    desired: std::collections::BTreeMap<Nqn, DesiredState>,
    last_look: Option<Box<Host>>,
    /// Nothing can drift before the first look, nor right after a loss.
    looked: bool,
    unsettled: bool,
    /// Until then nothing happens by time alone.
    due: BootNs,
}

impl Watch {
    /// Nothing seen yet, in this boot.
    #[must_use]
    pub fn new(boot_id: impl Into<String>, bounds: Bounds) -> Self {
        Self {
            boot_id: boot_id.into(),
            bounds,
            wall: None,
            now: BootNs::ZERO,
            words: Words::default(),
            namespaces: Namespaces::default(),
            histories: Histories::default(),
            links: Links::default(),
            migrations: Migrations::default(),
            signs: Signs::default(),
            desired: std::collections::BTreeMap::new(),
            last_look: None,
            looked: false,
            unsettled: false,
            due: BootNs(u64::MAX),
        }
    }

    /// Folds one event in. Events come in the order of their times, as far as that is known.
    #[must_use]
    pub fn apply(&mut self, envelope: &Envelope) -> Vec<Change> {
        let late = self.now.saturating_since(envelope.time);
        let late_ns = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        let at = Moment {
            time: envelope.time.max(self.now),
            error_ns: envelope.error_ns.saturating_add(late_ns),
            source: envelope.source,
            seen: true,
        };
        let mut changes = self.advance(at.time);
        self.histories.note(&envelope.event, at.time);
        let folded = self.fold(&envelope.event, at, envelope.time);
        folded.iter().for_each(|change| self.note_due(change));
        changes.extend(folded);
        changes
    }

    /// Nothing has happened until now.
    #[must_use]
    pub fn advance(&mut self, now: BootNs) -> Vec<Change> {
        self.now = self.now.max(now);
        if self.now < self.due {
            return Vec::new();
        }
        let at = Moment::passed(self.now);
        let (namespaces, context) = self.split();
        let changes = namespaces.advance(&context, at);
        self.due = self.namespaces.due(&self.bounds);
        changes
    }

    /// A freeze is over, and what is lost is given up, some time after.
    fn note_due(&mut self, change: &Change) {
        let due = match change {
            Change::Closed(window) => window
                .end_ns
                .and_then(|end| end.checked_add(self.bounds.freeze_gap)),
            Change::Opened(window) | Change::Worsened(window)
                if window.severity == Severity::Lost =>
            {
                self.now.checked_add(self.bounds.lost_after)
            }
            _ => None,
        };
        self.due = self.due.min(due.unwrap_or(self.due));
    }

    fn fold(&mut self, event: &Event, at: Moment, told_at: BootNs) -> Vec<Change> {
        match event {
            Event::Snapshot { host, began } => self.look(host, began.unwrap_or(at.time), at),
            Event::ControllerAdded {
                controller,
                nqn,
                endpoint,
                hostnqn,
                cntlid,
                state,
                interface,
            } => {
                let seen = ControllerSeen {
                    nqn: nqn.clone(),
                    endpoint: endpoint.clone(),
                    hostnqn: hostnqn.clone(),
                    cntlid: *cntlid,
                    state: *state,
                };
                let differed =
                    self.words
                        .add_controller(*controller, &seen, interface.as_ref(), at.time);
                self.histories.meet(*controller, *state, at.time);
                let mut changes = self.drifted(differed, Drift::controller(*controller, "state"));
                let at = at.found_out_if(differed);
                changes.extend(self.judge(*controller, None, CauseKind::Unknown, at));
                changes
            }
            Event::ControllerRemoved { controller } => {
                self.words.touch(*controller, at.time);
                self.words.remove_legs(*controller);
                self.signs.forget(*controller, None);
                // It has gone, and is still who its legs went with.
                let changes = self.judge(*controller, None, CauseKind::LegRemoved, at);
                self.words.remove_controller(*controller);
                self.histories.remove(*controller);
                changes
            }
            Event::ControllerState {
                controller,
                old,
                new,
            } => {
                self.words.touch(*controller, at.time);
                self.words.set_state(*controller, *old, *new);
                self.judge(*controller, None, CauseKind::ControllerState, at)
            }
            Event::FailfastExpired { controller } => {
                self.words.touch(*controller, at.time);
                self.words.expire_failfast(*controller);
                self.judge(*controller, None, CauseKind::ControllerState, at)
            }
            Event::Ana {
                controller,
                group,
                state,
                nsids,
                more,
            } => {
                self.words.touch(*controller, at.time);
                for nsid in nsids {
                    self.note_ana(*controller, *nsid, *state, at.time);
                }
                self.words
                    .set_group(*controller, *group, *state, nsids, *more);
                let nsids = (!*more).then_some(nsids.as_slice());
                self.judge(*controller, nsids, CauseKind::AnaLog, at)
            }
            Event::AnaPending { controller, nsid } => {
                self.words.touch(*controller, at.time);
                self.words.set_pending(*controller, *nsid);
                self.judge(*controller, Some(&[*nsid]), CauseKind::AnaError, at)
            }
            Event::LegAdded {
                controller,
                nsid,
                nqn,
                uuid,
                name,
                group,
                state,
            } => {
                let track = LegTrack {
                    uuid: *uuid,
                    name: *name,
                    group: *group,
                    state: *state,
                    since: at.time,
                };
                self.words.add_leg(*controller, *nsid, nqn.as_ref(), track);
                if let Some(words) = self.words.controller(*controller) {
                    let state = words.state;
                    self.histories.meet(*controller, state, at.time);
                }
                self.judge(*controller, Some(&[*nsid]), CauseKind::LegAdded, at)
            }
            Event::LegWords {
                controller,
                nsid,
                state,
            } => {
                let differed = self.words.set_words(*controller, *nsid, *state);
                let mut changes = self.drifted(differed, Drift::leg((*controller, *nsid), "words"));
                let at = at.found_out_if(differed);
                changes.extend(self.judge(*controller, Some(&[*nsid]), CauseKind::Unknown, at));
                changes
            }
            Event::LegReady {
                controller,
                nsid,
                ready,
            } => {
                self.words.touch(*controller, at.time);
                self.words.set_ready(*controller, *nsid, *ready);
                self.judge(*controller, Some(&[*nsid]), CauseKind::NotReady, at)
            }
            Event::LegRemoved { controller, nsid } => {
                self.words.touch(*controller, at.time);
                self.words.remove_leg(*controller, *nsid);
                self.signs.forget(*controller, Some(*nsid));
                self.judge(*controller, Some(&[*nsid]), CauseKind::LegRemoved, at)
            }
            Event::HeadAdded { namespace } => {
                self.namespaces.add_head(namespace);
                Vec::new()
            }
            Event::HeadRemoved { namespace, held } => {
                let (namespaces, context) = self.split();
                namespaces.lose_head(&context, namespace, *held, at)
            }
            Event::Failover {
                controller,
                nsid,
                status,
                count,
                oldest,
            } => {
                let rate = self.bounds.bouncing;
                let leg = (*controller, *nsid);
                self.signs.failed_over(leg, *count, *status, at.time, rate);
                if let (Some(oldest), Some(namespace)) =
                    (oldest, self.namespaces.of_leg(*controller, *nsid))
                {
                    namespace.note_trouble(at.time, *oldest);
                }
                Vec::new()
            }
            Event::Requeued {
                namespace,
                count,
                exact,
            } => self.count(namespace, Some(*count), None, *exact, at.time),
            Event::Failed {
                namespace,
                count,
                exact,
            } => self.count(namespace, None, Some(*count), *exact, at.time),
            Event::Link { ifname, up } => {
                self.links.note(ifname, *up, at.time);
                Vec::new()
            }
            Event::Desired {
                nqn,
                published,
                superseded,
                fetched_at,
                max_age,
            } => {
                let desired = DesiredState {
                    published: published.clone(),
                    superseded: superseded.clone(),
                    fetched_at: *fetched_at,
                    max_age: *max_age,
                };
                self.desired.insert(nqn.clone(), desired);
                Vec::new()
            }
            Event::Migration {
                id,
                phase,
                nqn,
                targets,
            } => {
                self.migrations.note(id, phase, nqn, targets, at.time);
                if self.migrations.of(nqn).is_some_and(|(it, _)| it == id) {
                    self.namespaces.note_migration(nqn, id);
                }
                let (namespaces, context) = self.split();
                namespaces.judge_subsystem(&context, nqn, at)
            }
            Event::Lost { .. } => {
                self.looked = false;
                self.namespaces.truncate(at.time)
            }
            Event::Wall { unix_ns } => {
                // Its own time, however late it comes.
                self.wall = Some((told_at, *unix_ns));
                Vec::new()
            }
            Event::Connect { .. }
            | Event::Reconnect { .. }
            | Event::Delete { .. }
            | Event::Recovery { .. }
            | Event::KeepAliveFailed { .. } => Vec::new(),
        }
    }

    /// A look at everything: where it agrees with what events have told, nothing changes.
    fn look(&mut self, host: &Host, began: BootNs, at: Moment) -> Vec<Change> {
        let look = Look::of(host);
        let reconciled = self.words.reconcile(&look, began);
        self.unsettled = reconciled.unsettled;
        for (id, track) in self.words.controllers() {
            self.histories.meet(id, track.words.state, at.time);
        }
        self.histories.retain(|id| self.words.track(id).is_some());
        let found_out = !reconciled.drifts.is_empty() || !self.looked;
        let mut changes = Vec::new();
        if self.looked {
            changes.extend(reconciled.drifts.into_iter().map(Change::Drifted));
        }
        self.looked = true;
        self.last_look = Some(Box::new(host.clone()));
        let at = at.found_out_if(found_out);
        let (namespaces, context) = self.split();
        changes.extend(namespaces.look(&context, &look, at));
        for (id, _) in self.words.controllers() {
            if self.words.serves(id) {
                self.histories.serves(id);
            }
        }
        changes
    }

    /// Whether the last look left a subsystem as it was because events came in meanwhile: it is to be repeated.
    #[must_use]
    pub fn unsettled(&self) -> bool {
        self.unsettled
    }

    /// The windows that are open now.
    pub fn open(&self) -> impl Iterator<Item = &Window> {
        self.namespaces.open()
    }

    /// Every controller's history.
    pub fn histories(&self) -> impl Iterator<Item = (ControllerId, &History)> {
        self.histories.iter()
    }

    /// One controller's.
    #[must_use]
    pub fn history(&self, id: ControllerId) -> Option<&History> {
        self.histories.get(id)
    }

    /// Migrations in flight, by name.
    pub fn migrations(&self) -> impl Iterator<Item = (&str, &Migration)> {
        self.migrations.in_flight()
    }

    /// What the control plane wants, where events told it.
    pub fn desired(&self) -> impl Iterator<Item = (&Nqn, &DesiredState)> {
        self.desired.iter()
    }

    /// Namespaces that a migration's source and target both serve as their best, and since when.
    pub fn double_optimized(&self) -> impl Iterator<Item = (&NamespaceKey, Nsid, BootNs)> {
        self.namespaces
            .iter()
            .filter_map(|(key, it)| Some((key, it.nsid, it.double_since()?)))
    }

    /// Legs whose ANA state keeps changing.
    #[must_use]
    pub fn flapping(&self) -> Vec<Sign> {
        self.signs.flapping(self.now, self.bounds.flapping)
    }

    /// Legs that are usable by their flags while their I/O fails over and over.
    #[must_use]
    pub fn bouncing(&self) -> Vec<Sign> {
        let usable = |id, nsid| self.words.usable(id, nsid);
        self.signs.bouncing(self.now, self.bounds.bouncing, usable)
    }

    /// The latest time that was told.
    #[must_use]
    pub fn now(&self) -> BootNs {
        self.now
    }

    /// That time in wall time, if the two were paired.
    #[must_use]
    pub fn wall(&self) -> Option<UnixNs> {
        let (boot, unix) = self.wall?;
        let passed = i64::try_from(self.now.saturating_since(boot).as_nanos()).ok()?;
        unix.0.checked_add(passed).map(UnixNs)
    }

    /// The host as events add up to it.
    #[must_use]
    pub fn host(&self) -> Host {
        let has_head = |key: &NamespaceKey| self.namespaces.has_head(key);
        host::host(self.last_look.as_deref(), &self.words, has_head)
    }

    /// Nothing is watched any longer: open windows end here, truncated.
    #[must_use]
    pub fn stop(&mut self, time: BootNs) -> Vec<Change> {
        let mut changes = self.advance(time);
        let at = Moment::passed(self.now);
        let (namespaces, context) = self.split();
        changes.extend(namespaces.close_all(&context, at));
        changes
    }

    /// The last event was told: freezes that only waited for another window are over. Open windows stay open.
    #[must_use]
    pub fn end(&mut self) -> Vec<Change> {
        let (namespaces, context) = self.split();
        namespaces.end_freezes(&context)
    }

    /// Looks again at the namespaces that a controller has or had legs to: all of them, or these.
    fn judge(
        &mut self,
        controller: ControllerId,
        nsids: Option<&[Nsid]>,
        why: CauseKind,
        at: Moment,
    ) -> Vec<Change> {
        let (namespaces, context) = self.split();
        let changes = namespaces.judge(&context, controller, nsids, why, at);
        if self.words.serves(controller) {
            self.histories.serves(controller);
        }
        changes
    }

    fn note_ana(&mut self, id: ControllerId, nsid: Nsid, state: AnaState, time: BootNs) {
        let known = self.words.leg(id, nsid).map(|leg| leg.state.ana);
        if known.is_some_and(|known| known != Some(state)) {
            let rate = self.bounds.flapping;
            self.signs.ana_changed(id, nsid, time, rate);
        }
    }

    fn count(
        &mut self,
        id: &NamespaceId,
        requeued: Option<u64>,
        failed: Option<u64>,
        exact: bool,
        time: BootNs,
    ) -> Vec<Change> {
        let found = self.namespaces.find(id);
        let amended =
            found.and_then(|(_, namespace)| namespace.count(requeued, failed, exact, time));
        amended.into_iter().collect()
    }

    fn drifted(&self, differed: bool, drift: Drift) -> Vec<Change> {
        let told = differed && self.looked;
        told.then_some(Change::Drifted(drift)).into_iter().collect()
    }

    fn split(&mut self) -> (&mut Namespaces, Context<'_>) {
        let context = Context {
            boot_id: &self.boot_id,
            wall: self.wall,
            words: &self.words,
            histories: &self.histories,
            migrations: &self.migrations,
            links: &self.links,
            bounds: &self.bounds,
        };
        (&mut self.namespaces, context)
    }
}

/// When, and how exactly.
#[derive(Debug, Clone, Copy)]
struct Moment {
    time: BootNs,
    error_ns: u64,
    source: Source,
    /// It happened then; otherwise it was found out then.
    seen: bool,
}

impl Moment {
    /// Time alone has come to this.
    const fn passed(time: BootNs) -> Self {
        Self {
            time,
            error_ns: 0,
            source: Source::Bpf,
            seen: true,
        }
    }

    fn found_out_if(self, found_out: bool) -> Self {
        Self {
            seen: self.seen && !found_out,
            ..self
        }
    }

    fn edge(self, cause: Cause) -> Edge {
        Edge {
            time: self.time,
            error_ns: self.error_ns,
            source: self.source,
            cause,
        }
    }
}

#[cfg(test)]
mod tests;
