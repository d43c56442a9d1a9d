//! What is wrong with a host, why it is believed, and what would be done about it.
//!
//! A pure function of a host ([`crate::fabric::Host`]), what is expected of it ([`Expectation`]), what the node says
//! about its connections ([`Node`]), and what somebody who watched knows of the past ([`Past`]). No I/O, no clock. It
//! does not act: `repair` plans from these findings and binds more guards.
//!
//! Invariants: nothing is concluded from an object that could not be read; what is not known is never taken for
//! empty; no verdict proposes to remove a controller that would leave a namespace without a usable leg, or that is
//! not a fabric's, not this host's, or in use.

mod expectation;
mod finding;
mod guards;
mod node;
mod past;
mod policy;
mod reason;
mod rules;
mod survivors;

pub use expectation::{
    Desired, DesiredNamespace, DesiredSubsystem, Expectation, NamespaceId, Profile, Published,
    Question,
};
pub use finding::{Action, AtRisk, Finding, Kind, Severity, Verdict};
pub use guards::Removal;
pub use node::{Exclusion, Fact, HostId, Node, OWNER, OwnHost};
pub use past::{Absence, Past, Seen};
pub use policy::Policy;
pub use reason::Reason;
pub use survivors::Survivors;

use std::collections::HashSet;

use crate::fabric::{ControllerName, DiskName, Host, View};

/// Everything a diagnosis is made from.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The host.
    pub host: &'a Host,
    /// What is expected of it.
    pub expectation: &'a Expectation,
    /// What the node says about its connections and disks.
    pub node: &'a Node,
    /// What was seen before this moment.
    pub past: &'a Past,
    /// Bounds.
    pub policy: &'a Policy,
}

/// The same with relations at hand: what the rules work on.
struct Case<'a> {
    subject: Subject<'a>,
    view: View<'a>,
    survivors: Survivors,
    own_host: OwnHost,
    /// Controllers that share their identity with another.
    doubles: HashSet<ControllerName>,
    /// Controllers of which a leg was listed and could not be read: what they serve is not known.
    torn: HashSet<ControllerName>,
}

impl<'a> Case<'a> {
    fn new(subject: Subject<'a>) -> Self {
        let view = View::new(subject.host);
        let doubles = rules::doubles(&view)
            .into_iter()
            .flatten()
            .map(|c| c.name)
            .collect();
        let disks = subject
            .host
            .unchecked
            .iter()
            .filter_map(|u| u.object.parse::<DiskName>().ok());
        let torn = disks
            .filter_map(|disk| disk.controller)
            .map(ControllerName::from_instance);
        Self {
            own_host: subject.node.own_host(&view),
            survivors: Survivors::new(&view),
            torn: torn.collect(),
            doubles,
            view,
            subject,
        }
    }
}

/// Finds what is wrong, worst first; the order is stable.
#[must_use]
pub fn diagnose(subject: Subject<'_>) -> Vec<Finding> {
    let mut findings = rules::all(&Case::new(subject));
    if let Some(question) = &subject.expectation.question {
        findings.retain(|finding| question.is_about(finding));
    }
    findings.sort_by(Finding::worst_first);
    // Two kernel subsystems of one NQN can have one fault of one namespace: it is told once.
    findings.dedup_by(|later, first| later.tells_the_same(first));
    findings
}

/// The first guard that forbids an action on a controller; none when nothing here does.
#[must_use]
pub fn refusal(subject: Subject<'_>, removal: &Removal<'_>) -> Option<Reason> {
    guards::refusal(&Case::new(subject), removal)
}
