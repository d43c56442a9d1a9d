//! Identities that are there twice: `duplicate-controller`, `host-identity`.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Case, Finding, Kind, Verdict};
use super::is_live;
use crate::fabric::{Controller, ControllerState, Identity, Nqn, Uuid, View};

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for group in doubles(&case.view) {
        findings.push(duplicate(case, &group));
    }
    host_identity(case, findings);
}

/// Controllers that share an identity, in groups. Those on their way out do not count: a new connection beside one is
/// what the kernel allows. Discovery controllers have no identity of their own to lose.
pub(in super::super) fn doubles<'h>(view: &View<'h>) -> Vec<Vec<&'h Controller>> {
    let mut alike: BTreeMap<_, Vec<&Controller>> = BTreeMap::new();
    for controller in &view.host().controllers {
        let (Some(endpoint), Some(nqn), Some(hostnqn)) = (
            controller.endpoint.value(),
            controller.subsysnqn.value(),
            controller.hostnqn.value(),
        ) else {
            continue;
        };
        let leaving = controller.state.is_deleting() || controller.state == ControllerState::Dead;
        if leaving
            || !controller.is_fabric()
            || controller.is_discovery(view.subsystem_of(controller))
        {
            continue;
        }
        // The rest of an endpoint compares loosely (zones), and only inside these groups.
        let key = (nqn, hostnqn, &endpoint.transport, &endpoint.trsvcid);
        alike.entry(key).or_default().push(controller);
    }
    let mut groups = Vec::new();
    for mut candidates in alike.into_values().filter(|some| some.len() > 1) {
        while let Some(first) = candidates.pop() {
            let identity = first.identity();
            let (mut group, rest): (Vec<_>, Vec<_>) = candidates
                .into_iter()
                .partition(|c| c.identity().same_as(&identity));
            candidates = rest;
            if !group.is_empty() {
                group.push(first);
                groups.push(group);
            }
        }
    }
    groups
}

fn duplicate(case: &Case<'_>, group: &[&Controller]) -> Finding {
    let identity = group.first().map_or_else(
        || Identity {
            endpoint: None,
            subsysnqn: None,
            hostnqn: None,
        },
        |controller| controller.identity(),
    );
    let mut finding = Finding::new(Kind::DuplicateController, identity, Verdict::ReportOnly);
    finding.controllers = case.in_teardown_order(group.iter().copied());
    finding.evidence = vec![format!(
        "{} controllers connect to one endpoint as one host",
        group.len()
    )];
    for controller in group {
        let counts = if is_live(controller) { " (counts)" } else { "" };
        finding.evidence.push(format!(
            "{} is {}{counts}",
            controller.name,
            controller.state_text()
        ));
    }
    finding.evidence.sort();
    finding
}

/// One host NQN with two host ids, or the reverse: targets take the two for different hosts, or for one.
fn host_identity(case: &Case<'_>, findings: &mut Vec<Finding>) {
    let mut ids: BTreeMap<&Nqn, BTreeMap<Uuid, Vec<&Controller>>> = BTreeMap::new();
    let mut names: BTreeMap<Uuid, BTreeMap<&Nqn, Vec<&Controller>>> = BTreeMap::new();
    for controller in &case.subject.host.controllers {
        let known = (controller.hostnqn.value(), controller.hostid.value());
        if let ((Some(nqn), Some(id)), true) = (known, controller.is_fabric()) {
            ids.entry(nqn)
                .or_default()
                .entry(*id)
                .or_default()
                .push(controller);
            names
                .entry(*id)
                .or_default()
                .entry(nqn)
                .or_default()
                .push(controller);
        }
    }
    for (nqn, ids) in ids.into_iter().filter(|(_, ids)| ids.len() > 1) {
        let identity = Identity {
            endpoint: None,
            subsysnqn: None,
            hostnqn: Some(nqn.clone()),
        };
        let mut finding = Finding::new(Kind::HostIdentity, identity, Verdict::ReportOnly);
        finding.evidence = vec![format!(
            "host NQN {nqn} is used with {} host ids",
            ids.len()
        )];
        finding.evidence.extend(
            ids.iter()
                .map(|(id, users)| format!("{id}: {}", names_of(users))),
        );
        finding.controllers = case.in_teardown_order(ids.into_values().flatten());
        findings.push(finding);
    }
    for (id, names) in names.into_iter().filter(|(_, names)| names.len() > 1) {
        let identity = Identity {
            endpoint: None,
            subsysnqn: None,
            hostnqn: None,
        };
        let mut finding = Finding::new(Kind::HostIdentity, identity, Verdict::ReportOnly);
        finding.evidence = vec![format!(
            "host id {id} is used with {} host NQNs",
            names.len()
        )];
        finding.evidence.extend(
            names
                .iter()
                .map(|(nqn, users)| format!("{nqn}: {}", names_of(users))),
        );
        finding.controllers = case.in_teardown_order(names.into_values().flatten());
        findings.push(finding);
    }
}

fn names_of(controllers: &[&Controller]) -> String {
    const SHOWN: usize = 4;
    let names: BTreeSet<_> = controllers.iter().map(|c| c.name).collect();
    let shown: Vec<String> = names.iter().take(SHOWN).map(ToString::to_string).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
