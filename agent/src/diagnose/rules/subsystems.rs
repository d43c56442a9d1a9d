//! Faults of a subsystem as a whole: `no-namespace`, `redundancy-short`, `ambiguous-head`, `empty-subsystem`,
//! `unattached`.

use super::super::{Action, AtRisk, Case, Finding, Kind, Published, Verdict};
use super::{age_line, counted, is_live, namespaces_text};
use crate::fabric::{Attr, Controller, Endpoint, Fault, Identity, Nqn, Subsystem};

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for subsystem in case.subsystems() {
        no_namespace(case, subsystem, findings);
        empty(case, subsystem, findings);
    }
    for (nqn, instances) in case.by_nqn() {
        redundancy_short(case, nqn, &instances, findings);
        if instances.len() > 1 {
            ambiguous_head(case, nqn, &instances, findings);
        }
    }
    unattached(case, findings);
}

/// Live controllers, and no namespace of any of them.
fn no_namespace(case: &Case<'_>, subsystem: &Subsystem, findings: &mut Vec<Finding>) {
    if !subsystem.namespaces.is_empty()
        || !case.is_whole(subsystem)
        || shares_its_nqn(case, subsystem)
    {
        return;
    }
    let members = case.view.controllers_of(subsystem.name).iter().copied();
    let min_age = case.subject.policy.min_age;
    let live: Vec<&Controller> = members
        .filter(|c| case.view.carries_namespaces(c))
        // A controller lists its namespaces a moment after it became live.
        .filter(|c| case.subject.past.age(c).is_none_or(|age| age >= min_age))
        .collect();
    let Some(first) = live.first() else { return };
    let verdict = case.judge(Action::Rescan, first, false);
    let mut finding = case.about_subsystem(
        Kind::NoNamespace,
        case.nqn_of(subsystem),
        live.iter().copied(),
        verdict,
    );
    finding.age = live.iter().filter_map(|c| case.subject.past.age(c)).min();
    finding.since = live
        .iter()
        .filter_map(|c| case.subject.past.of(c))
        .map(|seen| seen.unchanged_since)
        .max();
    finding.evidence = vec![
        format!(
            "{}, and neither a leg nor a head",
            counted(live.len(), "live controller", "live controllers")
        ),
        age_line(&finding),
    ];
    findings.push(finding);
}

fn shares_its_nqn(case: &Case<'_>, subsystem: &Subsystem) -> bool {
    let nqn = case.nqn_of(subsystem);
    nqn.is_some_and(|nqn| {
        case.instances_of(nqn)
            .any(|other| other.name != subsystem.name)
    })
}

/// A subsystem that nothing is attached to. One whose head is kept is `delayed-removal`'s, one of two of an NQN is
/// `ambiguous-head`'s.
fn empty(case: &Case<'_>, subsystem: &Subsystem, findings: &mut Vec<Finding>) {
    let empty =
        case.view.controllers_of(subsystem.name).is_empty() && subsystem.namespaces.is_empty();
    if !empty || !case.is_whole(subsystem) || shares_its_nqn(case, subsystem) {
        return;
    }
    let mut finding = case.about_subsystem(
        Kind::EmptySubsystem,
        case.nqn_of(subsystem),
        [],
        Verdict::ReportOnly,
    );
    finding.evidence = vec![format!(
        "{} has no controller and no namespace",
        subsystem.name
    )];
    findings.push(finding);
}

/// A published endpoint without a live controller.
fn redundancy_short(
    case: &Case<'_>,
    nqn: &Nqn,
    instances: &[&Subsystem],
    findings: &mut Vec<Finding>,
) {
    let Published::Known(desired) = case.subject.expectation.published(nqn) else {
        return;
    };
    // One that could not be read may be the one that is missing.
    if case.unplaced() {
        return;
    }
    let attached = instances
        .iter()
        .flat_map(|s| case.view.controllers_of(s.name))
        .copied();
    let loose = case
        .subject
        .host
        .controllers
        .iter()
        .filter(|c| c.subsystem.is_none());
    let members: Vec<&Controller> = attached
        .chain(loose.filter(|c| c.subsysnqn.value() == Some(nqn)))
        .collect();
    if members.is_empty() {
        return;
    }
    for endpoint in &desired.published {
        let there: Vec<&&Controller> = members
            .iter()
            .filter(|c| {
                c.endpoint
                    .value()
                    .is_some_and(|actual| endpoint.covers(actual))
            })
            .collect();
        let hidden = members
            .iter()
            .any(|c| c.endpoint.value().is_none() && case.view.is_transient_controller(c.name));
        let transient = there
            .iter()
            .any(|c| case.view.is_transient_controller(c.name));
        if hidden || transient || there.iter().any(|c| is_live(c)) {
            continue;
        }
        findings.push(short_of(case, nqn, endpoint, &there));
    }
}

