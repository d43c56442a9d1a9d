//! The kernel's words as events add up to them: each controller's state, each leg's flags.

use std::collections::BTreeMap;

use crate::{
    event::{ControllerId, LegState, Look},
    fabric::{
        AnaGroup, AnaState, ControllerState, ControllerWords, DiskName, Endpoint, LegWords, Nqn,
        Nsid, Uuid, usable,
    },
};

use super::NamespaceKey;

#[derive(Debug, Clone)]
struct ControllerTrack {
    nqn: Nqn,
    endpoint: Option<String>,
    words: ControllerWords,
}

#[derive(Debug, Clone)]
struct LegTrack {
    uuid: Option<Uuid>,
    name: Option<DiskName>,
    group: Option<AnaGroup>,
    state: LegState,
}

#[derive(Debug, Default)]
pub(super) struct Words {
    controllers: BTreeMap<ControllerId, ControllerTrack>,
    legs: BTreeMap<(ControllerId, Nsid), LegTrack>,
}

impl Words {
    /// Takes what was seen in place of what was known. What sysfs does not show stays as it was, as long as what it
    /// shows agrees: pending, fail-fast expired, deleting from live.
    pub(super) fn replace(&mut self, look: &Look) {
        let known = std::mem::take(self);
        for (id, seen) in &look.controllers {
            let before = known.controllers.get(id).map(|track| track.words);
            let words = before.filter(|words| words.state == seen.state);
            let track = ControllerTrack {
                nqn: seen.nqn.clone(),
                endpoint: seen.endpoint.as_ref().map(ToString::to_string),
                words: words.unwrap_or(in_state(seen.state)),
            };
            self.controllers.insert(*id, track);
        }
        for (key, seen) in &look.legs {
            let pending = known.legs.get(key).is_some_and(|leg| leg.state.pending);
            let track = LegTrack {
                uuid: seen.uuid,
                name: Some(seen.name),
                group: seen.group,
                state: LegState {
                    pending,
                    ..seen.state
                },
            };
            self.legs.insert(*key, track);
        }
    }

    pub(super) fn add_controller(
        &mut self,
        id: ControllerId,
        nqn: &Nqn,
        endpoint: Option<&Endpoint>,
        state: ControllerState,
    ) {
        let track = self
            .controllers
            .entry(id)
            .or_insert_with(|| ControllerTrack {
                nqn: nqn.clone(),
                endpoint: None,
                words: in_state(state),
            });
        track.nqn = nqn.clone();
        track.endpoint = endpoint.map(ToString::to_string).or(track.endpoint.take());
    }

    pub(super) fn remove_controller(&mut self, id: ControllerId) {
        self.controllers.remove(&id);
        self.legs.retain(|(controller, _), _| *controller != id);
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

    pub(super) fn add_leg(
        &mut self,
        id: ControllerId,
        nsid: Nsid,
        uuid: Option<Uuid>,
        name: Option<DiskName>,
        group: Option<AnaGroup>,
        state: LegState,
    ) {
        self.legs.insert(
            (id, nsid),
            LegTrack {
                uuid,
                name,
                group,
                state,
            },
        );
    }

    pub(super) fn set_words(&mut self, id: ControllerId, nsid: Nsid, state: LegState) {
        if let Some(leg) = self.legs.get_mut(&(id, nsid)) {
            leg.state = state;
        }
    }

    pub(super) fn remove_leg(&mut self, id: ControllerId, nsid: Nsid) {
        self.legs.remove(&(id, nsid));
    }

    pub(super) fn endpoint(&self, id: ControllerId) -> Option<String> {
        self.controllers.get(&id)?.endpoint.clone()
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

fn in_state(state: ControllerState) -> ControllerWords {
    ControllerWords {
        state,
        deleting_from_live: false,
        failfast_expired: false,
    }
}
