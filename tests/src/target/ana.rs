//! Asymmetric namespace access: the states a group can be in on a port, and whether a change is announced.

use serde::{Deserialize, Serialize};

use super::status::Status;

/// A group's state as the ANA log spells it (base specification, Asymmetric Namespace Access log).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnaState {
    /// Serves, preferred.
    #[default]
    Optimized,
    /// Serves.
    NonOptimized,
    /// Does not serve.
    Inaccessible,
    /// Does not serve and never will again.
    PersistentLoss,
    /// Between two states; does not serve.
    Change,
}

impl AnaState {
    /// The value in the log.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Optimized => 0x1,
            Self::NonOptimized => 0x2,
            Self::Inaccessible => 0x3,
            Self::PersistentLoss => 0x4,
            Self::Change => 0xf,
        }
    }

    /// What an I/O command is answered with instead of being served.
    pub(crate) fn refusal(self) -> Option<Status> {
        match self {
            Self::Optimized | Self::NonOptimized => None,
            Self::Inaccessible => Some(Status::ANA_INACCESSIBLE),
            Self::PersistentLoss => Some(Status::ANA_PERSISTENT_LOSS),
            Self::Change => Some(Status::ANA_TRANSITION),
        }
    }
}

/// Whether hosts are told of a change by an asynchronous event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Announce {
    /// Every controller that asked for the event gets it.
    #[default]
    Event,
    /// Nobody is told: hosts find out by an I/O error, or not at all.
    Silently,
}
