//! A window: an interval in which a namespace that has been usable is not.

use std::hash::Hasher;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    event::{ControllerId, Source},
    fabric::{BootNs, Endpoint, Nqn, Nsid, Uuid},
};

use super::{Bounds, links::Nearby};

/// A namespace's identity: NQN and UUID, or NQN and NSID where it has no UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamespaceKey {
    /// The subsystem.
    pub nqn: Nqn,
    /// The namespace's UUID.
    pub uuid: Option<Uuid>,
    /// Its NSID, where there is no UUID to tell it by.
    pub nsid: Option<Nsid>,
}

impl NamespaceKey {
    /// The identity of a namespace that was seen with these.
    #[must_use]
    pub fn new(nqn: &Nqn, uuid: Option<Uuid>, nsid: Nsid) -> Self {
        Self {
            nqn: nqn.clone(),
            uuid,
            nsid: uuid.is_none().then_some(nsid),
        }
    }
}

/// Names a window: the same trace gives the same ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WindowId(String);

impl WindowId {
    /// From the boot, the beginning and the namespace; two windows of one namespace never begin together.
    fn new(boot_id: &str, begin: BootNs, key: &NamespaceKey) -> Self {
        let mut hash = Fnv::default();
        hash.write(key.nqn.as_str().as_bytes());
        match (key.uuid, key.nsid) {
            (Some(uuid), _) => hash.write(uuid.to_string().as_bytes()),
            (None, Some(nsid)) => hash.write(&nsid.0.to_le_bytes()),
            (None, None) => {}
        }
        let boot: String = boot_id.chars().take(8).collect();
        Self(format!(
            "{boot}-{:x}-{:08x}",
            begin.0,
            hash.finish() & 0xffff_ffff
        ))
    }
}

impl std::fmt::Display for WindowId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// FNV-1a: ids must not change with the standard library's hasher.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Why a namespace's last usable leg went, or its first came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// The ANA log said so.
    AnaLog,
    /// An I/O came back with an ANA status.
    AnaError,
    /// The controller changed its state.
    ControllerState,
    /// A leg was added.
    LegAdded,
    /// A leg was removed.
    LegRemoved,
    /// The leg's size did not agree with the head's.
    NotReady,
    /// The multipath disk went.
    HeadRemoved,
    /// A process took the paths away, and nobody used the namespace any longer.
    Removed,
    /// It was so when the agent first looked, or was found out without the event.
    Unknown,
}

impl CauseKind {
    /// The word in JSON and text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnaLog => "ana-log",
            Self::AnaError => "ana-error",
            Self::ControllerState => "controller-state",
            Self::LegAdded => "leg-added",
            Self::LegRemoved => "leg-removed",
            Self::NotReady => "not-ready",
            Self::HeadRemoved => "head-removed",
            Self::Removed => "removed",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it is the target's word on who may serve, not a failure.
    const fn is_ana(self) -> bool {
        matches!(self, Self::AnaLog | Self::AnaError)
    }
}

/// A cause and the controller it came by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// What.
    pub kind: CauseKind,
    /// Through which controller; none when it is not known.
    pub controller: Option<ControllerId>,
    /// That controller's endpoint, which outlives its name.
    pub endpoint: Option<String>,
    /// That controller's network interface, if it was down at the time or shortly before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearby: Option<Nearby>,
}

/// A cause as long as nobody asks for it: most events change nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Because<'a> {
    pub(super) kind: CauseKind,
    pub(super) controller: Option<ControllerId>,
    pub(super) endpoint: Option<&'a Endpoint>,
    pub(super) nearby: Option<&'a Nearby>,
}

impl Because<'_> {
    pub(super) const fn of_nobody(kind: CauseKind) -> Self {
        Self {
            kind,
            controller: None,
            endpoint: None,
            nearby: None,
        }
    }

    pub(super) fn cause(&self) -> Cause {
        Cause {
            kind: self.kind,
            controller: self.controller,
            endpoint: self.endpoint.map(ToString::to_string),
            nearby: self.nearby.cloned(),
        }
    }
}

