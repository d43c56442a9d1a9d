//! Namespaces without a usable leg, or not there: `dark`, `never-live`, `namespace-missing`, `delayed-removal`; and
//! legs that disagree with their group: `ana-suspect`.

use std::collections::BTreeMap;

use super::super::{AtRisk, Case, Finding, Kind, NamespaceId, Published, Reason, Verdict};
use super::{DARK, counted, namespace_text, namespaces_text};
use crate::fabric::{
    AnaGroup, AnaState, Controller, Layout, LegStanding, Namespace, Subsystem, Unusable,
};

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for subsystem in case.subsystems() {
        without_usable_leg(case, subsystem, findings);
    }
    missing(case, findings);
    ana_suspect(case, findings);
}

fn without_usable_leg(case: &Case<'_>, subsystem: &Subsystem, findings: &mut Vec<Finding>) {
    let (mut dark, mut never_live, mut delayed) = (Vec::new(), Vec::new(), Vec::new());
    for namespace in &subsystem.namespaces {
        let plain = namespace.legs.iter().any(|leg| leg.layout == Layout::Plain);
        let torn_head = namespace
            .head
            .as_ref()
            .is_some_and(|h| case.view.is_transient(&h.name.to_string()));
        if plain
            || torn_head
            || !case.asks_about(subsystem, namespace)
            || !case.view.namespace_standing(namespace).is_dark()
            || served_by_another_instance(case, subsystem, namespace)
        {
            continue;
        }
        match &namespace.head {
            // A leg that was listed and could not be read may be the usable one.
            _ if !case.is_whole(subsystem) => {}
            Some(head)
                if namespace.legs.is_empty()
                    && head.delayed_removal.is_some_and(|d| !d.is_zero()) =>
            {
                delayed.push(namespace);
            }
            Some(_) => dark.push(namespace),
            None => never_live.push(namespace),
        }
    }
    let sorts = [
        (Kind::Dark, dark, DARK),
        (Kind::NeverLive, never_live, DARK),
        (Kind::DelayedRemoval, delayed, Verdict::ReportOnly),
    ];
    for (kind, namespaces, verdict) in sorts {
        if namespaces.is_empty() {
            continue;
        }
        let members = case.view.controllers_of(subsystem.name).iter().copied();
        let mut finding = case.about_subsystem(kind, case.nqn_of(subsystem), members, verdict);
        if let [only] = namespaces.as_slice() {
            finding.nsid = only.nsid;
        }
        finding.at_risk = namespaces
            .iter()
            .map(|ns| AtRisk::of(subsystem, ns))
            .collect();
        finding.evidence = evidence(case, subsystem, kind, &namespaces);
        findings.push(finding);
    }
}

fn evidence(
    case: &Case<'_>,
    subsystem: &Subsystem,
    kind: Kind,
    namespaces: &[&Namespace],
) -> Vec<String> {
    let what = match kind {
        Kind::Dark => "has a head and no usable leg",
        Kind::NeverLive => "has no head and no usable leg: nothing has used it here",
        _ => "has no leg, and its head is kept by delayed_removal_secs",
    };
    let mut lines = vec![format!("{} {what}", namespaces_text(namespaces))];
    let mut whys: BTreeMap<String, usize> = BTreeMap::new();
    for leg in namespaces
        .iter()
        .flat_map(|ns| ns.legs.iter().map(move |leg| (ns, leg)))
    {
        let (namespace, leg) = leg;
        let why = match case.view.standing(namespace, leg) {
            LegStanding::Unusable(Unusable::Controller(state)) => {
                format!("its controller is {state}")
            }
            LegStanding::Unusable(Unusable::Ana(ana)) => format!("it is {ana}"),
            LegStanding::Unusable(Unusable::NotReady) => {
                "its size is 0 or not the head's".to_owned()
            }
            LegStanding::Usable { .. } | LegStanding::Unknown(_) => continue,
        };
        *whys.entry(format!("{}: {why}", leg.name)).or_default() += 1;
    }
    // A subsystem can have a thousand legs; the first few say enough.
    const SHOWN: usize = 8;
    let more = whys.len().saturating_sub(SHOWN);
    lines.extend(whys.into_keys().take(SHOWN));
    if more > 0 {
        lines.push(format!("and {more} more legs"));
    }
    if case.view.controllers_of(subsystem.name).is_empty() {
        lines.push("the subsystem has no controller".to_owned());
    }
    lines
}

