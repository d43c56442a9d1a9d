//! All namespaces, and which of them a leg leads to.

use std::collections::BTreeMap;

use crate::{
    event::{ControllerId, Look, NamespaceId},
    fabric::{BootNs, Nqn, Nsid},
};

use super::{
    Bounds, CauseKind, Change, Moment, NamespaceKey, Window,
    context::Context,
    namespace::{HeadDisk, Namespace},
    window::Because,
};

#[derive(Debug, Default)]
pub(super) struct Namespaces {
    all: BTreeMap<NamespaceKey, Namespace>,
    /// Which namespace a leg leads to; a leg that has gone stays until its namespace has been judged.
    by_leg: BTreeMap<(ControllerId, Nsid), NamespaceKey>,
}

impl Namespaces {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&NamespaceKey, &Namespace)> {
        self.all.iter()
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &Window> {
        self.all
            .values()
            .filter_map(|namespace| namespace.window.as_ref())
    }

    /// Events are missing: whatever is open may have closed and opened again meanwhile, and what has just ended may
    /// have begun or ended otherwise.
    pub(super) fn truncate(&mut self, now: BootNs) -> Vec<Change> {
        self.all
            .values_mut()
            .filter_map(|namespace| namespace.truncate(now))
            .collect()
    }

    /// A migration of this subsystem has become known: what is open lies in it.
    pub(super) fn note_migration(&mut self, nqn: &Nqn, id: &str) {
        for (key, namespace) in &mut self.all {
            if let Some(window) = namespace.window.as_mut().filter(|_| key.nqn == *nqn) {
                window.migration.get_or_insert_with(|| id.to_owned());
            }
        }
    }

    /// After a look at everything: every namespace is judged anew. One that has a head has been usable, or it would
    /// have none.
    pub(super) fn look(&mut self, context: &Context<'_>, look: &Look, at: Moment) -> Vec<Change> {
        let mut legs: BTreeMap<NamespaceKey, Vec<ControllerId>> = BTreeMap::new();
        for ((id, _), key) in &self.by_leg {
            legs.entry(key.clone()).or_default().push(*id);
        }
        for (id, nsid, _) in context.words.legs() {
            if let Some(key) = context.words.key(id, nsid) {
                self.adopt(&key, id, nsid);
                legs.entry(key).or_default().push(id);
            }
        }
        for head in &look.heads {
            let key = NamespaceKey::new(&head.nqn, head.uuid, head.nsid);
            let fresh = || Namespace::new(head.nsid);
            let namespace = self.all.entry(key.clone()).or_insert_with(fresh);
            if namespace.head != HeadDisk::Gone {
                namespace.ever_usable = true;
                let outlives = head.outlives_legs;
                namespace.head = HeadDisk::There { outlives };
            }
            legs.entry(key).or_default();
        }
        let because = Because::of_nobody(CauseKind::Unknown);
        let mut changes = Vec::new();
        for (key, controllers) in legs {
            changes.extend(self.judge_one(context, &key, &controllers, &because, at));
        }
        changes
    }

