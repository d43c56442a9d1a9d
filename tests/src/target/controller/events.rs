//! Asynchronous events: the requests a host parked, and what there is to tell it.
//!
//! An event is told as often as it happens, at most once for each parked request, and is remembered once while none is
//! parked. It is not masked until its log is read: neither does the kernel's target, and a host whose log read failed
//! would otherwise never be told again.

use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;

use crate::target::ids::Nsid;
use crate::target::limits::PARKED_EVENTS;
use crate::target::pages::controller::{EVENT_ANA, EVENT_NAMESPACE, EVENTS};
use crate::target::pages::logs::id;
use crate::target::status::Status;

/// What a host can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Namespaces were attached, detached or changed.
    Namespaces,
    /// A group's ANA state changed.
    Ana,
}

impl Event {
    /// The bit that switches it on (feature 0bh).
    fn bit(self) -> u32 {
        match self {
            Self::Namespaces => EVENT_NAMESPACE,
            Self::Ana => EVENT_ANA,
        }
    }

    /// Dword 0 of the completion: type (2:0; notice), information (15:8), log page (23:16).
    pub(crate) fn result(self) -> u32 {
        let (information, log) = match self {
            Self::Namespaces => (0x00, id::CHANGED_NAMESPACES),
            Self::Ana => (0x03, id::ANA),
        };
        2 | information << 8 | u32::from(log) << 16
    }
}

/// A controller's events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Feature 0bh: the events switched on.
    enabled: u32,
    /// Identifiers of the parked requests, oldest first.
    parked: VecDeque<u16>,
    pending: BTreeSet<Event>,
    /// What the changed namespace list has to say.
    pub(crate) changed: BTreeSet<Nsid>,
}

impl Events {
    pub(crate) fn enabled(&self) -> u32 {
        self.enabled
    }

    /// Switches events on; those that are off are forgotten.
    pub(crate) fn enable(&mut self, bits: u32) {
        self.enabled = bits & EVENTS;
        self.pending.retain(|event| event.bit() & bits != 0);
    }

    pub(crate) fn raise(&mut self, event: Event) {
        if self.enabled & event.bit() != 0 {
            self.pending.insert(event);
        }
    }

    /// Keeps a request until there is something to tell.
    pub(crate) fn park(&mut self, cid: u16) -> Result<(), Status> {
        if self.parked.len() >= PARKED_EVENTS {
            return Err(Status::ASYNC_LIMIT.do_not_retry());
        }
        self.parked.push_back(cid);
        Ok(())
    }

    /// Whether there is something to tell and a request to tell it by.
    pub(crate) fn is_deliverable(&self) -> bool {
        !self.parked.is_empty() && !self.pending.is_empty()
    }

    /// Takes out the request to answer and what to answer.
    pub(crate) fn deliver(&mut self) -> Option<(u16, Event)> {
        if !self.is_deliverable() {
            return None;
        }
        self.parked.pop_front().zip(self.pending.pop_first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_what_the_linux_driver_knows() {
        assert_eq!(Event::Ana.result(), 0x000c_0302);
        assert_eq!(Event::Namespaces.result(), 0x0004_0002);
    }

    #[test]
    fn an_event_waits_for_a_request_and_is_remembered_once() {
        let mut events = Events::default();
        events.enable(EVENT_ANA);
        events.raise(Event::Ana);
        events.raise(Event::Ana);
        assert_eq!(events.deliver(), None);
        events.park(31).unwrap();
        events.park(32).unwrap();
        assert_eq!(events.deliver(), Some((31, Event::Ana)));
        assert_eq!(events.deliver(), None);
    }

    #[test]
    fn what_the_host_did_not_ask_for_is_not_told() {
        let mut events = Events::default();
        events.enable(EVENT_NAMESPACE);
        events.park(1).unwrap();
        events.raise(Event::Ana);
        assert_eq!(events.deliver(), None);
        events.raise(Event::Namespaces);
        assert_eq!(events.deliver(), Some((1, Event::Namespaces)));
    }

    #[test]
    fn only_so_many_requests_are_parked() {
        let mut events = Events::default();
        for cid in 0..4 {
            events.park(cid).unwrap();
        }
        assert_eq!(events.park(4), Err(Status::ASYNC_LIMIT.do_not_retry()));
    }
}