/// Whether another kernel subsystem of the same NQN serves the namespace, or may; that is `ambiguous-head`'s to tell.
fn served_by_another_instance(
    case: &Case<'_>,
    subsystem: &Subsystem,
    namespace: &Namespace,
) -> bool {
    let Some(nqn) = case.nqn_of(subsystem) else {
        return false;
    };
    case.instances_of(nqn)
        .filter(|other| other.name != subsystem.name)
        .flat_map(|other| &other.namespaces)
        .any(|ns| {
            let same = match (ns.uuid, namespace.uuid) {
                (Some(a), Some(b)) => a == b,
                _ => ns.nsid.is_none() || ns.nsid == namespace.nsid,
            };
            same && !case.view.namespace_standing(ns).is_dark()
        })
}

/// A namespace that is asked for, or that a control plane lists, and that is not there while others are.
fn missing(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for (nqn, instances) in case.by_nqn() {
        let asked = case.subject.expectation.namespace_asked(nqn);
        let wanted: Vec<NamespaceId> = match (asked, case.subject.expectation.published(nqn)) {
            (Some(asked), _) => vec![asked],
            (None, Published::Known(desired)) => desired
                .namespaces
                .iter()
                .flatten()
                .map(|namespace| namespace.id)
                .collect(),
            (None, _) => continue,
        };
        let present: Vec<(&Subsystem, &Namespace)> = instances
            .iter()
            .flat_map(|subsystem| subsystem.namespaces.iter().map(move |ns| (*subsystem, ns)))
            .collect();
        if present.is_empty() || !instances.iter().all(|subsystem| case.is_whole(subsystem)) {
            continue;
        }
        for id in wanted {
            if present.iter().any(|(_, namespace)| id.names(namespace)) {
                continue;
            }
            let members = instances
                .iter()
                .flat_map(|s| case.view.controllers_of(s.name))
                .copied();
            let live = members.clone().any(super::is_live);
            if !live {
                continue;
            }
            let verdict = Verdict::Refuse {
                action: None,
                reason: Reason::CoTenantAtRisk,
            };
            let mut finding =
                case.about_subsystem(Kind::NamespaceMissing, Some(nqn), members, verdict);
            if let NamespaceId::Nsid(nsid) = id {
                finding.nsid = Some(nsid);
            }
            finding.at_risk = present.iter().map(|(s, ns)| AtRisk::of(s, ns)).collect();
            finding.evidence = vec![
                format!(
                    "namespace {id} is not there, {} of its subsystem",
                    others(present.len())
                ),
                "hint: look at the target's access list of this host".to_owned(),
            ];
            findings.push(finding);
        }
    }
}

fn others(count: usize) -> String {
    match count {
        1 => "1 other is".to_owned(),
        n => format!("{n} others are"),
    }
}

/// A leg whose ANA state is not that of the others of its group on the same controller.
///
/// A log is applied leg by leg: whoever watches waits until it has been so for a while.
fn ana_suspect(case: &Case<'_>, findings: &mut Vec<Finding>) {
    let min_age = case.subject.policy.min_age;
    let settled = |c: &&Controller| case.subject.past.age(c).is_none_or(|age| age >= min_age);
    for controller in case
        .controllers()
        .filter(|c| super::is_live(c))
        .filter(settled)
    {
        let mut groups: BTreeMap<AnaGroup, BTreeMap<AnaState, Vec<_>>> = BTreeMap::new();
        for at in case.view.legs_of(controller.name) {
            let readable = !case.view.is_transient(&at.leg.name.to_string());
            if let (Some(group), Some(ana), true) = (at.leg.group, at.leg.ana.value(), readable) {
                groups
                    .entry(group)
                    .or_default()
                    .entry(*ana)
                    .or_default()
                    .push(at);
            }
        }
        for (group, states) in groups.into_iter().filter(|(_, states)| states.len() > 1) {
            let mut finding = case.about(Kind::AnaSuspect, controller, Verdict::ReportOnly);
            finding.evidence = vec![format!(
                "legs of ANA group {group} are in {} states",
                states.len()
            )];
            for (ana, legs) in states {
                let first = legs
                    .first()
                    .map_or_else(String::new, |at| namespace_text(at.namespace));
                finding.evidence.push(format!(
                    "{ana}: {} ({first})",
                    counted(legs.len(), "leg", "legs")
                ));
            }
            findings.push(finding);
        }
    }
}
