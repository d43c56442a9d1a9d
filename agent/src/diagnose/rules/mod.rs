//! The rules: each looks at a host for one kind of fault. None knows of another, except where a fault would be told
//! twice.

mod absences;
mod controllers;
mod deletes;
mod identities;
mod namespaces;
mod signs;
mod subsystems;
mod timeouts;

pub(super) use identities::doubles;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::guards::{self, Removal};
use super::{Action, AtRisk, Case, Finding, Kind, Reason, Verdict};
use crate::fabric::{
    AnaState, Controller, ControllerKind, ControllerName, ControllerState, Identity, Layout,
    Namespace, Nqn, Subsystem,
};

/// What every rule found.
pub(super) fn all(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    controllers::find(case, &mut findings);
    namespaces::find(case, &mut findings);
    subsystems::find(case, &mut findings);
    identities::find(case, &mut findings);
    timeouts::find(case, &mut findings);
    deletes::find(case, &mut findings);
    absences::find(case, &mut findings);
    signs::find(case, &mut findings);
    findings
}

impl<'a> Case<'a> {
    /// Whether a controller is one that rules are about: on a fabric, there to carry namespaces, read completely.
    fn concerns(&self, controller: &Controller) -> bool {
        controller.is_fabric()
            && controller.kind.value() != Some(&ControllerKind::Admin)
            && !controller.is_discovery(self.view.subsystem_of(controller))
            && !self.view.is_transient_controller(controller.name)
    }

    /// The controllers that rules are about.
    fn controllers(&self) -> impl Iterator<Item = &'a Controller> {
        self.subject
            .host
            .controllers
            .iter()
            .filter(|controller| self.concerns(controller))
    }

    /// Subsystems that a fabric reaches, or that nothing reaches any more, and that could be read.
    fn subsystems(&self) -> impl Iterator<Item = &'a Subsystem> {
        self.subject.host.subsystems.iter().filter(|subsystem| {
            let members = self.view.controllers_of(subsystem.name);
            !subsystem.is_discovery()
                && (members.is_empty()
                    || members
                        .iter()
                        .any(|c| c.is_fabric() || c.transport.value().is_none()))
        })
    }

    /// A subsystem's NQN, by the word of its controllers where its own could not be read.
    fn nqn_of(&self, subsystem: &'a Subsystem) -> Option<&'a Nqn> {
        subsystem.nqn.value().or_else(|| {
            let members = self.view.controllers_of(subsystem.name);
            members
                .iter()
                .find_map(|controller| controller.subsysnqn.value())
        })
    }

    /// The kernel's subsystems by their NQN: usually one each.
    fn by_nqn(&self) -> BTreeMap<&'a Nqn, Vec<&'a Subsystem>> {
        let mut by_nqn: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for subsystem in self.subsystems() {
            if let Some(nqn) = self.nqn_of(subsystem) {
                by_nqn.entry(nqn).or_default().push(subsystem);
            }
        }
        by_nqn
    }

    /// The kernel's subsystems of one NQN.
    fn instances_of(&self, nqn: &'a Nqn) -> impl Iterator<Item = &'a Subsystem> {
        self.subsystems()
            .filter(move |subsystem| self.nqn_of(subsystem) == Some(nqn))
    }

    /// Whether all that belongs to a subsystem could be read, its own attributes aside.
    fn is_whole(&self, subsystem: &Subsystem) -> bool {
        let transient = |object: &dyn ToString| self.view.is_transient(&object.to_string());
        let member = |c: &&Controller| {
            self.view.is_transient_controller(c.name) || self.torn.contains(&c.name)
        };
        self.subject.host.unchecked.is_empty()
            || !(transient(&subsystem.name)
                || self.view.controllers_of(subsystem.name).iter().any(member)
                || self.unplaced()
                || subsystem.namespaces.iter().any(|namespace| {
                    namespace
                        .head
                        .as_ref()
                        .is_some_and(|head| transient(&head.name))
                        || namespace.legs.iter().any(|leg| transient(&leg.name))
                }))
    }

    /// Whether there is a controller that could not be read and may belong to any subsystem.
    fn unplaced(&self) -> bool {
        self.subject.host.controllers.iter().any(|controller| {
            controller.subsystem.is_none()
                && controller.subsysnqn.value().is_none()
                && self.view.is_transient_controller(controller.name)
        })
    }

    /// Whether a namespace is what is asked about, or nothing else is.
    fn asks_about(&self, subsystem: &'a Subsystem, namespace: &Namespace) -> bool {
        let asked = subsystem
            .nqn
            .value()
            .and_then(|nqn| self.subject.expectation.namespace_asked(nqn));
        asked.is_none_or(|id| id.names(namespace))
    }

    /// A finding about one controller.
    fn about(&self, kind: Kind, controller: &Controller, verdict: Verdict) -> Finding {
        let past = self.subject.past;
        Finding {
            controller: Some(controller.name),
            cntlid: controller.cntlid.value().copied(),
            generation: controller.generation,
            controllers: vec![controller.name],
            since: past.of(controller).map(|seen| seen.unchanged_since),
            age: past.age(controller),
            at_risk: self.survivors.at_risk_names(&self.view, controller.name),
            ..Finding::new(kind, controller.identity(), verdict)
        }
    }

    /// A finding about a whole subsystem and these of its controllers.
    fn about_subsystem<'c>(
        &self,
        kind: Kind,
        nqn: Option<&Nqn>,
        controllers: impl IntoIterator<Item = &'c Controller>,
        verdict: Verdict,
    ) -> Finding {
        let identity = Identity {
            endpoint: None,
            subsysnqn: nqn.cloned(),
            hostnqn: None,
        };
        let controllers = self.in_teardown_order(controllers);
        let mut at_risk: Vec<AtRisk> = controllers
            .iter()
            .flat_map(|name| self.survivors.at_risk_names(&self.view, *name))
            .collect();
        at_risk.sort();
        at_risk.dedup();
        Finding {
            controllers,
            at_risk,
            ..Finding::new(kind, identity, verdict)
        }
    }

    /// The order in which controllers would be torn down: those without a usable leg first, the optimized path last,
    /// and among equals the newest first, as far as it shows.
    fn in_teardown_order<'c>(
        &self,
        controllers: impl IntoIterator<Item = &'c Controller>,
    ) -> Vec<ControllerName> {
        let mut controllers: Vec<&Controller> = controllers.into_iter().collect();
        controllers.sort_by_key(|controller| {
            let legs = self.view.legs_of(controller.name);
            let worth = legs
                .iter()
                .filter(|at| at.standing.usable() != Some(false))
                .map(|at| {
                    let optimized = at
                        .leg
                        .ana
                        .value()
                        .is_none_or(|ana| *ana == AnaState::Optimized);
                    if optimized { 2 } else { 1 }
                });
            let age = self.subject.past.age(controller);
            (worth.max().unwrap_or(0), age, Reverse(controller.name))
        });
        controllers
            .into_iter()
            .map(|controller| controller.name)
            .collect()
    }

    /// Proposes an action, or says which guard forbids it.
    fn judge(&self, action: Action, controller: &Controller, needs_desired: bool) -> Verdict {
        match guards::refusal(
            self,
            &Removal {
                action,
                controller,
                needs_desired,
            },
        ) {
            None => Verdict::Propose(action),
            Some(reason) => Verdict::Refuse {
                action: Some(action),
                reason,
            },
        }
    }
}

