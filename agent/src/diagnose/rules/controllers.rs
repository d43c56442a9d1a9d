//! Controllers that should not be there, or do not do what they are there for: `superseded`, `stale-endpoint`,
//! `not-contributing`. Of the three the first that fits is a controller's finding.

use super::super::{Action, Case, Finding, Kind, Published, Verdict};
use super::{age_line, counted, is_live, is_shared, namespaces_text};
use crate::fabric::{Controller, Endpoint, Multipath, Namespace, Nqn};

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for controller in case.controllers() {
        let (Some(nqn), Some(endpoint)) =
            (controller.subsysnqn.value(), controller.endpoint.value())
        else {
            continue;
        };
        if controller.state.is_deleting() {
            continue;
        }
        let finding = superseded(case, controller, nqn, endpoint)
            .or_else(|| stale_endpoint(case, controller, nqn, endpoint))
            .or_else(|| not_contributing(case, controller, nqn, endpoint));
        findings.extend(finding);
    }
}

fn superseded(
    case: &Case<'_>,
    controller: &Controller,
    nqn: &Nqn,
    endpoint: &Endpoint,
) -> Option<Finding> {
    if !case.subject.expectation.is_superseded(nqn, endpoint) {
        return None;
    }
    let verdict = case.judge(Action::Release, controller, true);
    let mut finding = case.about(Kind::Superseded, controller, verdict);
    finding.evidence = vec![
        "its endpoint is declared superseded".to_owned(),
        standing_line(case, controller),
        age_line(&finding),
    ];
    Some(finding)
}

fn stale_endpoint(
    case: &Case<'_>,
    controller: &Controller,
    nqn: &Nqn,
    endpoint: &Endpoint,
) -> Option<Finding> {
    let Published::Known(desired) = case.subject.expectation.published(nqn) else {
        return None;
    };
    if desired.publishes(endpoint) {
        return None;
    }
    let mut finding = case.about(Kind::StaleEndpoint, controller, Verdict::ReportOnly);
    finding.evidence = vec![
        format!(
            "its endpoint is not among the {} published",
            counted(desired.published.len(), "endpoint", "endpoints")
        ),
        standing_line(case, controller),
        "not declared superseded: a node that restarts looks the same".to_owned(),
        age_line(&finding),
    ];
    Some(finding)
}

/// A controller that lacks what it is expected to serve. Expected only if something says so.
fn not_contributing(
    case: &Case<'_>,
    controller: &Controller,
    nqn: &Nqn,
    endpoint: &Endpoint,
) -> Option<Finding> {
    let expectation = case.subject.expectation;
    let subsystem = case.view.subsystem_of(controller)?;
    let judgeable = is_live(controller)
        && case.subject.host.multipath != Some(Multipath::Off)
        && !case.torn.contains(&controller.name)
        && !case.view.is_transient(&subsystem.name.to_string());
    if !judgeable
        || case
            .subject
            .past
            .age(controller)
            .is_some_and(|age| age < case.subject.policy.min_age)
    {
        return None;
    }
    let (says, expects): (&str, &dyn Fn(&Namespace) -> bool) = match expectation.published(nqn) {
        Published::Known(desired) => ("it is published", &|ns| desired.expects(ns, endpoint)),
        Published::Stale(_) | Published::Unknown => {
            let by_profile = expectation
                .profile(nqn)
                .is_some_and(|p| p.every_controller_serves);
            let by_request = expectation
                .question
                .as_ref()
                .is_some_and(|question| question.nqn == *nqn && question.expects_service);
            match (by_profile, by_request) {
                (true, _) => (
                    "its family's profile expects every controller to serve",
                    &|_| true,
                ),
                (false, true) => ("the request expects every controller to serve", &|_| true),
                (false, false) => return None,
            }
        }
    };
    let has_leg = |namespace: &Namespace| {
        namespace
            .legs
            .iter()
            .any(|leg| leg.controller == controller.name)
    };
    let lacking: Vec<&Namespace> = subsystem
        .namespaces
        .iter()
        .filter(|ns| is_shared(ns) && case.asks_about(subsystem, ns) && !has_leg(ns) && expects(ns))
        .collect();
    if lacking.is_empty() {
        return None;
    }
    let husk = case.view.is_husk(controller);
    let rescanned = case
        .subject
        .past
        .of(controller)
        .is_some_and(|seen| seen.rescanned);
    let verdict = match (husk, rescanned) {
        (false, _) => Verdict::ReportOnly,
        (true, false) => case.judge(Action::Rescan, controller, false),
        (true, true) => case.judge(Action::Reap, controller, false),
    };
    let mut finding = case.about(Kind::NotContributing, controller, verdict);
    if let [only] = lacking.as_slice() {
        finding.nsid = only.nsid;
    }
    let serving = case
        .view
        .controllers_of(subsystem.name)
        .iter()
        .filter(|other| {
            let legs = case.view.legs_of(other.name);
            legs.iter().any(|at| at.standing.usable() == Some(true))
        });
    finding.evidence = vec![
        format!("live, and has no leg of {}", namespaces_text(&lacking)),
        format!("expected to: {says}"),
        format!(
            "controllers of the subsystem with a usable leg: {}",
            serving.count()
        ),
        age_line(&finding),
    ];
    if husk {
        finding
            .evidence
            .insert(1, "it has no leg of any namespace".to_owned());
    }
    Some(finding)
}

/// What a controller has and what of it is usable.
fn standing_line(case: &Case<'_>, controller: &Controller) -> String {
    let legs = case.view.legs_of(controller.name);
    let usable = legs
        .iter()
        .filter(|at| at.standing.usable() == Some(true))
        .count();
    let unknown = legs
        .iter()
        .filter(|at| at.standing.usable().is_none())
        .count();
    let mut line = format!(
        "{}, {}",
        controller.state_text(),
        counted(legs.len(), "leg", "legs")
    );
    if !legs.is_empty() {
        line.push_str(&format!(", {usable} usable"));
    }
    if unknown > 0 {
        line.push_str(&format!(", {unknown} not to be told"));
    }
    line
}
