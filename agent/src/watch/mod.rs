//! What happened to volumes: folds events into the words of controllers and legs, and those into windows.
//!
//! Owns: the state that events add up to, and when a window opens and closes. A pure function of the events it was
//! given: no I/O, no clock. Does not own: where events come from ([`crate::probe`]), the rule for a usable leg
//! ([`crate::fabric::usable`]), what is wrong with a host ([`crate::diagnose`]).
//!
//! Invariants: the windows of one namespace never overlap; a namespace that was never usable has none; an end that
//! was not seen is marked, never guessed.

mod namespaces;
mod window;
mod words;

pub use window::{Cause, CauseKind, Class, LegChange, NamespaceKey, Severity, Window, WindowId};

use crate::{
    event::{ControllerId, Envelope, Event, Look, Source},
    fabric::{BootNs, Nsid},
};

use namespaces::Namespaces;
use window::Edge;
use words::Words;

/// What a fold comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A namespace has become dark.
    Opened(Window),
    /// It is usable again, or is not watched any longer.
    Closed(Window),
}

/// The folded state.
#[derive(Debug)]
pub struct Watch {
    words: Words,
    namespaces: Namespaces,
}

impl Watch {
    /// Nothing seen yet, in this boot.
    #[must_use]
    pub fn new(boot_id: impl Into<String>) -> Self {
        Self {
            words: Words::default(),
            namespaces: Namespaces::new(boot_id.into()),
        }
    }

    /// Folds one event in. Events come in the order of their times.
    #[must_use]
    pub fn apply(&mut self, envelope: &Envelope) -> Vec<Change> {
        let at = Moment {
            time: envelope.time,
            error_ns: envelope.error_ns,
            source: envelope.source,
        };
        match &envelope.event {
            Event::Snapshot(host) => {
                let look = Look::of(host);
                self.words.replace(&look);
                self.namespaces.seed(&self.words, &look, at)
            }
            Event::ControllerAdded {
                controller,
                nqn,
                endpoint,
                state,
                ..
            } => {
                self.words
                    .add_controller(*controller, nqn, endpoint.as_ref(), *state);
                self.judge(*controller, None, CauseKind::Unknown, at)
            }
            Event::ControllerRemoved { controller } => {
                self.words.remove_controller(*controller);
                self.judge(*controller, None, CauseKind::LegRemoved, at)
            }
            Event::ControllerState {
                controller,
                old,
                new,
            } => {
                self.words.set_state(*controller, *old, *new);
                self.judge(*controller, None, CauseKind::ControllerState, at)
            }
            Event::FailfastExpired { controller } => {
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
                self.words
                    .set_group(*controller, *group, *state, nsids, *more);
                let nsids = (!*more).then_some(nsids.as_slice());
                self.judge(*controller, nsids, CauseKind::AnaLog, at)
            }
            Event::AnaPending { controller, nsid } => {
                self.words.set_pending(*controller, *nsid);
                self.judge(*controller, Some(&[*nsid]), CauseKind::AnaError, at)
            }
            Event::LegAdded {
                controller,
                nsid,
                uuid,
                name,
                group,
                state,
            } => {
                self.words
                    .add_leg(*controller, *nsid, *uuid, *name, *group, *state);
                self.judge(*controller, Some(&[*nsid]), CauseKind::LegAdded, at)
            }
            Event::LegWords {
                controller,
                nsid,
                state,
            } => {
                self.words.set_words(*controller, *nsid, *state);
                self.judge(*controller, Some(&[*nsid]), CauseKind::Unknown, at)
            }
            Event::LegRemoved { controller, nsid } => {
                self.words.remove_leg(*controller, *nsid);
                self.judge(*controller, Some(&[*nsid]), CauseKind::LegRemoved, at)
            }
            Event::Lost { .. } => {
                self.namespaces.truncate_open();
                Vec::new()
            }
            Event::Wall { unix_ns } => {
                self.namespaces.set_wall(at.time, *unix_ns);
                Vec::new()
            }
            Event::Connect { .. } | Event::Reconnect { .. } => Vec::new(),
        }
    }

    /// The windows that are open now.
    pub fn open(&self) -> impl Iterator<Item = &Window> {
        self.namespaces.open()
    }

    /// Nothing is watched any longer: open windows end here, truncated.
    #[must_use]
    pub fn stop(&mut self, time: BootNs) -> Vec<Change> {
        let moment = Moment {
            time,
            error_ns: 0,
            source: Source::Bpf,
        };
        self.namespaces.close_all(moment)
    }

    /// Looks again at the namespaces that a controller has or had legs to: all of them, or these.
    fn judge(
        &mut self,
        controller: ControllerId,
        nsids: Option<&[Nsid]>,
        why: CauseKind,
        at: Moment,
    ) -> Vec<Change> {
        let cause = Cause {
            kind: why,
            controller: Some(controller),
            endpoint: self.words.endpoint(controller),
        };
        self.namespaces
            .judge(&self.words, controller, nsids, &cause, at)
    }
}

/// When, and how exactly.
#[derive(Debug, Clone, Copy)]
struct Moment {
    time: BootNs,
    error_ns: u64,
    source: Source,
}

impl Moment {
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
