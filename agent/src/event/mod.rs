//! What can happen on a host, as one closed list.
//!
//! Owns: the event, who it is about, where it comes from. Every source (BPF, sysfs polling, a trace) speaks it, and
//! [`crate::watch`] folds it. Does not own: how a source learns of it, nor what it means for a volume.

mod look;

pub use look::{ControllerSeen, LegSeen, Look};

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
    /// A look at all of sysfs; what it does not see stays as it was.
    Snapshot(Box<Host>),
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
    /// A leg is being removed.
    LegRemoved {
        /// Whose.
        controller: ControllerId,
        /// To which namespace.
        nsid: Nsid,
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
            Self::Snapshot(_) => "snapshot",
            Self::ControllerAdded { .. } => "controller-added",
            Self::ControllerRemoved { .. } => "controller-removed",
            Self::ControllerState { .. } => "controller-state",
            Self::FailfastExpired { .. } => "failfast-expired",
            Self::Connect { .. } => "connect",
            Self::Reconnect { .. } => "reconnect",
            Self::Ana { .. } => "ana",
            Self::AnaPending { .. } => "ana-pending",
            Self::LegAdded { .. } => "leg-added",
            Self::LegWords { .. } => "leg-words",
            Self::LegRemoved { .. } => "leg-removed",
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
