//! Events of several CPUs in the order of their times.
//!
//! The ring orders by when space was reserved; two CPUs can be microseconds off. Events wait a little, then leave in
//! order. One that comes later still leaves at once, and the fold sees a step back in time that its own rules absorb.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use crate::{event::Envelope, fabric::BootNs};

/// How long an event waits for an earlier one. Far above what CPUs differ by, far below what a person notices.
const DELAY: Duration = Duration::from_millis(10);

#[derive(Debug)]
struct Waiting {
    key: Reverse<(BootNs, u64)>,
    envelope: Envelope,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Events that wait for their turn.
#[derive(Debug, Default)]
pub struct Order {
    heap: BinaryHeap<Waiting>,
    arrivals: u64,
}

impl Order {
    /// Takes an event in. Those of one time keep the order they came in.
    pub fn push(&mut self, envelope: Envelope) {
        self.arrivals += 1;
        self.heap.push(Waiting {
            key: Reverse((envelope.time, self.arrivals)),
            envelope,
        });
    }

    /// The earliest event, once it is [`DELAY`] old.
    pub fn pop(&mut self, now: BootNs) -> Option<Envelope> {
        let earliest = self.heap.peek()?.envelope.time;
        if now.saturating_since(earliest) < DELAY && earliest <= now {
            return None;
        }
        self.pop_any()
    }

    /// The earliest event, however young: at the end.
    pub fn pop_any(&mut self) -> Option<Envelope> {
        self.heap.pop().map(|waiting| waiting.envelope)
    }

    /// The time of the earliest event that waits.
    #[must_use]
    pub fn earliest(&self) -> Option<BootNs> {
        self.heap.peek().map(|waiting| waiting.envelope.time)
    }

    /// Whether something waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Source};

    fn at(time: u64, count: u64) -> Envelope {
        Envelope {
            time: BootNs(time),
            error_ns: 0,
            source: Source::Bpf,
            event: Event::Lost { count },
        }
    }

    #[test]
    fn events_leave_in_the_order_of_their_times_once_they_have_waited() {
        let mut order = Order::default();
        for (time, count) in [(5_000, 1), (4_000, 2), (4_000, 3)] {
            order.push(at(time, count));
        }
        assert_eq!(order.pop(BootNs(10_000)), None);
        let later = BootNs(20_000_000);
        let left: Vec<_> = std::iter::from_fn(|| order.pop(later)).collect();
        assert_eq!(left, [at(4_000, 2), at(4_000, 3), at(5_000, 1)]);
        assert!(order.is_empty());
    }

    #[test]
    fn an_event_from_the_future_does_not_wait_for_ever() {
        let mut order = Order::default();
        order.push(at(9_000, 1));
        assert!(order.pop(BootNs(1_000)).is_some());
    }
}
