//! Names of commands, for counters and transcripts.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::target::wire::Entry;

/// Opcode of every fabrics command.
pub(super) const FABRICS: u8 = 0x7f;

/// Opcodes on the admin queue.
#[allow(non_snake_case, reason = "read as a name space: ADMIN::IDENTIFY")]
pub(super) mod ADMIN {
    pub(crate) const GET_LOG: u8 = 0x02;
    pub(crate) const IDENTIFY: u8 = 0x06;
    pub(crate) const ABORT: u8 = 0x08;
    pub(crate) const SET_FEATURES: u8 = 0x09;
    pub(crate) const GET_FEATURES: u8 = 0x0a;
    pub(crate) const ASYNC_EVENT: u8 = 0x0c;
    pub(crate) const KEEP_ALIVE: u8 = 0x18;
}

/// Opcodes on an I/O queue (NVM command set).
#[allow(non_snake_case, reason = "read as a name space: IO::READ")]
pub(super) mod IO {
    pub(crate) const FLUSH: u8 = 0x00;
    pub(crate) const WRITE: u8 = 0x01;
    pub(crate) const READ: u8 = 0x02;
    pub(crate) const WRITE_ZEROES: u8 = 0x08;
}

/// Which command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// A fabrics command, by its type.
    Fabrics(u8),
    /// A command of the admin queue, by its opcode.
    Admin(u8),
    /// A command of an I/O queue, by its opcode.
    Io(u8),
}

impl Verb {
    /// Connect.
    pub const CONNECT: Self = Self::Fabrics(0x01);
    /// Property get.
    pub const PROPERTY_GET: Self = Self::Fabrics(0x04);
    /// Identify.
    pub const IDENTIFY: Self = Self::Admin(ADMIN::IDENTIFY);
    /// Get log page.
    pub const GET_LOG: Self = Self::Admin(ADMIN::GET_LOG);
    /// Keep alive.
    pub const KEEP_ALIVE: Self = Self::Admin(ADMIN::KEEP_ALIVE);
    /// Asynchronous event request.
    pub const ASYNC_EVENT: Self = Self::Admin(ADMIN::ASYNC_EVENT);
    /// Read.
    pub const READ: Self = Self::Io(IO::READ);
    /// Write.
    pub const WRITE: Self = Self::Io(IO::WRITE);
    /// Flush.
    pub const FLUSH: Self = Self::Io(IO::FLUSH);

    pub(crate) fn of(entry: &Entry, admin: bool) -> Self {
        match (entry.opcode(), admin) {
            (FABRICS, _) => Self::Fabrics(entry.fabrics_type()),
            (opcode, true) => Self::Admin(opcode),
            (opcode, false) => Self::Io(opcode),
        }
    }

    fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Fabrics(0x00) => "property set",
            Self::CONNECT => "connect",
            Self::PROPERTY_GET => "property get",
            Self::GET_LOG => "get log",
            Self::IDENTIFY => "identify",
            Self::Admin(ADMIN::ABORT) => "abort",
            Self::Admin(ADMIN::SET_FEATURES) => "set features",
            Self::Admin(ADMIN::GET_FEATURES) => "get features",
            Self::ASYNC_EVENT => "async event request",
            Self::KEEP_ALIVE => "keep alive",
            Self::FLUSH => "flush",
            Self::WRITE => "write",
            Self::READ => "read",
            Self::Io(IO::WRITE_ZEROES) => "write zeroes",
            _ => return None,
        })
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self) {
            (Some(name), _) => f.write_str(name),
            (None, Self::Fabrics(kind)) => write!(f, "fabrics {kind:#04x}"),
            (None, Self::Admin(opcode)) => write!(f, "admin {opcode:#04x}"),
            (None, Self::Io(opcode)) => write!(f, "io {opcode:#04x}"),
        }
    }
}

impl Serialize for Verb {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