/// A line of evidence about a controller's age.
fn age_line(finding: &Finding) -> String {
    match finding.age {
        Some(age) => format!("like this for {}", shown(age)),
        None => "age unknown: nobody watched".to_owned(),
    }
}

/// A length for people.
fn shown(length: std::time::Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// `one leg`, `3 legs`.
fn counted(count: usize, singular: &str, plural: &str) -> String {
    match count {
        0 => format!("no {singular}"),
        1 => format!("1 {singular}"),
        n => format!("{n} {plural}"),
    }
}

/// A namespace for people.
fn namespace_text(namespace: &Namespace) -> String {
    match (namespace.nsid, namespace.uuid) {
        (Some(nsid), Some(uuid)) => format!("namespace {nsid} ({uuid})"),
        (Some(nsid), None) => format!("namespace {nsid}"),
        (None, Some(uuid)) => format!("namespace {uuid}"),
        (None, None) => format!("the namespace of head n{}", namespace.instance),
    }
}

/// Several namespaces for people.
fn namespaces_text(namespaces: &[&Namespace]) -> String {
    match namespaces {
        [one] => namespace_text(one),
        many => {
            let numbers: Vec<String> = many
                .iter()
                .map(|namespace| {
                    namespace
                        .nsid
                        .map_or_else(|| "?".to_owned(), |nsid| nsid.to_string())
                })
                .collect();
            format!("namespaces {}", numbers.join(", "))
        }
    }
}

/// Whether the disks of a subsystem are such that a namespace has one leg per controller.
fn is_shared(namespace: &Namespace) -> bool {
    namespace.head.is_some()
        || namespace
            .legs
            .iter()
            .any(|leg| leg.layout == Layout::Multipath)
}

/// Whether it is live and what is done with it is nobody's business but ours.
fn is_live(controller: &Controller) -> bool {
    controller.state == ControllerState::Live
}

/// The reason of a subsystem that must be left as it is.
const DARK: Verdict = Verdict::Refuse {
    action: None,
    reason: Reason::SubsystemDark,
};