/// What the kernel does with I/O meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It is held.
    Queued,
    /// It would be failed.
    Failing,
    /// No leg is left to hold it for.
    Lost,
}

/// What kind of event the window belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Taken from one controller by ANA and given to another by ANA, both live throughout; or in a known migration.
    Cutover,
    /// Anything else.
    Outage,
}

/// The highest bound that a length is above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Above {
    /// What a cutover is designed to take.
    Design,
    /// What healthy ones take.
    Warn,
    /// What applications survive.
    Critical,
}

impl Above {
    /// Of a length in nanoseconds; the bounds are exclusive.
    #[must_use]
    pub fn of(length_ns: u64, bounds: &Bounds) -> Option<Self> {
        let length = std::time::Duration::from_nanos(length_ns);
        [
            (bounds.critical, Self::Critical),
            (bounds.warn, Self::Warn),
            (bounds.design, Self::Design),
        ]
        .into_iter()
        .find_map(|(bound, above)| (length > bound).then_some(above))
    }
}

/// A leg's usability changes while the window is open, or with its edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegChange {
    /// When.
    pub time: BootNs,
    /// The leg's name; its controller's where the kernel's name for the leg is not known.
    pub leg: String,
    /// What it became.
    pub usable: bool,
    /// Why.
    pub why: CauseKind,
}

impl Serialize for LegChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.time, &self.leg, self.usable, self.why).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LegChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (time, leg, usable, why) = Deserialize::deserialize(deserializer)?;
        Ok(Self {
            time,
            leg,
            usable,
            why,
        })
    }
}

/// How many leg changes one window keeps; a flapping path would fill memory otherwise.
pub(super) const MAX_LEG_CHANGES: usize = 64;

/// One window. What is not known is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its name.
    pub id: WindowId,
    /// Subsystem.
    pub nqn: Nqn,
    /// Namespace.
    pub nsid: Nsid,
    /// Namespace UUID.
    pub uuid: Option<Uuid>,
    /// The boot whose clock the times are of.
    pub boot_id: String,
    /// Beginning, boot clock.
    pub begin_ns: BootNs,
    /// End, boot clock; none while it is open.
    pub end_ns: Option<BootNs>,
    /// Beginning in wall time.
    pub begin_unix_ms: Option<i64>,
    /// Length; none while it is open and when an end of it was not seen.
    pub duration_ns: Option<u64>,
    /// How long it lasted at least; none when the length is known.
    pub at_least_ns: Option<u64>,
    /// The bound that its length, or what is known of it, is above.
    #[serde(default)]
    pub above: Option<Above>,
    /// Whether it is still open.
    pub open: bool,
    /// It had begun before the agent looked, or events were lost around its beginning.
    pub truncated_begin: bool,
    /// The agent stopped looking before its end, or events were lost around that.
    pub truncated_end: bool,
    /// What it belongs to.
    pub class: Class,
    /// The worst it came to.
    pub severity: Severity,
    /// Since when I/O would have failed.
    pub failing_since_ns: Option<BootNs>,
    /// Why it began.
    pub cause_begin: Cause,
    /// Why it ended.
    pub cause_end: Option<Cause>,
    /// What its legs did.
    pub legs: Vec<LegChange>,
    /// When the oldest I/O that failed over at its beginning had been sent: the trouble began no later.
    #[serde(default)]
    pub trouble_ns: Option<BootNs>,
    /// I/Os that the kernel held for want of a leg.
    pub requeued: Option<u64>,
    /// I/Os that it failed for want of one.
    pub failed: Option<u64>,
    /// Every one of them was counted.
    #[serde(default)]
    pub exact: bool,
    /// The least exact source of the two ends.
    pub source: Source,
    /// How far each end may be from the truth, nanoseconds.
    pub error_ns: u64,
    /// The migration it lies in.
    pub migration: Option<String>,
    /// Whether all controllers of its namespace stayed as they were since it began.
    #[serde(skip)]
    pub(super) controllers_steady: bool,
}

