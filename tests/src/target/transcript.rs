//! What a port saw and did: counters of everything, and a list of what matters (connections, Connects, admin commands,
//! events). Reads and writes are only counted.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::{Serialize, Serializer};

use super::command::{Answer, Command, ConnectRequest, Verb};
use super::controller::Event;
use super::ids::{Cntlid, QueueId};
use super::status::Status;
use super::sync::lock;
use crate::lab::clock::BootNs;

/// The list keeps the newest entries only, this many.
const KEPT: usize = 16 << 10;

/// How often what happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// TCP connections accepted.
    pub accepted: u64,
    /// Connections that ended, either side's doing.
    pub closed: u64,
    /// Handshakes answered.
    pub handshakes: u64,
    /// Commands answered.
    pub commands: BTreeMap<Verb, u64>,
    /// Commands answered with something else than success.
    pub failed: BTreeMap<Verb, u64>,
    /// Statuses of those.
    pub statuses: BTreeMap<Status, u64>,
    /// Requests that a script withheld.
    pub withheld: u64,
    /// Events told.
    pub events: u64,
    /// Times that a host broke the protocol, or said that the target did.
    pub protocol_errors: u64,
    /// Bytes that reads returned.
    pub bytes_read: u64,
    /// Bytes that writes brought.
    pub bytes_written: u64,
}

impl Counters {
    /// How many of these were answered.
    pub fn commands(&self, verb: Verb) -> u64 {
        self.commands.get(&verb).copied().unwrap_or(0)
    }

    /// How many of these were answered with something else than success.
    pub fn failed(&self, verb: Verb) -> u64 {
        self.failed.get(&verb).copied().unwrap_or(0)
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Note {
    /// A TCP connection came in.
    Accepted {
        /// From where.
        peer: SocketAddr,
    },
    /// The transport's handshake was answered.
    Handshake {
        /// Digests that the host asked for and did not get: header (bit 0), data (bit 1).
        digests: u8,
    },
    /// A Connect was answered.
    Connect {
        /// The queue it was for.
        queue: QueueId,
        /// The subsystem's NQN.
        subsystem: String,
        /// The host's NQN.
        host: String,
        /// The controller that it is a queue of.
        cntlid: Option<Cntlid>,
        /// How it was answered.
        status: Status,
    },
    /// Another command of the admin queue was answered.
    Admin {
        /// Which.
        command: Verb,
        /// How it was answered.
        status: Status,
    },
    /// An event was told.
    Event {
        /// To which controller.
        cntlid: Cntlid,
        /// Which.
        event: Event,
    },
    /// A connection ended.
    Closed {
        /// The other end.
        peer: SocketAddr,
        /// Why.
        reason: String,
    },
    /// A host broke the protocol, or said that the target did.
    Broken {
        /// The other end.
        peer: SocketAddr,
        /// What was wrong.
        reason: String,
    },
}

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// On the boot clock, which the kernel's trace shares.
    #[serde(serialize_with = "nanoseconds")]
    pub at: BootNs,
    /// What.
    #[serde(flatten)]
    pub note: Note,
}

fn nanoseconds<S: Serializer>(at: &BootNs, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(at.0)
}

/// What a port saw and did, up to now.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Snapshot {
    /// How often what happened.
    pub counters: Counters,
    /// What happened, oldest first; the newest entries only.
    pub entries: Vec<Entry>,
}

impl Snapshot {
    /// The Connects of admin queues: when, and how they were answered.
    pub fn connects(&self) -> Vec<(BootNs, Status)> {
        let connect = |entry: &Entry| match entry.note {
            Note::Connect {
                queue: QueueId::ADMIN,
                status,
                ..
            } => Some((entry.at, status)),
            _ => None,
        };
        self.entries.iter().filter_map(connect).collect()
    }
}

#[derive(Debug, Default)]
struct Log {
    counters: Counters,
    entries: VecDeque<Entry>,
}

/// A port's memory.
#[derive(Debug, Default)]
pub struct Transcript {
    log: Mutex<Log>,
    grown: Condvar,
}

impl Transcript {
    /// Everything so far.
    pub fn snapshot(&self) -> Snapshot {
        let log = lock(&self.log);
        Snapshot {
            counters: log.counters.clone(),
            entries: log.entries.iter().cloned().collect(),
        }
    }

    /// The counters alone.
    pub fn counters(&self) -> Counters {
        lock(&self.log).counters.clone()
    }

    /// Waits until the counters are as wanted; after `limit` an error that says what for and how they are.
    pub fn wait(
        &self,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&Counters) -> bool,
    ) -> Result<Counters> {
        let deadline = Instant::now() + limit;
        let mut log = lock(&self.log);
        while !wanted(&log.counters) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!(
                    "waited {limit:?} for {what}; the target counts {:?}",
                    log.counters
                );
            }
            log = self
                .grown
                .wait_timeout(log, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Ok(log.counters.clone())
    }

    /// Writes down what needs no more counting than its kind.
    pub(crate) fn note(&self, note: Note) {
        self.write(|log| {
            let counters = &mut log.counters;
            match &note {
                Note::Accepted { .. } => counters.accepted += 1,
                Note::Handshake { .. } => counters.handshakes += 1,
                Note::Event { .. } => counters.events += 1,
                Note::Closed { .. } => counters.closed += 1,
                Note::Broken { .. } => counters.protocol_errors += 1,
                Note::Connect { .. } | Note::Admin { .. } => {}
            }
            log.keep(note);
        });
    }

    /// A command was answered.
    pub(crate) fn command(&self, verb: Verb, command: &Command, answer: &Answer) {
        let status = answer.status;
        let note = match verb {
            Verb::Io(_) => None,
            Verb::CONNECT => {
                let request = ConnectRequest::of(command);
                // The completion of a good Connect carries the controller's number in its lowest bits.
                let cntlid = u16::try_from(answer.result & 0xffff).map(Cntlid).ok();
                Some(Note::Connect {
                    queue: request.queue,
                    subsystem: request.subsystem,
                    host: request.host.nqn,
                    cntlid: cntlid.filter(|_| status.is_success()),
                    status,
                })
            }
            _ => Some(Note::Admin {
                command: verb,
                status,
            }),
        };
        self.write(|log| {
            let counters = &mut log.counters;
            *counters.commands.entry(verb).or_default() += 1;
            if !status.is_success() {
                *counters.failed.entry(verb).or_default() += 1;
                *counters.statuses.entry(status).or_default() += 1;
            } else if verb == Verb::READ {
                counters.bytes_read += bytes(&answer.data);
            } else if verb == Verb::WRITE {
                counters.bytes_written += bytes(&command.data);
            }
            if let Some(note) = note {
                log.keep(note);
            }
        });
    }

    /// A request was withheld.
    pub(crate) fn withheld(&self) {
        self.write(|log| log.counters.withheld += 1);
    }

    pub(crate) fn closed(&self, peer: SocketAddr, reason: &str) {
        self.note(Note::Closed {
            peer,
            reason: reason.to_owned(),
        });
    }

    pub(crate) fn broken(&self, peer: SocketAddr, reason: &str) {
        self.note(Note::Broken {
            peer,
            reason: reason.to_owned(),
        });
    }

    fn write(&self, change: impl FnOnce(&mut Log)) {
        change(&mut lock(&self.log));
        self.grown.notify_all();
    }
}

impl Log {
    fn keep(&mut self, note: Note) {
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry {
            at: BootNs::now(),
            note,
        });
    }
}

fn bytes(data: &[u8]) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}
