//! What can happen on a host, as one closed list.
//!
//! Owns: the event, who it is about, where it comes from, and the trace format that records it. Every source (BPF,
//! uevents, sysfs polling, a trace) speaks it, and [`crate::watch`] folds it. Does not own: how a source learns of it,
//! nor what it means for a volume.

mod look;
pub mod trace;

pub use look::{ControllerSeen, HeadSeen, LegSeen, Look};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fabric::{
    AnaGroup, AnaState, BootNs, Cntlid, ControllerName, ControllerState, DiskName, Endpoint,
    Generation, Host, Nqn, Nsid, UnixNs, Uuid,
};

/// One controller among all that ever had its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ControllerId {
    /// The kernel's name, reused as soon as it is free.
    pub name: ControllerName,
    /// Tells apart those that had it one after the other.
    #[serde(rename = "gen")]
    pub generation: Generation,
}

impl std::fmt::Display for ControllerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.name.fmt(f)
    }
}

/// Where an event comes from, which decides how exact its time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A probe in the kernel: the time of the change itself.
    #[default]
    Bpf,
    /// A uevent: the time of its arrival.
    Uevent,
    /// A comparison of two looks at sysfs: some time between them.
    Poll,
}

impl Source {
    /// The source's word in JSON and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Uevent => "uevent",
            Self::Poll => "poll",
        }
    }
}

/// An event with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// When, on the boot clock.
    pub time: BootNs,
    /// How far the true time may be from `time`, nanoseconds.
    pub error_ns: u64,
    /// Where from.
    pub source: Source,
    /// What.
    pub event: Event,
}

/// What an attempt to connect came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The target's NVMe status, 0 for success. With Do Not Retry (0x4000) and More (0x2000).
    Status(u16),
    /// The transport's error number, positive.
    Errno(i32),
}

impl Outcome {
    /// From the kernel's convention: 0 and positive numbers are statuses, negative ones error numbers.
    #[must_use]
    pub fn from_kernel(result: i32) -> Self {
        match u16::try_from(result) {
            Ok(status) => Self::Status(status),
            Err(_) => Self::Errno(result.saturating_neg()),
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(0) => f.write_str("connected"),
            Self::Status(status) => write!(f, "status {status:#x}"),
            Self::Errno(errno) => write!(f, "error {errno}"),
        }
    }
}

/// Who asked for a controller's deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleter {
    /// The kernel itself: its time is up, or the target told it not to come back.
    Kernel,
    /// A process, by its command name.
    Command(String),
}

impl Deleter {
    /// From the word in a trace.
    #[must_use]
    pub fn new(word: &str) -> Self {
        match word {
            "kernel" => Self::Kernel,
            command => Self::Command(command.to_owned()),
        }
    }

    /// The word in a trace.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Kernel => "kernel",
            Self::Command(command) => command,
        }
    }
}

/// A namespace as an event names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceId {
    /// Its subsystem.
    pub nqn: Nqn,
    /// Its number there.
    pub nsid: Nsid,
    /// Its UUID, if it has one or the source tells.
    pub uuid: Option<Uuid>,
}

/// All that a leg's routing depends on, besides its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegState {
    /// ANA state; none on a controller without ANA.
    pub ana: Option<AnaState>,
    /// An I/O came back with an ANA status and the log has not been read since.
    pub pending: bool,
    /// Its size agrees with the head's and it is not being removed.
    pub ready: bool,
}