impl Window {
    /// An open one as it stands at a time: it has lasted until then.
    #[must_use]
    pub fn lasting_to(&self, now: BootNs) -> Self {
        let lasted = now.saturating_since(self.begin_ns).as_nanos();
        Self {
            at_least_ns: u64::try_from(lasted).ok(),
            ..self.clone()
        }
    }

    /// Its length, or what it lasted at least; none while it is open.
    #[must_use]
    pub fn known_ns(&self) -> Option<u64> {
        self.duration_ns.or(self.at_least_ns)
    }
}

/// An edge of a window.
pub(super) struct Edge {
    pub(super) time: BootNs,
    pub(super) error_ns: u64,
    pub(super) source: Source,
    pub(super) cause: Cause,
}

impl Window {
    pub(super) fn open(
        boot_id: &str,
        key: &NamespaceKey,
        nsid: Nsid,
        edge: Edge,
        begin_unix_ms: Option<i64>,
    ) -> Self {
        Self {
            id: WindowId::new(boot_id, edge.time, key),
            nqn: key.nqn.clone(),
            nsid,
            uuid: key.uuid,
            boot_id: boot_id.to_owned(),
            begin_ns: edge.time,
            end_ns: None,
            begin_unix_ms,
            duration_ns: None,
            at_least_ns: None,
            above: None,
            open: true,
            truncated_begin: false,
            truncated_end: false,
            class: Class::Outage,
            severity: Severity::Queued,
            failing_since_ns: None,
            cause_begin: edge.cause,
            cause_end: None,
            legs: Vec::new(),
            trouble_ns: None,
            requeued: None,
            failed: None,
            exact: true,
            source: edge.source,
            error_ns: edge.error_ns,
            migration: None,
            controllers_steady: true,
        }
    }

    /// Ends it; `truncated` when that is only as far as it was watched.
    pub(super) fn close(&mut self, edge: Edge, truncated: bool, bounds: &Bounds) {
        let length = edge.time.saturating_since(self.begin_ns);
        let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        self.open = false;
        self.end_ns = Some(edge.time);
        self.truncated_end |= truncated;
        let whole = !self.truncated_begin && !self.truncated_end;
        self.duration_ns = whole.then_some(length);
        self.at_least_ns = (!whole).then_some(length);
        self.above = Above::of(length, bounds);
        self.source = self.source.max(edge.source);
        self.error_ns = self.error_ns.max(edge.error_ns);
        let handed_over = edge.cause.controller != self.cause_begin.controller;
        let by_ana = whole
            && self.controllers_steady
            && handed_over
            && self.cause_begin.kind.is_ana()
            && edge.cause.kind.is_ana();
        if by_ana || self.migration.is_some() {
            self.class = Class::Cutover;
        }
        self.cause_end = Some(edge.cause);
    }

    pub(super) fn ended_within(&self, span: std::time::Duration, now: BootNs) -> bool {
        self.end_ns
            .is_some_and(|end| now.saturating_since(end) <= span)
    }

    /// Something is missing of one that has ended: what it lasted is no more than a lower bound.
    pub(super) fn truncate(&mut self) {
        self.truncated_begin = true;
        self.at_least_ns = self.at_least_ns.or(self.duration_ns.take());
    }

    /// Takes in what the kernel does with I/O now; whether that is worse than before.
    pub(super) fn worsen(&mut self, severity: Severity, time: BootNs) -> bool {
        if severity > Severity::Queued && self.failing_since_ns.is_none() {
            self.failing_since_ns = Some(time);
        }
        let worse = severity > self.severity;
        self.severity = self.severity.max(severity);
        worse
    }

    /// Takes in what the kernel held or failed meanwhile.
    pub(super) fn count(&mut self, requeued: Option<u64>, failed: Option<u64>, exact: bool) {
        let add = |sum: &mut Option<u64>, count: Option<u64>| {
            if let Some(count) = count {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        };
        add(&mut self.requeued, requeued);
        add(&mut self.failed, failed);
        self.exact &= exact;
    }

    pub(super) fn note_leg(&mut self, change: LegChange) {
        if self.legs.len() < MAX_LEG_CHANGES {
            self.legs.push(change);
        }
    }
}
