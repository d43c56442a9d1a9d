//! Findings.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::Reason;
use crate::fabric::{
    BootNs, Cntlid, ControllerName, Generation, Identity, Namespace, Nqn, Nsid, Subsystem, Uuid,
};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A namespace that was usable has no usable leg.
    Dark,
    /// Two copies of a namespace may both serve it.
    DoubleOptimized,
    /// A namespace has had no usable leg.
    NeverLive,
    /// The namespace asked for is not there, others of its subsystem are.
    NamespaceMissing,
    /// Live controllers, and no namespace.
    NoNamespace,
    /// A live controller lacks what it is expected to serve.
    NotContributing,
    /// A controller at an endpoint that was declared superseded.
    Superseded,
    /// A controller at an endpoint that is not published.
    StaleEndpoint,
    /// A controller that tries to connect for ever, and nobody wants it to.
    AbandonedConnecting,
    /// A leg that is usable by its flags while its I/O fails over and over.
    Bouncing,
    /// A leg whose ANA state keeps changing.
    Flapping,
    /// A published endpoint without a live controller.
    RedundancyShort,
    /// Two kernel subsystems with one NQN.
    AmbiguousHead,
    /// Two controllers with one identity.
    DuplicateController,
    /// One host NQN with two host ids, or one host id with two host NQNs.
    HostIdentity,
    /// A leg's ANA state is not that of its group.
    AnaSuspect,
    /// A delete that does not end.
    DeleteHung,
    /// Timeouts that let I/O hang for ever, or outlive a migration.
    LossTimeout,
    /// A controller without a subsystem.
    Unattached,
    /// A subsystem without controllers.
    EmptySubsystem,
    /// A head that outlives its legs.
    DelayedRemoval,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 21] = [
        Self::Dark,
        Self::DoubleOptimized,
        Self::NeverLive,
        Self::NamespaceMissing,
        Self::NoNamespace,
        Self::NotContributing,
        Self::Superseded,
        Self::StaleEndpoint,
        Self::AbandonedConnecting,
        Self::Bouncing,
        Self::Flapping,
        Self::RedundancyShort,
        Self::AmbiguousHead,
        Self::DuplicateController,
        Self::HostIdentity,
        Self::AnaSuspect,
        Self::DeleteHung,
        Self::LossTimeout,
        Self::Unattached,
        Self::EmptySubsystem,
        Self::DelayedRemoval,
    ];

    /// The name that machines read. It never changes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::DoubleOptimized => "double-optimized",
            Self::NeverLive => "never-live",
            Self::NamespaceMissing => "namespace-missing",
            Self::NoNamespace => "no-namespace",
            Self::NotContributing => "not-contributing",
            Self::Superseded => "superseded",
            Self::StaleEndpoint => "stale-endpoint",
            Self::AbandonedConnecting => "abandoned-connecting",
            Self::Bouncing => "bouncing",
            Self::Flapping => "flapping",
            Self::RedundancyShort => "redundancy-short",
            Self::AmbiguousHead => "ambiguous-head",
            Self::DuplicateController => "duplicate-controller",
            Self::HostIdentity => "host-identity",
            Self::AnaSuspect => "ana-suspect",
            Self::DeleteHung => "delete-hung",
            Self::LossTimeout => "loss-timeout",
            Self::Unattached => "unattached",
            Self::EmptySubsystem => "empty-subsystem",
            Self::DelayedRemoval => "delayed-removal",
        }
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::Dark | Self::DoubleOptimized => Severity::Critical,
            Self::NeverLive
            | Self::NamespaceMissing
            | Self::NoNamespace
            | Self::NotContributing
            | Self::Superseded
            | Self::StaleEndpoint
            | Self::AbandonedConnecting
            | Self::Bouncing
            | Self::Flapping
            | Self::RedundancyShort
            | Self::AmbiguousHead
            | Self::DuplicateController
            | Self::HostIdentity
            | Self::AnaSuspect
            | Self::DeleteHung => Severity::Warning,
            Self::LossTimeout | Self::Unattached | Self::EmptySubsystem | Self::DelayedRemoval => {
                Severity::Info
            }
        }
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// A defect.
    Warning,
    /// I/O is standing still.
    Critical,
}

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Have the controller look for its namespaces again.
    Rescan,
    /// Remove a controller that serves nothing.
    Reap,
    /// Give an endpoint back.
    Release,
}