/// Everything that can happen. The words are those of the trace format.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A look at all of sysfs, which had ended at the envelope's time; what it cannot see stays as it was.
    Snapshot {
        /// What it showed.
        host: Box<Host>,
        /// When it began: what changed since then may show or not. None: it took no time.
        began: Option<BootNs>,
    },
    /// A controller is there, or more of its identity is known.
    ControllerAdded {
        /// Which.
        controller: ControllerId,
        /// Its subsystem.
        nqn: Nqn,
        /// Where it connects to.
        endpoint: Option<Endpoint>,
        /// As which host.
        hostnqn: Option<Nqn>,
        /// NVMe controller id; none before its first connect.
        cntlid: Option<Cntlid>,
        /// Its state at that moment.
        state: ControllerState,
        /// The network interface that its connection goes through.
        interface: Option<String>,
    },
    /// A controller is gone for good.
    ControllerRemoved {
        /// Which.
        controller: ControllerId,
    },
    /// A controller's state changes.
    ControllerState {
        /// Whose.
        controller: ControllerId,
        /// From.
        old: ControllerState,
        /// To.
        new: ControllerState,
    },
    /// A controller's deletion has been asked for.
    Delete {
        /// Which.
        controller: ControllerId,
        /// Who asked.
        by: Deleter,
    },
    /// The transport has noticed that a connection is dead and tears it down.
    Recovery {
        /// Whose.
        controller: ControllerId,
    },
    /// A keep-alive came back with an error.
    KeepAliveFailed {
        /// Whose.
        controller: ControllerId,
    },
    /// `fast_io_fail_tmo` of a controller has run out.
    FailfastExpired {
        /// Whose.
        controller: ControllerId,
    },
    /// The target's answer to a connect.
    Connect {
        /// Whose.
        controller: ControllerId,
        /// Attempts since it was last live.
        attempt: u32,
        /// The answer.
        result: Outcome,
    },
    /// The host decides whether to try again.
    Reconnect {
        /// Whose.
        controller: ControllerId,
        /// Attempts since it was last live; 0 when the first is scheduled.
        attempt: u32,
        /// What the last attempt came to; none where the kernel does not say.
        result: Option<Outcome>,
    },
    /// The state of an ANA group is stored in these namespaces' legs; nothing is pending there any more.
    Ana {
        /// Whose log.
        controller: ControllerId,
        /// The group.
        group: AnaGroup,
        /// Its state.
        state: AnaState,
        /// Its namespaces.
        nsids: Vec<Nsid>,
        /// The group has more than are listed.
        more: bool,
    },
    /// An I/O failed with an ANA status: the leg is not routed to until the log has been read.
    AnaPending {
        /// Whose leg.
        controller: ControllerId,
        /// To which namespace.
        nsid: Nsid,
    },
    /// A leg is there.
    LegAdded {
        /// Whose.
        controller: ControllerId,
        /// To which namespace.
        nsid: Nsid,
        /// Its subsystem, where the source knows it.
        nqn: Option<Nqn>,
        /// Its UUID, if it has one.
        uuid: Option<Uuid>,
        /// Its name, if known.
        name: Option<DiskName>,
        /// ANA group; none without ANA.
        group: Option<AnaGroup>,
        /// Its words.
        state: LegState,
    },
    /// The words of a leg, read where they are.
    LegWords {
        /// Whose.
        controller: ControllerId,
        /// To which namespace.
        nsid: Nsid,
        /// Its words.
        state: LegState,
    },
    /// A leg's size has come to agree with its head's, or ceased to.
    LegReady {
        /// Whose.
        controller: ControllerId,
        /// To which namespace.
        nsid: Nsid,
        /// Whether it agrees.
        ready: bool,
    },
    /// A leg is being removed.
    LegRemoved {
        /// Whose.
        controller: ControllerId,
        /// To which namespace.
        nsid: Nsid,
    },
    /// A namespace's multipath disk appears.
    HeadAdded {
        /// Which namespace.
        namespace: NamespaceId,
    },
    /// A namespace's multipath disk goes: its I/O fails from now on.
    HeadRemoved {
        /// Which namespace.
        namespace: NamespaceId,
        /// Whether somebody has it open; none when the source does not tell.
        held: Option<bool>,
    },
    /// I/O came back over a leg with a path error and is sent over another.
    Failover {
        /// Whose leg.
        controller: ControllerId,
        /// To which namespace.
        nsid: Nsid,
        /// The last of the statuses.
        status: u16,
        /// How many since the last such event.
        count: u64,
        /// When the oldest of them had been sent.
        oldest: Option<BootNs>,
    },
    /// The kernel held I/O of a namespace for want of a usable leg.
    Requeued {
        /// Which namespace.
        namespace: NamespaceId,
        /// How many since the last such event.
        count: u64,
        /// All of them were counted.
        exact: bool,
    },
    /// The kernel failed I/O of a namespace for want of a leg.
    Failed {
        /// Which namespace.
        namespace: NamespaceId,
        /// How many since the last such event.
        count: u64,
        /// All of them were counted.
        exact: bool,
    },
    /// A network interface goes down or comes up.
    Link {
        /// Its name.
        ifname: String,
        /// Which.
        up: bool,
    },
    /// What the control plane wants of a subsystem.
    Desired {
        /// Which subsystem.
        nqn: Nqn,
        /// Endpoints that are wanted.
        published: Vec<Endpoint>,
        /// Endpoints that others have taken the place of.
        superseded: Vec<Endpoint>,
        /// When it was asked.
        fetched_at: UnixNs,
        /// How long that is good for.
        max_age: Duration,
    },
    /// A migration comes to a phase.
    Migration {
        /// Its name.
        id: String,
        /// The phase.
        phase: String,
        /// Of which subsystem.
        nqn: Nqn,
        /// Where to.
        targets: Vec<Endpoint>,
    },
    /// Events are missing before this one.
    Lost {
        /// How many, at least.
        count: u64,
    },
    /// Pairs the boot clock with wall time.
    Wall {
        /// Wall time at the envelope's time.
        unix_ns: UnixNs,
    },
}

impl Event {
    /// The event's word in traces, logs and metrics.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Snapshot { .. } => "snapshot",
            Self::ControllerAdded { .. } => "controller-added",
            Self::ControllerRemoved { .. } => "controller-removed",
            Self::ControllerState { .. } => "controller-state",
            Self::Delete { .. } => "delete",
            Self::Recovery { .. } => "recovery",
            Self::KeepAliveFailed { .. } => "keep-alive-failed",
            Self::FailfastExpired { .. } => "failfast-expired",
            Self::Connect { .. } => "connect",
            Self::Reconnect { .. } => "reconnect",
            Self::Ana { .. } => "ana",
            Self::AnaPending { .. } => "ana-pending",
            Self::LegAdded { .. } => "leg-added",
            Self::LegWords { .. } => "leg-words",
            Self::LegReady { .. } => "leg-ready",
            Self::LegRemoved { .. } => "leg-removed",
            Self::HeadAdded { .. } => "head-added",
            Self::HeadRemoved { .. } => "head-removed",
            Self::Failover { .. } => "failover",
            Self::Requeued { .. } => "requeued",
            Self::Failed { .. } => "failed",
            Self::Link { .. } => "link",
            Self::Desired { .. } => "desired",
            Self::Migration { .. } => "migration",
            Self::Lost { .. } => "lost",
            Self::Wall { .. } => "wall",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_results_are_statuses_or_error_numbers() {
        assert_eq!(Outcome::from_kernel(0), Outcome::Status(0));
        assert_eq!(Outcome::from_kernel(0x4182), Outcome::Status(0x4182));
        assert_eq!(Outcome::from_kernel(-111), Outcome::Errno(111));
        assert_eq!(Outcome::from_kernel(i32::MIN), Outcome::Errno(i32::MAX));
    }
}
