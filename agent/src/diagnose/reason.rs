//! Why something is not done: stable names, which machines read.

use std::fmt;

use serde::{Serialize, Serializer};

/// A guard's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The object is another than the planned one by now.
    IdentityChanged,
    /// Not all of the identity is known.
    IdentityIncomplete,
    /// Two controllers answer to this identity.
    AmbiguousIdentity,
    /// Not a controller of a fabric.
    NotAFabric,
    /// A discovery controller.
    Discovery,
    /// Connected as another host.
    ForeignHost,
    /// On the node's exclusion list.
    Excluded,
    /// Another tool owns the connection.
    OwnedByOther,
    /// A delete is under way.
    DeleteInProgress,
    /// Without multipath it cannot be told who serves what.
    MultipathOff,
    /// The node is shutting down.
    NodeShuttingDown,
    /// A namespace of the subsystem has no usable leg, or none that is certain.
    SubsystemDark,
    /// The namespace in question would lose its last usable leg.
    LastUsablePath,
    /// Another namespace would.
    CoTenantAtRisk,
    /// The endpoint has a usable leg.
    StillServing,
    /// A disk that would go with it is mounted, held or swap.
    InUse,
    /// Not old enough.
    TooYoung,
    /// Repaired a moment ago.
    CoolDown,
    /// The budget of this hour is spent.
    RateLimited,
    /// A migration names the endpoint.
    MigrationInFlight,
    /// Nobody says what is wanted.
    DesiredUnknown,
    /// What is wanted was said too long ago.
    DesiredStale,
    /// Nobody watched for long enough.
    HistoryIncomplete,
    /// Only observing.
    ObserveOnly,
    /// Paused.
    Paused,
}

impl Reason {
    /// The name that machines read. It never changes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IdentityChanged => "identity-changed",
            Self::IdentityIncomplete => "identity-incomplete",
            Self::AmbiguousIdentity => "ambiguous-identity",
            Self::NotAFabric => "not-a-fabric",
            Self::Discovery => "discovery",
            Self::ForeignHost => "foreign-host",
            Self::Excluded => "excluded",
            Self::OwnedByOther => "owned-by-other",
            Self::DeleteInProgress => "delete-in-progress",
            Self::MultipathOff => "multipath-off",
            Self::NodeShuttingDown => "node-shutting-down",
            Self::SubsystemDark => "subsystem-dark",
            Self::LastUsablePath => "last-usable-path",
            Self::CoTenantAtRisk => "co-tenant-at-risk",
            Self::StillServing => "still-serving",
            Self::InUse => "in-use",
            Self::TooYoung => "too-young",
            Self::CoolDown => "cool-down",
            Self::RateLimited => "rate-limited",
            Self::MigrationInFlight => "migration-in-flight",
            Self::DesiredUnknown => "desired-unknown",
            Self::DesiredStale => "desired-stale",
            Self::HistoryIncomplete => "history-incomplete",
            Self::ObserveOnly => "observe-only",
            Self::Paused => "paused",
        }
    }

    /// What it means, for people.
    #[must_use]
    pub fn explanation(self) -> &'static str {
        match self {
            Self::IdentityChanged => "it is another controller by now",
            Self::IdentityIncomplete => "not all of its identity is known",
            Self::AmbiguousIdentity => "two controllers answer to its identity",
            Self::NotAFabric => "it is not a fabric's",
            Self::Discovery => "it is a discovery controller",
            Self::ForeignHost => "it is connected as another host",
            Self::Excluded => "the node's exclusion list names it",
            Self::OwnedByOther => "another tool owns the connection",
            Self::DeleteInProgress => "a delete is under way",
            Self::MultipathOff => "without multipath it cannot be told who serves what",
            Self::NodeShuttingDown => "the node is shutting down",
            Self::SubsystemDark => "a namespace of its subsystem has no usable leg for certain",
            Self::LastUsablePath => "it is the last usable leg",
            Self::CoTenantAtRisk => "another namespace would lose its last usable leg",
            Self::StillServing => "it still serves",
            Self::InUse => "a disk that goes with it is in use",
            Self::TooYoung => "it has not been like this for long enough",
            Self::CoolDown => "it was repaired a moment ago",
            Self::RateLimited => "the hour's budget is spent",
            Self::MigrationInFlight => "a migration names its endpoint",
            Self::DesiredUnknown => "nobody says what is wanted",
            Self::DesiredStale => "what is wanted was said too long ago",
            Self::HistoryIncomplete => "nobody watched, so its age is not known",
            Self::ObserveOnly => "only observing",
            Self::Paused => "repair is paused",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
