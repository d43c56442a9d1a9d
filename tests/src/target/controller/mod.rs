//! A controller: what one host's Connect to a port made, until its admin connection ends.
//!
//! Lock order: a controller's locks before its port's, and never two of one controller's at a time.

mod events;
pub(crate) mod features;
mod registers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};

pub use events::Event;
pub(crate) use events::Events;
use features::Features;
pub(crate) use registers::Registers;

use super::ids::{Cntlid, Nsid, QueueId, Uuid};
use super::queue::Connection;
use super::status::Status;
use super::subsystem::Subsystem;
use super::sync::lock;

/// Who connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) nqn: String,
    pub(crate) id: Uuid,
}

/// The target's half of an association.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) cntlid: Cntlid,
    /// The number is the subsystem's to give again; not so if a script made it up.
    owns_number: bool,
    pub(crate) subsystem: Arc<Subsystem>,
    pub(crate) host: Host,
    /// I/O queues it has at most.
    pub(crate) io_queues: u16,
    pub(crate) registers: Mutex<Registers>,
    pub(crate) features: Mutex<Features>,
    pub(crate) events: Mutex<Events>,
    queues: Mutex<BTreeMap<QueueId, Weak<Connection>>>,
}

impl Controller {
    /// A controller with this number, or with the lowest free one; nothing if there is none.
    pub(crate) fn create(
        subsystem: Arc<Subsystem>,
        host: Host,
        io_queues: u16,
        keep_alive: u32,
        repeated: Option<Cntlid>,
    ) -> Option<Arc<Self>> {
        let cntlid = match repeated {
            Some(cntlid) => cntlid,
            None => subsystem.take_cntlid()?,
        };
        Some(Arc::new(Self {
            cntlid,
            owns_number: repeated.is_none(),
            subsystem,
            host,
            io_queues,
            registers: Mutex::default(),
            features: Mutex::new(Features::new(keep_alive)),
            events: Mutex::default(),
            queues: Mutex::default(),
        }))
    }

    /// Makes a connection one of its queues.
    pub(crate) fn join(&self, id: QueueId, connection: &Arc<Connection>) -> Result<(), Status> {
        let mut queues = lock(&self.queues);
        if queues
            .get(&id)
            .is_some_and(|queue| queue.strong_count() > 0)
        {
            return Err(Status::SEQUENCE.do_not_retry());
        }
        queues.insert(id, Arc::downgrade(connection));
        Ok(())
    }

    /// A queue's connection has ended.
    pub(crate) fn leave(&self, id: QueueId) {
        lock(&self.queues).remove(&id);
    }

    /// The connection of the admin queue.
    pub(crate) fn admin(&self) -> Option<Arc<Connection>> {
        lock(&self.queues)
            .get(&QueueId::ADMIN)
            .and_then(Weak::upgrade)
    }

    /// All its connections.
    pub(crate) fn connections(&self) -> Vec<Arc<Connection>> {
        lock(&self.queues)
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Something happened that the host may have asked to be told of; telling it is the port's part.
    pub(crate) fn note(&self, event: Event, nsids: &BTreeSet<Nsid>) {
        let mut events = lock(&self.events);
        if event == Event::Namespaces {
            events.changed.extend(nsids);
        }
        events.raise(event);
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if self.owns_number {
            self.subsystem.give_back(self.cntlid);
        }
    }
}
