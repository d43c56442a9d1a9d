//! What the traced calls mean for a volume: signs that a window begins or ends.

use std::collections::HashMap;

use super::event::{Call, Event, Pointer, State};
use crate::lab::clock::BootNs;

/// Something that takes a leg from a volume or gives it one, by controllers as a scenario knows them or, in the trace, by
/// their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign<C> {
    /// A request failed with a path error.
    FailedIo,
    /// A group in the controller's ANA log is not accessible.
    LogTakes(C),
    /// A leg of the controller is set live by its ANA log.
    LogGives(C),
    /// The controller is not used any longer: it left the live state, or, being deleted, takes no more I/O.
    Down(C),
    /// The controller is live, and what waited for it is sent.
    Live(C),
    /// The controller's fast-fail time is over and it is not live.
    Expired(C),
    /// A leg is being removed.
    LegRemoved,
    /// A leg is set live as it is added.
    LegAdded,
}

impl<C> Sign<C> {
    /// The same sign of something else.
    pub(super) fn try_map<D, E>(self, map: impl FnOnce(C) -> Result<D, E>) -> Result<Sign<D>, E> {
        Ok(match self {
            Self::FailedIo => Sign::FailedIo,
            Self::LogTakes(controller) => Sign::LogTakes(map(controller)?),
            Self::LogGives(controller) => Sign::LogGives(map(controller)?),
            Self::Down(controller) => Sign::Down(map(controller)?),
            Self::Live(controller) => Sign::Live(map(controller)?),
            Self::Expired(controller) => Sign::Expired(map(controller)?),
            Self::LegRemoved => Sign::LegRemoved,
            Self::LegAdded => Sign::LegAdded,
        })
    }

    /// What an agent should call it.
    pub(super) fn cause(&self) -> Option<&'static str> {
        Some(match self {
            Self::FailedIo => "ana-error",
            Self::LogTakes(_) | Self::LogGives(_) => "ana-log",
            Self::Down(_) | Self::Live(_) => "controller-state",
            Self::LegRemoved => "leg-removed",
            Self::LegAdded => "leg-added",
            Self::Expired(_) => return None,
        })
    }
}

/// What a thread is at: a leg that is set live is so because of it.
enum Doing {
    /// It walks through the ANA log of a controller.
    Log(Pointer),
    /// It adds a leg.
    Adding(Pointer),
}

/// The signs in a trace, in time order.
pub(super) fn all(events: &[Event]) -> Vec<(BootNs, Sign<Pointer>)> {
    let mut states: HashMap<Pointer, State> = HashMap::new();
    let mut threads: HashMap<u32, Doing> = HashMap::new();
    let signs = events.iter().filter_map(|event| {
        let sign = match event.call {
            Call::Failover => Some(Sign::FailedIo),
            Call::State { controller, new } => change(&mut states, controller, new),
            Call::Uninit { controller } => {
                states.remove(&controller);
                None
            }
            // There are two callers: one has stored live, the other is the fast-fail timer.
            Call::Kick { controller } => match states.get(&controller) {
                Some(State::Live) => Some(Sign::Live(controller)),
                Some(State::Connecting) => Some(Sign::Expired(controller)),
                _ => None,
            },
            Call::Ana {
                controller,
                nsids,
                state,
                ..
            } => {
                threads.insert(event.thread, Doing::Log(controller));
                (nsids > 0 && !state.is_accessible()).then_some(Sign::LogTakes(controller))
            }
            Call::Add { leg } => {
                threads.insert(event.thread, Doing::Adding(leg));
                None
            }
            Call::SetLive { leg } => match threads.get(&event.thread) {
                Some(Doing::Log(controller)) => Some(Sign::LogGives(*controller)),
                Some(Doing::Adding(added)) if *added == leg => Some(Sign::LegAdded),
                _ => None,
            },
            Call::Remove { .. } => Some(Sign::LegRemoved),
            Call::Connect { .. } => None,
        };
        sign.map(|sign| (event.at, sign))
    });
    signs.collect()
}

/// A wish for a state, which the kernel fulfils or not. A live controller that is to be deleted is used until it takes no
/// more I/O (multipath.c `nvme_path_is_disabled`).
fn change(
    states: &mut HashMap<Pointer, State>,
    controller: Pointer,
    new: State,
) -> Option<Sign<Pointer>> {
    let state = states.entry(controller).or_insert(State::New);
    if !state.goes_to(new) {
        return None;
    }
    let was = std::mem::replace(state, new);
    let down = match new {
        State::DeletingNoIo => true,
        State::Deleting => false,
        _ => was == State::Live,
    };
    down.then_some(Sign::Down(controller))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::truth::event::WireAna;

    const ONE: Pointer = Pointer(1);
    const TWO: Pointer = Pointer(2);
    const LEG: Pointer = Pointer(7);

    /// Threads, and what they call one after the other.
    fn signs(calls: &[(u32, Call)]) -> Vec<Sign<Pointer>> {
        let event = |(at, &(thread, call))| Event {
            at: BootNs(at),
            thread,
            call,
        };
        let events: Vec<_> = (0..).zip(calls).map(event).collect();
        all(&events).into_iter().map(|(_, sign)| sign).collect()
    }

    fn log(controller: Pointer, nsids: u32, state: u8) -> Call {
        Call::Ana {
            controller,
            group: 1,
            nsids,
            state: WireAna(state),
        }
    }

    fn state(new: State) -> Call {
        Call::State {
            controller: ONE,
            new,
        }
    }

    #[test]
    fn a_log_takes_a_group_that_has_namespaces_and_is_not_accessible() {
        let signs = signs(&[
            (1, log(ONE, 1, 1)),
            (1, log(ONE, 0, 3)),
            (1, log(ONE, 2, 3)),
        ]);
        assert_eq!(signs, [Sign::LogTakes(ONE)]);
    }

    #[test]
    fn a_leg_is_given_by_the_log_that_its_thread_walks_through_or_by_being_added() {
        let live = Call::SetLive { leg: LEG };
        let signs = signs(&[
            (1, log(ONE, 1, 1)),
            (2, log(TWO, 1, 1)),
            (1, live),
            (2, Call::Add { leg: LEG }),
            (2, live),
        ]);
        assert_eq!(signs, [Sign::LogGives(ONE), Sign::LegAdded]);
    }

    #[test]
    fn a_lost_controller_is_down_once_and_live_when_its_requests_are_kicked() {
        let kick = Call::Kick { controller: ONE };
        let calls = [
            state(State::Connecting),
            state(State::Live),
            kick,
            state(State::Resetting),
            state(State::Resetting),
            state(State::Connecting),
            kick,
            state(State::Resetting),
            state(State::Live),
            kick,
        ];
        let signs = signs(&calls.map(|call| (1, call)));
        let expected = [
            Sign::Live(ONE),
            Sign::Down(ONE),
            Sign::Expired(ONE),
            Sign::Live(ONE),
        ];
        assert_eq!(signs, expected);
    }

    #[test]
    fn a_deleted_controller_is_down_when_it_takes_no_more_io() {
        let calls = [
            state(State::Connecting),
            state(State::Live),
            state(State::Deleting),
            Call::Failover,
            state(State::DeletingNoIo),
        ];
        assert_eq!(
            signs(&calls.map(|call| (1, call))),
            [Sign::FailedIo, Sign::Down(ONE)]
        );
    }
}
