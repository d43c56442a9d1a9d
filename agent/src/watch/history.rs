//! What each controller has been through, as far as it was watched.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    event::{ControllerId, Deleter, Event, Outcome},
    fabric::{BootNs, ControllerState},
};

/// How many results of attempts are kept.
const RESULTS: usize = 16;

/// One controller's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// When it was first heard of.
    pub first_seen: BootNs,
    /// When it was created; none if it was there already.
    pub created: Option<BootNs>,
    /// Its state.
    pub state: ControllerState,
    /// Since when its state and its legs are as they are, as far as it was watched.
    pub unchanged_since: BootNs,
    /// When it was last live; none if it was not while it was watched.
    pub last_live: Option<BootNs>,
    /// Since when it has not been live: since it stopped, or was first seen so.
    pub not_live_since: Option<BootNs>,
    /// Attempts to connect since it was last live.
    pub attempts: u32,
    /// The last results, oldest first.
    pub results: VecDeque<(BootNs, Outcome)>,
    /// How many consecutive attempts the target has answered with a rejection, up to the last one.
    pub rejections: u32,
    /// The last rejection.
    pub last_rejection: Option<u16>,
    /// Whether a leg of it was ever usable while it was watched.
    pub served: bool,
    /// Since when nothing was lost and everything was watched.
    pub complete_since: BootNs,
    /// Who asked for its deletion.
    pub deleted_by: Option<Deleter>,
    /// When the transport last tore its connection down, and when a keep-alive last failed.
    pub last_recovery: Option<BootNs>,
    /// When a keep-alive last failed.
    pub last_keep_alive_failure: Option<BootNs>,
    /// The attempt whose result has been counted.
    counted: Option<u32>,
}

impl History {
    fn new(time: BootNs, state: ControllerState, complete_since: BootNs) -> Self {
        let live = state == ControllerState::Live;
        Self {
            first_seen: time,
            created: (state == ControllerState::New).then_some(time),
            state,
            unchanged_since: time,
            last_live: live.then_some(time),
            not_live_since: (!live).then_some(time),
            attempts: 0,
            results: VecDeque::new(),
            rejections: 0,
            last_rejection: None,
            served: false,
            complete_since: complete_since.max(time),
            deleted_by: None,
            last_recovery: None,
            last_keep_alive_failure: None,
            counted: None,
        }
    }

    fn turn(&mut self, state: ControllerState, time: BootNs) {
        if self.state == state {
            return;
        }
        if self.state == ControllerState::Live {
            self.last_live = Some(time);
            self.not_live_since = Some(time);
        }
        if state == ControllerState::Live {
            self.last_live = Some(time);
            self.not_live_since = None;
            self.attempts = 0;
            self.break_run();
        }
        self.state = state;
        self.unchanged_since = time;
    }

    /// The result of an attempt, told once by the connect and once more by the decision to try again.
    fn result(&mut self, attempt: u32, result: Outcome, time: BootNs) {
        if self.counted == Some(attempt) {
            return;
        }
        self.counted = Some(attempt);
        if self.results.len() == RESULTS {
            self.results.pop_front();
        }
        self.results.push_back((time, result));
        match result {
            Outcome::Status(status) if rejects(status) => {
                self.rejections += 1;
                self.last_rejection = Some(status);
            }
            _ => self.rejections = 0,
        }
    }

    fn break_run(&mut self) {
        self.rejections = 0;
        self.counted = None;
    }
}

/// Whether the target refused this path: it does not know the subsystem or the controller (0x182), or this host
/// (0x184). NVMe over Fabrics specification, Connect command; the host's own words (0x36x, 0x37x) are no answer.
#[must_use]
pub const fn rejects(status: u16) -> bool {
    matches!(status & 0x7ff, 0x182 | 0x184)
}

#[derive(Debug, Default)]
pub(super) struct Histories {
    all: BTreeMap<ControllerId, History>,
    /// Nothing was lost since.
    complete_since: Option<BootNs>,
}

impl Histories {
    pub(super) fn get(&self, id: ControllerId) -> Option<&History> {
        self.all.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ControllerId, &History)> {
        self.all.iter().map(|(id, history)| (*id, history))
    }

    /// Who asked for a controller's deletion, also when it has gone.
    pub(super) fn deleted_by_process(&self, id: ControllerId) -> bool {
        let by = self.all.get(&id).and_then(|it| it.deleted_by.as_ref());
        matches!(by, Some(Deleter::Command(_)))
    }

    pub(super) fn meet(&mut self, id: ControllerId, state: ControllerState, time: BootNs) {
        let complete_since = *self.complete_since.get_or_insert(time);
        self.all
            .entry(id)
            .or_insert_with(|| History::new(time, state, complete_since))
            .turn(state, time);
    }

    /// Only these are there.
    pub(super) fn retain(&mut self, known: impl Fn(ControllerId) -> bool) {
        self.all.retain(|id, _| known(*id));
    }

    pub(super) fn note(&mut self, event: &Event, time: BootNs) {
        self.complete_since.get_or_insert(time);
        match event {
            Event::Lost { .. } => {
                self.complete_since = Some(time);
                for history in self.all.values_mut() {
                    history.complete_since = time;
                    history.break_run();
                }
            }
            Event::ControllerState {
                controller, new, ..
            } => {
                if let Some(history) = self.all.get_mut(controller) {
                    history.turn(*new, time);
                }
            }
            Event::Delete { controller, by } => {
                if let Some(history) = self.all.get_mut(controller) {
                    history.deleted_by.get_or_insert_with(|| by.clone());
                }
            }
            Event::Connect {
                controller,
                attempt,
                result,
            } => {
                if let Some(history) = self.all.get_mut(controller) {
                    history.attempts = history.attempts.max(*attempt);
                    history.result(*attempt, *result, time);
                }
            }
            Event::Reconnect {
                controller,
                attempt,
                result,
            } => self.reconnect(*controller, *attempt, *result, time),
            Event::Recovery { controller } => {
                if let Some(history) = self.all.get_mut(controller) {
                    history.last_recovery = Some(time);
                }
            }
            Event::KeepAliveFailed { controller } => {
                if let Some(history) = self.all.get_mut(controller) {
                    history.last_keep_alive_failure = Some(time);
                }
            }
            Event::LegAdded { controller, .. } | Event::LegRemoved { controller, .. } => {
                if let Some(history) = self.all.get_mut(controller) {
                    history.unchanged_since = time;
                }
            }
            _ => {}
        }
    }

    /// The first decision after a loss is about nothing yet (attempt 0). Later ones are about an attempt that failed;
    /// one whose result nobody told breaks a run of rejections, as it may have been anything.
    fn reconnect(
        &mut self,
        controller: ControllerId,
        attempt: u32,
        result: Option<Outcome>,
        time: BootNs,
    ) {
        let Some(history) = self.all.get_mut(&controller) else {
            return;
        };
        history.attempts = history.attempts.max(attempt);
        match result {
            _ if attempt == 0 => {}
            Some(result) => history.result(attempt, result, time),
            None if history.counted == Some(attempt) => {}
            None => {
                history.rejections = 0;
                history.counted = Some(attempt);
            }
        }
    }

    pub(super) fn serves(&mut self, id: ControllerId) {
        if let Some(history) = self.all.get_mut(&id) {
            history.served = true;
        }
    }

    pub(super) fn remove(&mut self, id: ControllerId) {
        self.all.remove(&id);
    }
}