    /// Judges the namespaces that `controller` has or had legs to, all or those of `nsids`.
    pub(super) fn judge(
        &mut self,
        context: &Context<'_>,
        controller: ControllerId,
        nsids: Option<&[Nsid]>,
        why: CauseKind,
        at: Moment,
    ) -> Vec<Change> {
        let because = context.because(why, controller, at.time);
        for nsid in nsids.unwrap_or_default() {
            if let Some(key) = context.words.key(controller, *nsid) {
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
        let steady = why != CauseKind::ControllerState;
        let mut changes = Vec::new();
        for key in keys {
            let namespace = self.all.get_mut(&key);
            if let Some(window) = namespace.and_then(|it| it.window.as_mut()) {
                window.controllers_steady &= steady;
            }
            changes.extend(self.judge_one(context, &key, &[controller], &because, at));
        }
        changes
    }

    /// Judges every namespace of a subsystem that is there, by nobody's doing.
    pub(super) fn judge_subsystem(
        &mut self,
        context: &Context<'_>,
        nqn: &Nqn,
        at: Moment,
    ) -> Vec<Change> {
        let keys = self.all.keys().filter(|key| key.nqn == *nqn);
        let keys: Vec<NamespaceKey> = keys.cloned().collect();
        let because = Because::of_nobody(CauseKind::Unknown);
        keys.iter()
            .flat_map(|key| self.judge_one(context, key, &[], &because, at))
            .collect()
    }

    /// Whether a namespace has its disk, as far as events tell: one that was usable got one then.
    pub(super) fn has_head(&self, key: &NamespaceKey) -> Option<bool> {
        let namespace = self.all.get(key)?;
        match namespace.head {
            HeadDisk::There { .. } => Some(true),
            HeadDisk::Gone => Some(false),
            HeadDisk::Unknown => namespace.ever_usable.then_some(true),
        }
    }

    pub(super) fn add_head(&mut self, id: &NamespaceId) {
        let key = NamespaceKey::new(&id.nqn, id.uuid, id.nsid);
        let fresh = || Namespace::new(id.nsid);
        let namespace = self.all.entry(key).or_insert_with(fresh);
        namespace.ever_usable = true;
        namespace.head = HeadDisk::There { outlives: false };
    }

    pub(super) fn lose_head(
        &mut self,
        context: &Context<'_>,
        id: &NamespaceId,
        held: Option<bool>,
        at: Moment,
    ) -> Vec<Change> {
        let Some((key, namespace)) = self.find(id) else {
            return Vec::new();
        };
        let changes = namespace.lose_head(context, held, at);
        if namespace.is_over() {
            self.all.remove(&key);
        }
        changes
    }

    /// The namespace of an event, which may not tell its UUID.
    pub(super) fn find(&mut self, id: &NamespaceId) -> Option<(NamespaceKey, &mut Namespace)> {
        let exact = NamespaceKey::new(&id.nqn, id.uuid, id.nsid);
        let key = if self.all.contains_key(&exact) {
            exact
        } else {
            let same = |(key, namespace): &(&NamespaceKey, &Namespace)| {
                key.nqn == id.nqn && namespace.nsid == id.nsid
            };
            self.all.iter().find(same)?.0.clone()
        };
        let namespace = self.all.get_mut(&key)?;
        Some((key, namespace))
    }

    /// The namespace that a leg leads to.
    pub(super) fn of_leg(&mut self, id: ControllerId, nsid: Nsid) -> Option<&mut Namespace> {
        let key = self.by_leg.get(&(id, nsid))?;
        self.all.get_mut(key)
    }

    /// Time has passed: freezes are over, what was lost is given up.
    pub(super) fn advance(&mut self, context: &Context<'_>, at: Moment) -> Vec<Change> {
        let mut changes = Vec::new();
        self.all.retain(|_, namespace| {
            // A window that is open may be the freeze's next part: its beginning decides.
            let open = namespace.window.as_ref();
            let until = open.map_or(at.time, |window| window.begin_ns.min(at.time));
            let freeze = namespace.freezes.settle(until, context.bounds);
            changes.extend(freeze.map(Change::Froze));
            let lost = namespace.lost_for(at.time);
            if lost.is_some_and(|lost| lost > context.bounds.lost_after)
                && let Some(window) = namespace.window.take()
            {
                let because = Because::of_nobody(CauseKind::Unknown);
                changes.extend(namespace.close(context, window, &because, at, true));
                namespace.ever_usable = false;
                namespace.head = HeadDisk::Gone;
            }
            !namespace.is_over()
        });
        changes
    }

    /// When time alone changes something next.
    pub(super) fn due(&self, bounds: &Bounds) -> BootNs {
        let due = self.all.values().filter_map(|it| it.due(bounds)).min();
        due.unwrap_or(BootNs(u64::MAX))
    }

    /// Nothing is watched any longer.
    pub(super) fn close_all(&mut self, context: &Context<'_>, at: Moment) -> Vec<Change> {
        let mut changes = Vec::new();
        for namespace in self.all.values_mut() {
            if let Some(window) = namespace.window.take() {
                let because = Because::of_nobody(CauseKind::Unknown);
                changes.extend(namespace.close(context, window, &because, at, true));
            }
            let freeze = namespace.freezes.end(context.bounds);
            changes.extend(freeze.map(Change::Froze));
        }
        changes
    }

    /// The freezes whose last window has closed, at the end of what there is to fold.
    pub(super) fn end_freezes(&mut self, context: &Context<'_>) -> Vec<Change> {
        let ended = |namespace: &mut Namespace| namespace.freezes.end(context.bounds);
        let freezes = self.all.values_mut().filter_map(ended);
        freezes.map(Change::Froze).collect()
    }

    fn adopt(&mut self, key: &NamespaceKey, controller: ControllerId, nsid: Nsid) {
        self.by_leg.insert((controller, nsid), key.clone());
        let fresh = || Namespace::new(nsid);
        self.all.entry(key.clone()).or_insert_with(fresh).nsid = nsid;
    }

    fn judge_one(
        &mut self,
        context: &Context<'_>,
        key: &NamespaceKey,
        controllers: &[ControllerId],
        because: &Because<'_>,
        at: Moment,
    ) -> Vec<Change> {
        let Some(namespace) = self.all.get_mut(key) else {
            return Vec::new();
        };
        let changes = namespace.judge(context, key, controllers, because, at);
        for controller in controllers {
            if !namespace.legs.contains_key(controller) {
                self.by_leg.remove(&(*controller, namespace.nsid));
            }
        }
        if namespace.is_over() {
            self.all.remove(key);
        }
        changes
    }
}
