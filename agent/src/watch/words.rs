//! The kernel's words as events add up to them: each controller's state, each leg's flags.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    event::{ControllerId, ControllerSeen, LegState, Look},
    fabric::{
        AnaGroup, AnaState, BootNs, Cntlid, ControllerState, ControllerWords, DiskName, Endpoint,
        LegWords, Nqn, Nsid, Uuid, usable,
    },
};

use super::{Drift, NamespaceKey};

/// A look this soon after an event may show the words that the event was about to replace.
const SETTLING: Duration = Duration::from_millis(5);

#[derive(Debug, Clone)]
pub(super) struct ControllerTrack {
    pub(super) nqn: Nqn,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) hostnqn: Option<Nqn>,
    pub(super) cntlid: Option<Cntlid>,
    pub(super) interface: Option<String>,
    pub(super) words: ControllerWords,
    /// First heard of.
    pub(super) since: BootNs,
}

#[derive(Debug, Clone)]
pub(super) struct LegTrack {
    pub(super) uuid: Option<Uuid>,
    pub(super) name: Option<DiskName>,
    pub(super) group: Option<AnaGroup>,
    pub(super) state: LegState,
    /// First heard of.
    pub(super) since: BootNs,
}

#[derive(Debug, Default)]
pub(super) struct Words {
    controllers: BTreeMap<ControllerId, ControllerTrack>,
    legs: BTreeMap<(ControllerId, Nsid), LegTrack>,
    /// Last event of each subsystem that was no look.
    last_event: BTreeMap<Nqn, BootNs>,
}

/// What a look came to.
#[derive(Debug, Default)]
pub(super) struct Reconciled {
    /// What it corrected.
    pub(super) drifts: Vec<Drift>,
    /// Some subsystem was left as it was: events of it came in meanwhile.
    pub(super) unsettled: bool,
}

impl Words {
    /// Compares what was seen with what is known. What is new is taken in; where the two differ the look is right,
    /// except in what it cannot show (pending, ready, deleting from live, fast-fail) and in subsystems of which events
    /// came in since it `began`.
    pub(super) fn reconcile(&mut self, look: &Look, began: BootNs) -> Reconciled {
        let mut done = Reconciled::default();
        let from = began.checked_sub(SETTLING).unwrap_or(BootNs::ZERO);
        for (id, seen) in &look.controllers {
            if self.busy(&seen.nqn, from) {
                done.unsettled = true;
            } else {
                let drift = self.reconcile_controller(*id, seen, began);
                done.drifts.extend(drift);
            }
        }
        for (key, seen) in &look.legs {
            let nqn = self.controllers.get(&key.0).map(|track| &track.nqn);
            if nqn.is_none_or(|nqn| self.busy(nqn, from)) {
                continue;
            }
            match self.legs.get_mut(key) {
                Some(leg) => {
                    leg.name = Some(seen.name);
                    leg.uuid = leg.uuid.or(seen.uuid);
                    if leg.state.ana != seen.state.ana && !leg.state.pending {
                        done.drifts.push(Drift::leg(*key, "ANA state"));
                        leg.state.ana = seen.state.ana;
                    }
                    leg.group = seen.group;
                }
                None => {
                    let track = LegTrack {
                        uuid: seen.uuid,
                        name: Some(seen.name),
                        group: seen.group,
                        state: seen.state,
                        since: began,
                    };
                    self.legs.insert(*key, track);
                    done.drifts.push(Drift::leg(*key, "existence"));
                }
            }
        }
        self.drop_unseen(look, from, &mut done);
        done
    }

    fn reconcile_controller(
        &mut self,
        id: ControllerId,
        seen: &ControllerSeen,
        began: BootNs,
    ) -> Option<Drift> {
        let Some(track) = self.controllers.get_mut(&id) else {
            self.controllers
                .insert(id, ControllerTrack::of(seen, began));
            return Some(Drift::controller(id, "existence"));
        };
        if track.endpoint.is_none() {
            track.endpoint.clone_from(&seen.endpoint);
        }
        if track.hostnqn.is_none() {
            track.hostnqn.clone_from(&seen.hostnqn);
        }
        track.cntlid = seen.cntlid.or(track.cntlid);
        let differs = track.words.state != seen.state;
        if differs {
            track.words = in_state(seen.state);
        }
        differs.then(|| Drift::controller(id, "state"))
    }

