//! Fabrics commands: Connect and the properties. Authentication is not offered.

use std::sync::Arc;

use super::{Answer, Command};
use crate::target::controller::{Controller, Host};
use crate::target::ids::{Cntlid, QueueId, Uuid};
use crate::target::limits::QUEUE_ENTRIES;
use crate::target::queue::{Connection, Queue};
use crate::target::status::Status;
use crate::target::sync::lock;
use crate::target::wire::Entry;
use crate::target::wire::bytes::{field, le16, text};

const PROPERTY_SET: u8 = 0x00;
pub(super) const CONNECT: u8 = 0x01;
const PROPERTY_GET: u8 = 0x04;

/// Size of Connect's data, bytes.
const CONNECT_DATA: usize = 1024;
/// Offsets of its fields.
const CNTLID: u16 = 16;
const SUBSYSTEM: u16 = 256;
const HOST: u16 = 512;
const NAME: usize = 256;

/// Offsets in Connect's submission queue entry.
const QUEUE: u16 = 42;
const ENTRIES: u16 = 44;

pub(super) fn execute(connection: &Arc<Connection>, command: &Command) -> Answer {
    match command.entry.fabrics_type() {
        CONNECT => connect(connection, command).unwrap_or_else(|refused| refused),
        PROPERTY_GET | PROPERTY_SET => property(connection, &command.entry).into(),
        _ => Answer::fail(Status::INVALID_OPCODE.do_not_retry()),
    }
}

/// The queue that a Connect wants to be.
pub(super) fn queue_of(entry: &Entry) -> QueueId {
    QueueId(entry.half(QUEUE.into()))
}

/// What a Connect asks for.
#[derive(Debug)]
pub(crate) struct ConnectRequest {
    pub(crate) queue: QueueId,
    pub(crate) subsystem: String,
    pub(crate) host: Host,
    cntlid: Cntlid,
}

impl ConnectRequest {
    /// Reads it; with data that is too short, fields of it are empty.
    pub(crate) fn of(command: &Command) -> Self {
        let data = &command.data;
        Self {
            queue: queue_of(&command.entry),
            subsystem: text(data, SUBSYSTEM.into(), NAME),
            host: Host {
                nqn: text(data, HOST.into(), NAME),
                id: Uuid(field(data, 0)),
            },
            cntlid: Cntlid(le16(data, CNTLID.into())),
        }
    }
}

/// Connect Invalid Parameters, and which: the offset (15:0) of the parameter in the data (16) or the entry. Other
/// statuses blame nothing.
fn invalid(offset: u16, in_data: bool) -> Answer {
    let result = u64::from(offset) | u64::from(in_data) << 16;
    Answer {
        result,
        ..Answer::fail(Status::CONNECT_INVALID_PARAMETERS.do_not_retry())
    }
}

/// What a rejection by script blames: the subsystem's name, as a target does that does not serve it.
pub(super) fn blame(status: Status) -> u64 {
    let parameters = Status::CONNECT_INVALID_PARAMETERS;
    if status == parameters || status == parameters.do_not_retry() {
        invalid(SUBSYSTEM, true).result
    } else {
        0
    }
}

fn connect(connection: &Arc<Connection>, command: &Command) -> Result<Answer, Answer> {
    let entry = &command.entry;
    if command.data.len() != CONNECT_DATA {
        return Err(Answer::fail(Status::SGL_LENGTH.do_not_retry()));
    }
    // RECFMT: 0 is the only one.
    if entry.half(40) != 0 {
        return Err(Answer::fail(Status::CONNECT_FORMAT.do_not_retry()));
    }
    let entries = entry.half(ENTRIES.into()).saturating_add(1);
    if !(2..=QUEUE_ENTRIES).contains(&entries) {
        return Err(invalid(ENTRIES, false));
    }
    let request = ConnectRequest::of(command);
    let controller = if request.queue == QueueId::ADMIN {
        create(connection, entry, &request)?
    } else {
        find(connection, &request)?
    };
    // CATTR: flow control of the submission queue switched off (2).
    let flow_control = entry.byte(46) & 1 << 2 == 0;
    let queue = Queue::new(
        request.queue,
        Arc::clone(&controller),
        entries,
        flow_control,
    );
    connection.become_queue(queue).map_err(Answer::fail)?;
    if request.queue == QueueId::ADMIN {
        connection.port.enrol(&controller);
    }
    Ok(Answer::result(controller.cntlid.0.into()))
}

/// The admin queue's Connect makes a controller.
fn create(
    connection: &Connection,
    entry: &Entry,
    request: &ConnectRequest,
) -> Result<Arc<Controller>, Answer> {
    let Some(subsystem) = connection.port.subsystem(&request.subsystem) else {
        return Err(invalid(SUBSYSTEM, true));
    };
    if request.host.nqn.is_empty() {
        return Err(invalid(HOST, true));
    }
    // The dynamic model: the host cannot choose.
    if request.cntlid != Cntlid::ANY {
        return Err(invalid(CNTLID, true));
    }
    let port = &connection.port;
    let repeated = port.repeated_cntlid(&request.subsystem);
    // KATO, milliseconds.
    let keep_alive = entry.dword(12);
    Controller::create(
        subsystem,
        request.host.clone(),
        port.io_queues(),
        keep_alive,
        repeated,
    )
    .ok_or_else(|| Answer::fail(Status::CONNECT_BUSY))
}

/// An I/O queue's Connect names the controller that it belongs to.
fn find(connection: &Connection, request: &ConnectRequest) -> Result<Arc<Controller>, Answer> {
    let controller = connection
        .port
        .controller(&request.subsystem, request.cntlid, &request.host)
        .ok_or_else(|| invalid(CNTLID, true))?;
    if !lock(&controller.registers).is_enabled() {
        return Err(Answer::fail(Status::SEQUENCE.do_not_retry()));
    }
    if request.queue.0 > controller.io_queues {
        return Err(invalid(QUEUE, false));
    }
    Ok(controller)
}

fn property(connection: &Connection, entry: &Entry) -> Result<Answer, Status> {
    let queue = connection
        .queue()
        .filter(|queue| queue.id == QueueId::ADMIN);
    let controller = &queue.ok_or(Status::SEQUENCE.do_not_retry())?.controller;
    let mut registers = lock(&controller.registers);
    // ATTRIB: the property's size (2:0).
    let eight_bytes = entry.byte(40) & 0x7 == 1;
    let offset = entry.dword(11);
    if entry.fabrics_type() == PROPERTY_GET {
        registers.get(offset, eight_bytes).map(Answer::result)
    } else {
        registers
            .set(offset, eight_bytes, entry.quad(48))
            .map(|()| Answer::result(0))
    }
}
