//! The true window, computed from the traced calls.

use std::collections::HashMap;

use anyhow::{Result, bail};

use super::event::{Call, Event, Pointer, State};
use crate::lab::clock::{BootNs, Span};
use crate::lab::host::Controller;

/// What stopped the kernel from using the last path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BegunBy {
    /// A request failed with an ANA status, before the log was read.
    FailedIo,
    /// The ANA log was read.
    AnaLog,
    /// The controller left the live state.
    ControllerState,
}

/// A window as the kernel's own calls show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueWindow {
    /// From the moment the last path was unusable to the moment one was usable.
    pub span: Span,
    /// What began it, and the first of the other kind: a failed request and the log can come within microseconds, on two
    /// CPUs. In time order.
    pub begun_by: Vec<(BootNs, BegunBy)>,
}

/// The controller object behind a controller that `Host::connect` made: the one that connected meanwhile.
pub(super) fn pointer_of(events: &[Event], controller: &Controller) -> Result<Pointer> {
    let during = controller.connected;
    let mut connected: Vec<_> = events
        .iter()
        .filter(|event| during.begin <= event.at && event.at <= during.end)
        .filter_map(|event| match event.call {
            Call::Connect { controller } => Some(controller),
            _ => None,
        })
        .collect();
    connected.dedup();
    match connected[..] {
        [one] => Ok(one),
        [] => bail!(
            "{} connected unseen by the trace in {during}",
            controller.name
        ),
        _ => bail!(
            "{} was not the only one that connected in {during}",
            controller.name
        ),
    }
}

/// Begins at the first failed request after `flip` or when `source`'s log says inaccessible, whichever is first; ends when
/// the first leg comes live.
pub(super) fn cutover(events: &[Event], flip: BootNs, source: Pointer) -> Result<TrueWindow> {
    let mut begun_by: Vec<(BootNs, BegunBy)> = Vec::new();
    for event in events.iter().filter(|event| event.at >= flip) {
        let by = match event.call {
            Call::Failover => BegunBy::FailedIo,
            Call::Ana {
                controller,
                nsids,
                state,
                ..
            } if controller == source && nsids > 0 && !state.is_accessible() => BegunBy::AnaLog,
            Call::SetLive => match begun_by.first() {
                Some(&(begin, _)) => {
                    return Ok(TrueWindow {
                        span: Span {
                            begin,
                            end: event.at,
                        },
                        begun_by,
                    });
                }
                None => continue,
            },
            _ => continue,
        };
        if begun_by.iter().all(|(_, known)| *known != by) {
            begun_by.push((event.at, by));
        }
    }
    unended(begun_by.first().map(|(begin, _)| *begin))
}

/// Begins when `lost` really leaves the live state after `mark`; ends when its requeue lists are kicked with the
/// controller live. The other caller of the kick is the fast-fail timer, while the controller is connecting.
pub(super) fn controller_loss(events: &[Event], mark: BootNs, lost: Pointer) -> Result<TrueWindow> {
    let mut states: HashMap<Pointer, State> = HashMap::new();
    let mut begin = None;
    for event in events {
        match event.call {
            Call::State { controller, new } => {
                let state = states.entry(controller).or_insert(State::New);
                if !state.goes_to(new) {
                    continue;
                }
                let was = std::mem::replace(state, new);
                let left_live = controller == lost && was == State::Live && event.at >= mark;
                if left_live && begin.is_none() {
                    begin = Some(event.at);
                }
            }
            Call::Uninit { controller } => {
                states.remove(&controller);
            }
            Call::Kick { controller }
                if controller == lost && states.get(&lost) == Some(&State::Live) =>
            {
                if let Some(begin) = begin {
                    let span = Span {
                        begin,
                        end: event.at,
                    };
                    return Ok(TrueWindow {
                        span,
                        begun_by: vec![(begin, BegunBy::ControllerState)],
                    });
                }
            }
            _ => {}
        }
    }
    unended(begin)
}

fn unended(begin: Option<BootNs>) -> Result<TrueWindow> {
    match begin {
        Some(begin) => bail!("the window begun at {begin} has no end in the trace"),
        None => bail!("the trace has no begin of a window"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::truth::event::WireAna;

    const SOURCE: Pointer = Pointer(1);
    const OTHER: Pointer = Pointer(2);

    fn trace(calls: &[(u64, Call)]) -> Vec<Event> {
        calls
            .iter()
            .map(|&(at, call)| Event {
                at: BootNs(at),
                call,
            })
            .collect()
    }

    fn ana(controller: Pointer, nsids: u32, state: u8) -> Call {
        Call::Ana {
            controller,
            group: 1,
            nsids,
            state: WireAna(state),
        }
    }

    fn state(new: State) -> Call {
        Call::State {
            controller: SOURCE,
            new,
        }
    }

    fn span(begin: u64, end: u64) -> Span {
        Span {
            begin: BootNs(begin),
            end: BootNs(end),
        }
    }

    #[test]
    fn a_cutover_begins_at_the_failed_request_when_that_beats_the_log() {
        let events = trace(&[
            (5, Call::Failover),
            (12, Call::Failover),
            (15, ana(SOURCE, 1, 3)),
            (90, ana(OTHER, 1, 1)),
            (91, Call::SetLive),
            (99, Call::SetLive),
        ]);
        let window = cutover(&events, BootNs(10), SOURCE).unwrap();
        assert_eq!(
            window,
            TrueWindow {
                span: span(12, 91),
                begun_by: vec![
                    (BootNs(12), BegunBy::FailedIo),
                    (BootNs(15), BegunBy::AnaLog)
                ]
            }
        );
    }

    #[test]
    fn without_io_it_begins_at_the_log_of_the_source_for_a_group_that_has_namespaces() {
        let events = trace(&[
            (11, ana(OTHER, 1, 3)),
            (12, ana(SOURCE, 0, 3)),
            (13, ana(SOURCE, 1, 1)),
            (15, ana(SOURCE, 1, 3)),
            (91, Call::SetLive),
        ]);
        let window = cutover(&events, BootNs(10), SOURCE).unwrap();
        assert_eq!(
            window,
            TrueWindow {
                span: span(15, 91),
                begun_by: vec![(BootNs(15), BegunBy::AnaLog)]
            }
        );
    }

    #[test]
    fn a_cutover_without_an_end_is_an_error() {
        let error = cutover(&trace(&[(12, Call::Failover)]), BootNs(10), SOURCE).unwrap_err();
        assert!(error.to_string().contains("no end"), "{error}");
    }

    #[test]
    fn a_loss_begins_at_the_change_and_ends_at_the_kick_of_the_live_controller() {
        let kick = Call::Kick { controller: SOURCE };
        let events = trace(&[
            (1, state(State::Connecting)),
            (2, state(State::Live)),
            (3, kick),
            (
                20,
                Call::State {
                    controller: OTHER,
                    new: State::Resetting,
                },
            ),
            (21, state(State::Resetting)),
            (22, state(State::Resetting)),
            (23, state(State::Connecting)),
            (24, kick),
            (25, state(State::Resetting)),
            (90, state(State::Live)),
            (91, kick),
        ]);
        let window = controller_loss(&events, BootNs(10), SOURCE).unwrap();
        assert_eq!(window.span, span(21, 91));
    }

    #[test]
    fn a_controller_that_never_came_back_is_an_error() {
        let events = trace(&[
            (1, state(State::Connecting)),
            (2, state(State::Live)),
            (21, state(State::Resetting)),
        ]);
        assert!(controller_loss(&events, BootNs(10), SOURCE).is_err());
    }
}