/// What follows from a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// This would be done.
    Propose(Action),
    /// It is not done because of this; without an action where the finding forbids every removal.
    Refuse {
        /// What would have been done.
        action: Option<Action>,
        /// Why it is not.
        reason: Reason,
    },
    /// It is for people to judge.
    ReportOnly,
}

/// A namespace that an action would take the last usable leg from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct AtRisk {
    /// Its subsystem.
    pub subsysnqn: Option<Nqn>,
    /// Its number.
    pub nsid: Option<Nsid>,
    /// Its UUID.
    pub uuid: Option<Uuid>,
}

impl AtRisk {
    /// This namespace.
    #[must_use]
    pub fn of(subsystem: &Subsystem, namespace: &Namespace) -> Self {
        Self {
            subsysnqn: subsystem.nqn.value().cloned(),
            nsid: namespace.nsid,
            uuid: namespace.uuid,
        }
    }
}

/// One fault of one identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// Who it is about: a controller's identity, or a subsystem's with a null endpoint.
    pub identity: Identity,
    /// The controller, where it is about one.
    pub controller: Option<ControllerName>,
    /// Its number at the target.
    pub cntlid: Option<Cntlid>,
    /// Which of the controllers of this name.
    pub generation: Option<Generation>,
    /// The namespace, where it is about one.
    pub nsid: Option<Nsid>,
    /// All the controllers it is about, in the order in which they would be torn down.
    pub controllers: Vec<ControllerName>,
    /// Since when it has been so, if somebody watched.
    pub since: Option<BootNs>,
    /// For how long it has been so, if somebody watched.
    pub age: Option<Duration>,
    /// Who would lose the last usable leg if the controllers went.
    pub at_risk: Vec<AtRisk>,
    /// Why it is believed, a fact a line.
    pub evidence: Vec<String>,
    /// What follows.
    pub verdict: Verdict,
}

impl Finding {
    /// A finding of which only kind, identity and verdict are known yet.
    #[must_use]
    pub fn new(kind: Kind, identity: Identity, verdict: Verdict) -> Self {
        Self {
            kind,
            identity,
            controller: None,
            cntlid: None,
            generation: None,
            nsid: None,
            controllers: Vec::new(),
            since: None,
            age: None,
            at_risk: Vec::new(),
            evidence: Vec::new(),
            verdict,
        }
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// Whether both are of one fault of one identity.
    #[must_use]
    pub fn tells_the_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.identity == other.identity
            && self.nsid == other.nsid
            && self.controllers == other.controllers
    }

    /// Worst first, then by kind, subsystem, endpoint and namespace.
    #[must_use]
    pub fn worst_first(&self, other: &Self) -> std::cmp::Ordering {
        let key = |finding: &Self| (Reverse(finding.severity()), finding.kind);
        key(self)
            .cmp(&key(other))
            .then_with(|| self.identity.subsysnqn.cmp(&other.identity.subsysnqn))
            .then_with(|| self.identity.cmp(&other.identity))
            .then_with(|| self.nsid.cmp(&other.nsid))
            .then_with(|| self.controllers.cmp(&other.controllers))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Severity {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Action {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rescan => "rescan",
            Self::Reap => "reap",
            Self::Release => "release",
        }
    }

    /// Whether it removes a controller.
    #[must_use]
    pub fn removes(self) -> bool {
        self != Self::Rescan
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, action, reason) = match *self {
            Self::Propose(action) => ("propose", Some(action), None),
            Self::Refuse { action, reason } => ("refuse", action, Some(reason)),
            Self::ReportOnly => ("report-only", None, None),
        };
        let mut verdict = serializer.serialize_struct("Verdict", 3)?;
        verdict.serialize_field("type", name)?;
        verdict.serialize_field("action", &action)?;
        verdict.serialize_field("reason", &reason)?;
        verdict.end()
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let age = self
            .age
            .map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let mut finding = serializer.serialize_struct("Finding", 12)?;
        finding.serialize_field("kind", &self.kind)?;
        finding.serialize_field("severity", &self.severity())?;
        finding.serialize_field("identity", &self.identity)?;
        finding.serialize_field("controller", &self.controller)?;
        finding.serialize_field("cntlid", &self.cntlid)?;
        finding.serialize_field("nsid", &self.nsid)?;
        finding.serialize_field("controllers", &self.controllers)?;
        finding.serialize_field("since", &self.since)?;
        finding.serialize_field("age_ms", &age)?;
        finding.serialize_field("at_risk", &self.at_risk)?;
        finding.serialize_field("evidence", &self.evidence)?;
        finding.serialize_field("verdict", &self.verdict)?;
        finding.end()
    }
}
