//! Where requests pass the script.

use std::sync::Arc;
use std::time::Duration;

use super::Port;
use crate::target::controller::Controller;
use crate::target::queue::{Connection, Request};
use crate::target::script::{Act, Moment, Occasion};
use crate::target::status::Status;
use crate::target::sync::lock;
use crate::target::transcript::Note;

const BY_SCRIPT: &str = "the script drops it";

impl Port {
    /// Does with a request what the script says.
    pub(crate) fn take(&self, connection: &Arc<Connection>, request: Request) {
        let occasion = match &request {
            Request::Handshake(_) => Occasion {
                moment: Moment::Handshake,
                subsystem: None,
                namespace: None,
            },
            Request::Command(command) => command.occasion(connection.queue()),
        };
        let act = {
            let mut state = lock(&self.state);
            let act = state.behaviour.decide(&occasion);
            if act == Act::Withhold {
                // Under the same lock as the decision: a script that comes now finds it.
                state.held.push((Arc::clone(connection), request));
                drop(state);
                self.transcript.withheld();
                return;
            }
            act
        };
        match act {
            Act::Answer | Act::Withhold => connection.answer(request),
            Act::Delay(delay) => {
                let connection = Arc::clone(connection);
                self.timer.after(delay, move || connection.answer(request));
            }
            Act::Fail(status) => connection.refuse(&request, status),
            Act::Drop => connection.drop_association(BY_SCRIPT),
            Act::AnswerThenDrop(delay) => {
                connection.answer(request);
                self.drop_later(connection, delay);
            }
        }
    }

    /// Lets go what an earlier script withheld, as far as the present one does not.
    pub(super) fn release(&self) {
        let (held, controllers) = {
            let mut state = lock(&self.state);
            (std::mem::take(&mut state.held), state.controllers.clone())
        };
        for (connection, request) in held {
            self.take(&connection, request);
        }
        for controller in controllers {
            self.tell(&controller);
        }
    }

    /// Tells a host of its events, as many as it has parked requests for and as the script allows.
    pub(crate) fn tell(&self, controller: &Arc<Controller>) {
        while let Some(admin) = controller.admin() {
            // Lock order: the controller's events, then the port's state.
            let mut events = lock(&controller.events);
            if !events.is_deliverable() {
                return;
            }
            let nqn = controller.subsystem.nqn();
            let occasion = Occasion {
                moment: Moment::AsyncEvent,
                subsystem: Some(nqn),
                namespace: None,
            };
            let act = lock(&self.state).behaviour.decide(&occasion);
            if act == Act::Withhold {
                return;
            }
            let Some((cid, event)) = events.deliver() else {
                return;
            };
            drop(events);
            let status = if let Act::Fail(status) = act {
                status
            } else {
                Status::SUCCESS
            };
            let cntlid = controller.cntlid;
            let answering = Arc::clone(&admin);
            let answer = move || {
                let result = if status.is_success() {
                    event.result()
                } else {
                    0
                };
                answering
                    .port
                    .transcript
                    .note(Note::Event { cntlid, event });
                answering.complete_parked(cid, status, result.into());
            };
            match act {
                Act::Delay(delay) => self.timer.after(delay, answer),
                Act::Drop => admin.drop_association(BY_SCRIPT),
                Act::AnswerThenDrop(delay) => {
                    answer();
                    self.drop_later(&admin, delay);
                }
                Act::Answer | Act::Withhold | Act::Fail(_) => answer(),
            }
        }
    }

    fn drop_later(&self, connection: &Arc<Connection>, delay: Duration) {
        if delay.is_zero() {
            connection.drop_association(BY_SCRIPT);
        } else {
            let connection = Arc::clone(connection);
            self.timer
                .after(delay, move || connection.drop_association(BY_SCRIPT));
        }
    }
}
