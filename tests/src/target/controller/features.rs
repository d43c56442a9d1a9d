//! The features a controller remembers, besides events (see [`super::Events`]).

use crate::target::ids::Uuid;
use crate::target::status::Status;

/// Feature identifiers.
pub(crate) mod id {
    pub(crate) const WRITE_CACHE: u8 = 0x06;
    pub(crate) const QUEUES: u8 = 0x07;
    pub(crate) const EVENTS: u8 = 0x0b;
    pub(crate) const KEEP_ALIVE: u8 = 0x0f;
    pub(crate) const HOST_BEHAVIOUR: u8 = 0x16;
    pub(crate) const HOST_ID: u8 = 0x81;
}

/// Values as set.
#[derive(Debug)]
pub(crate) struct Features {
    write_cache: u32,
    /// Milliseconds; 0 is off. The target does not act on it: a host that falls silent is not its fault to find.
    keep_alive: u32,
}

impl Features {
    pub(crate) fn new(keep_alive: u32) -> Self {
        Self {
            write_cache: 1,
            keep_alive,
        }
    }

    /// Sets a feature that is one dword; what the completion says.
    pub(crate) fn set(&mut self, feature: u8, value: u32) -> Result<u32, Status> {
        match feature {
            id::WRITE_CACHE => self.write_cache = value & 1,
            id::KEEP_ALIVE => self.keep_alive = value,
            // 512 bytes that would change how errors and formats are told; there is nothing to tell.
            id::HOST_BEHAVIOUR => {}
            _ => return Err(Status::INVALID_FIELD.do_not_retry()),
        }
        Ok(0)
    }

    /// A feature's value and the data that goes with it.
    pub(crate) fn get(&self, feature: u8, host: Uuid) -> Result<(u32, Vec<u8>), Status> {
        match feature {
            id::WRITE_CACHE => Ok((self.write_cache, Vec::new())),
            id::KEEP_ALIVE => Ok((self.keep_alive, Vec::new())),
            id::HOST_BEHAVIOUR => Ok((0, vec![0; 512])),
            id::HOST_ID => Ok((1, host.0.to_vec())),
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        }
    }
}
