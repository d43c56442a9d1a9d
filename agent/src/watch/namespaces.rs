//! Namespaces and their windows.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    event::{ControllerId, Look},
    fabric::{BootNs, Nsid, UnixNs, usable},
};

use super::{
    Cause, CauseKind, Change, LegChange, Moment, NamespaceKey, Severity, Window, words::Words,
};

/// A leg as the namespace last knew it.
#[derive(Debug)]
struct Leg {
    usable: bool,
    name: String,
}

#[derive(Debug)]
struct Namespace {
    nsid: Nsid,
    ever_usable: bool,
    legs: BTreeMap<ControllerId, Leg>,
    window: Option<Window>,
}

#[derive(Debug)]
pub(super) struct Namespaces {
    boot_id: String,
    wall: Option<(BootNs, UnixNs)>,
    all: BTreeMap<NamespaceKey, Namespace>,
    /// Which namespace a leg leads to; a leg that has gone stays until its namespace has been judged.
    by_leg: BTreeMap<(ControllerId, Nsid), NamespaceKey>,
}

impl Namespaces {
    pub(super) fn new(boot_id: String) -> Self {
        Self {
            boot_id,
            wall: None,
            all: BTreeMap::new(),
            by_leg: BTreeMap::new(),
        }
    }

    pub(super) fn set_wall(&mut self, time: BootNs, unix_ns: UnixNs) {
        self.wall = Some((time, unix_ns));
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &Window> {
        self.all
            .values()
            .filter_map(|namespace| namespace.window.as_ref())
    }

    /// Events are missing: whatever is open may have closed and opened again meanwhile.
    pub(super) fn truncate_open(&mut self) {
        for window in self
            .all
            .values_mut()
            .filter_map(|namespace| namespace.window.as_mut())
        {
            window.truncated_begin = true;
        }
    }

    /// After a look at everything: every namespace is judged anew. One that has a head has been usable, or it would
    /// have none.
    pub(super) fn seed(&mut self, words: &Words, look: &Look, at: Moment) -> Vec<Change> {
        let mut legs: BTreeMap<NamespaceKey, Vec<ControllerId>> = BTreeMap::new();
        for ((id, _), key) in &self.by_leg {
            legs.entry(key.clone()).or_default().push(*id);
        }
        let mut with_head: BTreeSet<NamespaceKey> = BTreeSet::new();
        for ((id, nsid), leg) in &look.legs {
            if let Some(key) = words.key(*id, *nsid) {
                self.adopt(&key, *id, *nsid);
                if leg.has_head {
                    with_head.insert(key.clone());
                }
                legs.entry(key).or_default().push(*id);
            }
        }
        let cause = Cause {
            kind: CauseKind::Unknown,
            controller: None,
            endpoint: None,
        };
        let mut changes = Vec::new();
        for (key, controllers) in legs {
            let Some(namespace) = self.all.get_mut(&key) else {
                continue;
            };
            let first_look = !namespace.ever_usable && namespace.legs.is_empty();
            if with_head.contains(&key) {
                namespace.ever_usable = true;
            }
            let opened = self.judge_one(words, &key, &controllers, &cause, at);
            changes.extend(opened.map(|change| match change {
                // Dark with a head at the first look: it began before.
                Change::Opened(mut window) if first_look => {
                    window.truncated_begin = true;
                    if let Some(namespace) = self.all.get_mut(&key) {
                        namespace.window = Some(window.clone());
                    }
                    Change::Opened(window)
                }
                other => other,
            }));
        }
        changes
    }

    /// Judges the namespaces that `controller` has or had legs to, all or those of `nsids`.
    pub(super) fn judge(
        &mut self,
        words: &Words,
        controller: ControllerId,
        nsids: Option<&[Nsid]>,
        cause: &Cause,
        at: Moment,
    ) -> Vec<Change> {
        for nsid in nsids.unwrap_or_default() {
            if let Some(key) = words.key(controller, *nsid) {
                self.adopt(&key, controller, *nsid);
            }
        }
        let of_controller = (controller, Nsid(0))..=(controller, Nsid(u32::MAX));
        let keys: Vec<NamespaceKey> = self
            .by_leg
            .range(of_controller)
            .filter(|((_, nsid), _)| nsids.is_none_or(|nsids| nsids.contains(nsid)))
            .map(|(_, key)| key.clone())
            .collect();
        let steady = cause.kind != CauseKind::ControllerState;
        let mut changes = Vec::new();
        for key in keys {
            if let Some(window) = self.all.get_mut(&key).and_then(|it| it.window.as_mut()) {
                window.controllers_steady &= steady;
            }
            changes.extend(self.judge_one(words, &key, &[controller], cause, at));
        }
        changes
    }

    /// Nothing is watched any longer.
    pub(super) fn close_all(&mut self, at: Moment) -> Vec<Change> {
        let windows = self
            .all
            .values_mut()
            .filter_map(|namespace| namespace.window.take());
        windows
            .map(|mut window| {
                let cause = Cause {
                    kind: CauseKind::Unknown,
                    controller: None,
                    endpoint: None,
                };
                window.close(at.edge(cause), true);
                Change::Closed(window)
            })
            .collect()
    }

    fn adopt(&mut self, key: &NamespaceKey, controller: ControllerId, nsid: Nsid) {
        self.by_leg.insert((controller, nsid), key.clone());
        let fresh = || Namespace {
            nsid,
            ever_usable: false,
            legs: BTreeMap::new(),
            window: None,
        };
        self.all.entry(key.clone()).or_insert_with(fresh).nsid = nsid;
    }

    /// Compares a namespace's legs over these controllers with the words, and its window with its legs.
    fn judge_one(
        &mut self,
        words: &Words,
        key: &NamespaceKey,
        controllers: &[ControllerId],
        cause: &Cause,
        at: Moment,
    ) -> Option<Change> {
        let namespace = self.all.get_mut(key)?;
        let nsid = namespace.nsid;
        let mut changed = Vec::new();
        for controller in controllers {
            let turned = namespace.compare_leg(words, key, *controller);
            let change = |(leg, usable)| LegChange {
                time: at.time,
                leg,
                usable,
                why: cause.kind,
            };
            changed.extend(turned.map(change));
            if !namespace.legs.contains_key(controller) {
                self.by_leg.remove(&(*controller, nsid));
            }
        }
        let usable = namespace.legs.values().any(|leg| leg.usable);
        let mut change = None;
        if usable {
            namespace.ever_usable = true;
            if let Some(mut window) = namespace.window.take() {
                changed.into_iter().for_each(|leg| window.note_leg(leg));
                window.close(at.edge(cause.clone()), false);
                change = Some(Change::Closed(window));
            }
        } else if let Some(window) = &mut namespace.window {
            changed.into_iter().for_each(|leg| window.note_leg(leg));
            let severity = namespace.legs_severity(words);
            if let Some(window) = &mut namespace.window {
                window.worsen(severity, at.time);
            }
        } else if namespace.ever_usable {
            let unix_ms = self
                .wall
                .map(|(boot, unix)| unix_ms_at(at.time, boot, unix));
            let edge = at.edge(cause.clone());
            let mut window = Window::open(&self.boot_id, key, namespace.nsid, edge, unix_ms);
            window.controllers_steady = cause.kind != CauseKind::ControllerState;
            changed.into_iter().for_each(|leg| window.note_leg(leg));
            window.worsen(namespace.legs_severity(words), at.time);
            namespace.window = Some(window.clone());
            change = Some(Change::Opened(window));
        }
        if namespace.legs.is_empty() && namespace.window.is_none() {
            self.all.remove(key);
        }
        change
    }
}

impl Namespace {
    /// Brings one leg up to the words; tells its name and usability if that changed.
    fn compare_leg(
        &mut self,
        words: &Words,
        key: &NamespaceKey,
        controller: ControllerId,
    ) -> Option<(String, bool)> {
        if words.key(controller, self.nsid).as_ref() != Some(key) {
            return self
                .legs
                .remove(&controller)
                .filter(|leg| leg.usable)
                .map(|leg| (leg.name, false));
        }
        let usable = words.usable(controller, self.nsid);
        let name = words.leg_name(controller, self.nsid);
        let before = self.legs.insert(
            controller,
            Leg {
                usable,
                name: name.clone(),
            },
        );
        (before.is_some_and(|leg| leg.usable) != usable).then_some((name, usable))
    }

    /// What the kernel does with this namespace's I/O, no leg being usable.
    fn legs_severity(&self, words: &Words) -> Severity {
        if self.legs.is_empty() {
            return Severity::Lost;
        }
        let controllers = self.legs.keys().filter_map(|id| words.controller(*id));
        // Delayed removal only matters once the last leg has gone; it is the head's, and not seen from here.
        if usable::queues(controllers, false) {
            Severity::Queued
        } else {
            Severity::Failing
        }
    }
}

fn unix_ms_at(time: BootNs, boot: BootNs, unix: UnixNs) -> i64 {
    let nanoseconds = i128::from(unix.0) + i128::from(time.0) - i128::from(boot.0);
    i64::try_from(nanoseconds.div_euclid(1_000_000)).unwrap_or(i64::MAX)
}
