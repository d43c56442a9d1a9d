//! What commands mean. A command comes with all its data, is executed at once and answered with status, result and data.

mod admin;
mod fabrics;
mod features;
mod io;
mod verb;

use std::sync::Arc;

pub(crate) use fabrics::ConnectRequest;
pub use verb::Verb;

use super::ids::QueueId;
use super::queue::{Connection, Queue};
use super::script::{Moment, Occasion};
use super::status::Status;
use super::wire::{DataPointer, Entry};

/// A command and the data the host sent with it.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) entry: Entry,
    pub(crate) data: Vec<u8>,
}

impl Command {
    pub(crate) fn new(entry: Entry, data: Vec<u8>) -> Self {
        Self { entry, data }
    }

    /// Cuts the capsule's data to what the data pointer names.
    pub(crate) fn narrow(&mut self, offset: u64, length: u32) -> Result<(), Status> {
        let outside = || Status::SGL_OFFSET.do_not_retry();
        let start = usize::try_from(offset).map_err(|_| outside())?;
        let length = usize::try_from(length).map_err(|_| outside())?;
        let end = start
            .checked_add(length)
            .filter(|end| *end <= self.data.len());
        self.data = self.data[start..end.ok_or_else(outside)?].to_vec();
        Ok(())
    }

    /// How it looks to a script's rules.
    pub(crate) fn occasion<'c>(&self, queue: Option<&'c Queue>) -> Occasion<'c> {
        Occasion {
            moment: self.moment(queue.is_none_or(|queue| queue.id == QueueId::ADMIN)),
            subsystem: queue.map(|queue| queue.controller.subsystem.nqn()),
            namespace: Some(self.entry.nsid()),
        }
    }

    fn moment(&self, admin: bool) -> Moment {
        use verb::{ADMIN, FABRICS, IO};
        let opcode = self.entry.opcode();
        match (opcode, admin) {
            (FABRICS, _) => match self.entry.fabrics_type() {
                fabrics::CONNECT if fabrics::queue_of(&self.entry) == QueueId::ADMIN => {
                    Moment::AdminConnect
                }
                fabrics::CONNECT => Moment::IoConnect,
                _ => Moment::Property,
            },
            (ADMIN::IDENTIFY, true) => Moment::Identify,
            (ADMIN::GET_LOG, true) if admin::is_ana_log(&self.entry) => Moment::AnaLog,
            (ADMIN::GET_LOG, true) => Moment::Log,
            (ADMIN::SET_FEATURES, true) if features::switches_events(&self.entry) => Moment::Live,
            (ADMIN::SET_FEATURES | ADMIN::GET_FEATURES, true) => Moment::Features,
            (ADMIN::KEEP_ALIVE, true) => Moment::KeepAlive,
            // The answer to an event request is an occasion of its own, when there is one: see `Port::tell`.
            (_, true) => Moment::OtherAdmin,
            (IO::READ, false) => Moment::Read,
            (IO::WRITE | IO::WRITE_ZEROES, false) => Moment::Write,
            (IO::FLUSH, false) => Moment::Flush,
            (_, false) => Moment::OtherIo,
        }
    }
}

/// How a command went.
#[derive(Debug)]
pub(crate) enum Outcome {
    Answer(Answer),
    /// It is answered when there is an event to tell.
    Parked,
}

/// A completion and the data that goes before it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) result: u64,
    pub(crate) data: Vec<u8>,
}

impl Answer {
    pub(crate) fn fail(status: Status) -> Self {
        Self {
            status,
            result: 0,
            data: Vec::new(),
        }
    }

    fn result(result: u64) -> Self {
        Self {
            status: Status::SUCCESS,
            result,
            data: Vec::new(),
        }
    }

    fn data(data: Vec<u8>) -> Self {
        Self {
            status: Status::SUCCESS,
            result: 0,
            data,
        }
    }

    /// A status that a script put in the place of what the command would have come to. A rejected Connect names the
    /// parameter that real targets name, so that the host logs what it logs with them.
    pub(crate) fn scripted(command: &Command, status: Status) -> Self {
        let is_connect = command.entry.opcode() == verb::FABRICS
            && command.entry.fabrics_type() == fabrics::CONNECT;
        let result = if is_connect {
            fabrics::blame(status)
        } else {
            0
        };
        Self {
            result,
            ..Self::fail(status)
        }
    }

    /// Data never exceeds what the host has room for.
    pub(crate) fn fitted_to(self, command: &Command) -> Self {
        let room = match command.entry.data_pointer() {
            DataPointer::Transport { length } => usize::try_from(length).unwrap_or(usize::MAX),
            DataPointer::InCapsule { .. } | DataPointer::Unknown(_) => 0,
        };
        if self.data.len() > room {
            Self::fail(Status::SGL_LENGTH.do_not_retry())
        } else {
            self
        }
    }
}

impl From<Result<Self, Status>> for Answer {
    fn from(result: Result<Self, Status>) -> Self {
        result.unwrap_or_else(Self::fail)
    }
}

/// Does what the command asks for.
pub(crate) fn execute(connection: &Arc<Connection>, command: &Command) -> Outcome {
    if command.entry.opcode() == verb::FABRICS {
        return Outcome::Answer(fabrics::execute(connection, command));
    }
    match connection.queue() {
        None => Outcome::Answer(Answer::fail(Status::SEQUENCE.do_not_retry())),
        Some(queue) if queue.id == QueueId::ADMIN => admin::execute(connection, queue, command),
        Some(queue) => Outcome::Answer(io::execute(&connection.port, queue, command)),
    }
}