    /// Forgets what a look did not show and could have.
    fn drop_unseen(&mut self, look: &Look, from: BootNs, done: &mut Reconciled) {
        let gone: Vec<ControllerId> = self
            .controllers
            .iter()
            .filter(|(id, track)| {
                !look.controllers.contains_key(id)
                    && track.since < from
                    && !look.unread.contains(&id.name.to_string())
                    && !self.busy(&track.nqn, from)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            self.remove_controller(id);
            done.drifts.push(Drift::controller(id, "existence"));
        }
        let unseen: Vec<(ControllerId, Nsid)> = self
            .legs
            .iter()
            .filter(|(key, leg)| {
                let unread = |name: String| look.unread.contains(&name);
                let nqn = self.controllers.get(&key.0).map(|track| &track.nqn);
                !look.legs.contains_key(key)
                    && leg.since < from
                    && !unread(key.0.name.to_string())
                    && !leg.name.is_some_and(|name| unread(name.to_string()))
                    && nqn.is_some_and(|nqn| !self.busy(nqn, from))
            })
            .map(|(key, _)| *key)
            .collect();
        for key in unseen {
            self.legs.remove(&key);
            done.drifts.push(Drift::leg(key, "existence"));
        }
    }

    fn busy(&self, nqn: &Nqn, from: BootNs) -> bool {
        self.last_event.get(nqn).is_some_and(|last| *last >= from)
    }

    /// An event of this controller, not a look, has come.
    pub(super) fn touch(&mut self, id: ControllerId, time: BootNs) {
        if let Some(track) = self.controllers.get(&id) {
            self.last_event.insert(track.nqn.clone(), time);
        }
    }

    /// Takes in who a controller is. Tells whether its state turned out to be another than was known.
    pub(super) fn add_controller(
        &mut self,
        id: ControllerId,
        seen: &ControllerSeen,
        interface: Option<&String>,
        time: BootNs,
    ) -> bool {
        let settling = self.busy(
            &seen.nqn,
            time.checked_sub(SETTLING).unwrap_or(BootNs::ZERO),
        );
        let track = self
            .controllers
            .entry(id)
            .or_insert_with(|| ControllerTrack::of(seen, time));
        track.nqn.clone_from(&seen.nqn);
        if seen.endpoint.is_some() {
            track.endpoint.clone_from(&seen.endpoint);
        }
        if seen.hostnqn.is_some() {
            track.hostnqn.clone_from(&seen.hostnqn);
        }
        if let Some(interface) = interface {
            track.interface = Some(interface.clone());
        }
        track.cntlid = seen.cntlid.or(track.cntlid);
        // What is about to be stored may not have been when this was read.
        let differs = !settling && track.words.state != seen.state;
        if differs {
            track.words = in_state(seen.state);
        }
        differs
    }

    pub(super) fn remove_legs(&mut self, id: ControllerId) {
        self.legs.retain(|(controller, _), _| *controller != id);
    }

    pub(super) fn remove_controller(&mut self, id: ControllerId) {
        self.controllers.remove(&id);
        self.remove_legs(id);
    }

    pub(super) fn set_state(
        &mut self,
        id: ControllerId,
        old: ControllerState,
        new: ControllerState,
    ) {
        let Some(track) = self.controllers.get_mut(&id) else {
            return;
        };
        let from_live = old == ControllerState::Live && new == ControllerState::Deleting;
        track.words = ControllerWords {
            state: new,
            deleting_from_live: from_live,
            // Cleared only on the way to live (core.c nvme_stop_failfast_work).
            failfast_expired: track.words.failfast_expired && new != ControllerState::Live,
        };
    }

    pub(super) fn expire_failfast(&mut self, id: ControllerId) {
        if let Some(track) = self.controllers.get_mut(&id) {
            track.words.failfast_expired = true;
        }
    }

    pub(super) fn set_group(
        &mut self,
        id: ControllerId,
        group: AnaGroup,
        state: AnaState,
        nsids: &[Nsid],
        more: bool,
    ) {
        let of_controller = (id, Nsid(0))..=(id, Nsid(u32::MAX));
        for ((_, nsid), leg) in self.legs.range_mut(of_controller) {
            if nsids.contains(nsid) || (more && leg.group == Some(group)) {
                leg.group = Some(group);
                leg.state.ana = Some(state);
                leg.state.pending = false;
            }
        }
    }

    pub(super) fn set_pending(&mut self, id: ControllerId, nsid: Nsid) {
        if let Some(leg) = self.legs.get_mut(&(id, nsid)) {
            leg.state.pending = true;
        }
    }

    /// A leg whose controller is not known is told with its subsystem: the controller's state is then not known.
    pub(super) fn add_leg(
        &mut self,
        id: ControllerId,
        nsid: Nsid,
        nqn: Option<&Nqn>,
        track: LegTrack,
    ) {
        if let Some(nqn) = nqn {
            let seen = ControllerSeen {
                nqn: nqn.clone(),
                endpoint: None,
                hostnqn: None,
                cntlid: None,
                state: ControllerState::Unknown,
            };
            self.controllers
                .entry(id)
                .or_insert_with(|| ControllerTrack::of(&seen, track.since));
        }
        self.legs.insert((id, nsid), track);
    }

    /// Takes in a leg's words as they were read. Tells whether they turned out to be others than were known.
    pub(super) fn set_words(&mut self, id: ControllerId, nsid: Nsid, state: LegState) -> bool {
        let Some(leg) = self.legs.get_mut(&(id, nsid)) else {
            return false;
        };
        let differs = leg.state != state;
        leg.state = state;
        differs
    }

    pub(super) fn set_ready(&mut self, id: ControllerId, nsid: Nsid, ready: bool) {
        if let Some(leg) = self.legs.get_mut(&(id, nsid)) {
            leg.state.ready = ready;
        }
    }

    pub(super) fn remove_leg(&mut self, id: ControllerId, nsid: Nsid) {
        self.legs.remove(&(id, nsid));
    }

    pub(super) fn track(&self, id: ControllerId) -> Option<&ControllerTrack> {
        self.controllers.get(&id)
    }

    pub(super) fn controllers(&self) -> impl Iterator<Item = (ControllerId, &ControllerTrack)> {
        self.controllers.iter().map(|(id, track)| (*id, track))
    }

    pub(super) fn legs(&self) -> impl Iterator<Item = (ControllerId, Nsid, &LegTrack)> {
        self.legs.iter().map(|((id, nsid), leg)| (*id, *nsid, leg))
    }

    /// Whether the kernel would route I/O over a leg of this controller now.
    pub(super) fn serves(&self, id: ControllerId) -> bool {
        let of_controller = (id, Nsid(0))..=(id, Nsid(u32::MAX));
        let mut legs = self.legs.range(of_controller);
        legs.any(|((_, nsid), _)| self.usable(id, *nsid))
    }

    pub(super) fn leg(&self, id: ControllerId, nsid: Nsid) -> Option<&LegTrack> {
        self.legs.get(&(id, nsid))
    }

    /// The namespace that a leg leads to.
    pub(super) fn key(&self, id: ControllerId, nsid: Nsid) -> Option<NamespaceKey> {
        let leg = self.legs.get(&(id, nsid))?;
        Some(NamespaceKey::new(
            &self.controllers.get(&id)?.nqn,
            leg.uuid,
            nsid,
        ))
    }

    pub(super) fn controller(&self, id: ControllerId) -> Option<&ControllerWords> {
        self.controllers.get(&id).map(|track| &track.words)
    }

    /// Whether the kernel would route I/O over this leg now.
    pub(super) fn usable(&self, id: ControllerId, nsid: Nsid) -> bool {
        let (Some(leg), Some(controller)) = (self.legs.get(&(id, nsid)), self.controller(id))
        else {
            return false;
        };
        let LegState {
            ana,
            pending,
            ready,
        } = leg.state;
        usable(
            &LegWords {
                member: true,
                ready,
                pending,
                ana,
            },
            controller,
        )
    }

    /// What to call a leg: the kernel's name, or its controller's.
    pub(super) fn leg_name(&self, id: ControllerId, nsid: Nsid) -> String {
        let name = self.legs.get(&(id, nsid)).and_then(|leg| leg.name);
        name.map_or_else(|| format!("{id} nsid {}", nsid.0), |name| name.to_string())
    }
}

impl ControllerTrack {
    fn of(seen: &ControllerSeen, since: BootNs) -> Self {
        Self {
            nqn: seen.nqn.clone(),
            endpoint: seen.endpoint.clone(),
            hostnqn: seen.hostnqn.clone(),
            cntlid: seen.cntlid,
            interface: None,
            words: in_state(seen.state),
            since,
        }
    }
}

fn in_state(state: ControllerState) -> ControllerWords {
    ControllerWords {
        state,
        deleting_from_live: false,
        failfast_expired: false,
    }
}
