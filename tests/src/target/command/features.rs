//! Set Features and Get Features.

use super::{Answer, Command};
use crate::target::controller::Controller;
use crate::target::controller::features::id;
use crate::target::queue::Queue;
use crate::target::status::Status;
use crate::target::sync::lock;
use crate::target::wire::Entry;

/// Whether a Set Features switches asynchronous events on.
pub(super) fn switches_events(entry: &Entry) -> bool {
    entry.byte(40) == id::EVENTS
}

pub(super) fn set(queue: &Queue, command: &Command) -> Result<Answer, Status> {
    let controller = &queue.controller;
    let value = command.entry.dword(11);
    let result = match command.entry.byte(40) {
        id::EVENTS => {
            lock(&controller.events).enable(value);
            0
        }
        id::QUEUES => granted(controller, value)?,
        // The identifier came with Connect; the same again is no change.
        id::HOST_ID if command.data == controller.host.id.0 => 0,
        feature => lock(&controller.features).set(feature, value)?,
    };
    Ok(Answer::result(result.into()))
}

pub(super) fn get(queue: &Queue, entry: &Entry) -> Result<Answer, Status> {
    let controller = &queue.controller;
    let (value, data) = match entry.byte(40) {
        id::EVENTS => (lock(&controller.events).enabled(), Vec::new()),
        id::QUEUES => (granted(controller, 0xfffe_fffe)?, Vec::new()),
        feature => lock(&controller.features).get(feature, controller.host.id)?,
    };
    Ok(Answer {
        result: value.into(),
        ..Answer::data(data)
    })
}

/// Queues asked for and granted: completion (31:16) and submission (15:0), 0's based. `ffff` is not allowed.
fn granted(controller: &Controller, asked: u32) -> Result<u32, Status> {
    let (submission, completion) = (asked & 0xffff, asked >> 16);
    if submission == 0xffff || completion == 0xffff {
        return Err(Status::INVALID_FIELD.do_not_retry());
    }
    let most = u32::from(controller.io_queues.max(1) - 1);
    Ok(submission.min(most) | completion.min(most) << 16)
}