fn short_of(case: &Case<'_>, nqn: &Nqn, endpoint: &Endpoint, there: &[&&Controller]) -> Finding {
    let identity = Identity {
        endpoint: Some(endpoint.clone()),
        subsysnqn: Some(nqn.clone()),
        hostnqn: there.first().and_then(|c| c.hostnqn.value().cloned()),
    };
    let mut finding = Finding::new(Kind::RedundancyShort, identity, Verdict::ReportOnly);
    finding.controllers = case.in_teardown_order(there.iter().map(|c| **c));
    finding.controller = match there {
        [only] => Some(only.name),
        _ => None,
    };
    finding.evidence = match there {
        [] => vec!["published, and nothing connects to it".to_owned()],
        some => some
            .iter()
            .map(|c| format!("published, and {} is {}", c.name, c.state_text()))
            .collect(),
    };
    finding
}

/// Two kernel subsystems with one NQN. If some of them have no accessible device the finding is about those.
fn ambiguous_head(
    case: &Case<'_>,
    nqn: &Nqn,
    instances: &[&Subsystem],
    findings: &mut Vec<Finding>,
) {
    let accessible = |subsystem: &Subsystem| {
        subsystem
            .namespaces
            .iter()
            .any(|namespace| case.view.namespace_standing(namespace).usable > 0)
    };
    let dead: Vec<&Subsystem> = instances
        .iter()
        .copied()
        .filter(|s| !accessible(s))
        .collect();
    let about = if dead.is_empty() { instances } else { &dead };
    let members = about
        .iter()
        .flat_map(|s| case.view.controllers_of(s.name))
        .copied();
    let mut finding =
        case.about_subsystem(Kind::AmbiguousHead, Some(nqn), members, Verdict::ReportOnly);
    finding.at_risk = about
        .iter()
        .flat_map(|s| s.namespaces.iter().map(|ns| AtRisk::of(s, ns)))
        .collect();
    finding.at_risk.sort();
    finding.at_risk.dedup();
    finding.evidence = instances
        .iter()
        .map(|subsystem| {
            let members = case.view.controllers_of(subsystem.name);
            let standings = subsystem
                .namespaces
                .iter()
                .map(|ns| case.view.namespace_standing(ns));
            let usable: usize = standings.map(|standing| standing.usable).sum();
            let namespaces: Vec<_> = subsystem.namespaces.iter().collect();
            let serves = match namespaces.as_slice() {
                [] => "no namespace".to_owned(),
                some => format!(
                    "{}, {}",
                    namespaces_text(some),
                    counted(usable, "usable leg", "usable legs")
                ),
            };
            format!(
                "{}: {}, {serves}",
                subsystem.name,
                counted(members.len(), "controller", "controllers")
            )
        })
        .collect();
    findings.push(finding);
}

/// A controller that belongs to no subsystem. It is usual for as long as a first connect takes, when the kernel has
/// no subsystem to show either.
fn unattached(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for controller in &case.subject.host.controllers {
        let first_connect = controller.subsysnqn == Attr::Unreadable(Fault::HalfMade);
        let read = first_connect || !case.view.is_transient_controller(controller.name);
        if controller.subsystem.is_some() || !controller.is_fabric() || !read {
            continue;
        }
        let mut finding = case.about(Kind::Unattached, controller, Verdict::ReportOnly);
        finding.evidence = vec![
            format!("{}, and in no subsystem", controller.state_text()),
            "usual while a controller connects for the first time".to_owned(),
        ];
        findings.push(finding);
    }
}
