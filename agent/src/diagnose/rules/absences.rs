//! Controllers that have not been live for long: `abandoned-connecting`.
//!
//! A snapshot cannot tell one from an ordinary reconnect; what was watched can. Every condition is a line of evidence,
//! met or not, and only all of them together propose anything.

use super::super::{Absence, Action, Case, Finding, Kind, Published, Verdict};
use super::{counted, shown};
use crate::fabric::{Controller, Endpoint, Nqn};

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    for controller in case.controllers() {
        let (Some(nqn), Some(endpoint)) =
            (controller.subsysnqn.value(), controller.endpoint.value())
        else {
            continue;
        };
        let seen = case.subject.past.of(controller);
        let Some(absence) = seen.and_then(|seen| seen.absence) else {
            continue;
        };
        let expectation = case.subject.expectation;
        // One that is wanted is missed, not abandoned; one that was given up is told already.
        let wanted = matches!(expectation.published(nqn), Published::Known(it) if it.publishes(endpoint))
            || case.subject.past.migrates_to(nqn, endpoint);
        if controller.state.is_deleting() || wanted || expectation.is_superseded(nqn, endpoint) {
            continue;
        }
        findings.extend(abandoned(case, controller, nqn, endpoint, &absence));
    }
}

/// One condition and whether it holds.
struct Condition {
    met: bool,
    text: String,
}

fn abandoned(
    case: &Case<'_>,
    controller: &Controller,
    nqn: &Nqn,
    endpoint: &Endpoint,
    absence: &Absence,
) -> Option<Finding> {
    let (past, policy) = (case.subject.past, case.subject.policy);
    let age = past.since(absence.since);
    if age <= policy.connecting_after {
        return None;
    }
    let conditions = [
        Condition {
            met: true,
            text: format!(
                "not live for {}, longer than {}, {} since",
                shown(age),
                shown(policy.connecting_after),
                counted(attempts(absence), "attempt", "attempts")
            ),
        },
        rejected(case, absence),
        unpublished(case, nqn, endpoint),
        served_elsewhere(case, controller),
        Condition {
            met: !past.is_dark(nqn),
            text: "no window open in the subsystem, no migration to the endpoint".to_owned(),
        },
        Condition {
            met: past.since(absence.complete_since) > policy.connecting_after,
            text: format!(
                "watched for {} without a gap",
                shown(past.since(absence.complete_since))
            ),
        },
    ];
    let verdict = if conditions.iter().all(|condition| condition.met) {
        case.judge(Action::Release, controller, true)
    } else {
        Verdict::ReportOnly
    };
    let mut finding = case.about(Kind::AbandonedConnecting, controller, verdict);
    finding.since = Some(absence.since);
    finding.age = Some(age);
    let told = conditions.iter().map(|condition| {
        let mark = if condition.met { "met" } else { "not met" };
        format!("{mark}: {}", condition.text)
    });
    finding.evidence = told.collect();
    let served = if absence.served {
        "it has served while it was watched"
    } else {
        "it has not served while it was watched"
    };
    finding.evidence.push(served.to_owned());
    Some(finding)
}

fn attempts(absence: &Absence) -> usize {
    usize::try_from(absence.attempts).unwrap_or(usize::MAX)
}

/// Status code type and status code of a status word (NVMe base specification, Status field).
const CODE: u16 = 0x7ff;
/// Its Do Not Retry bit.
const DO_NOT_RETRY: u16 = 0x4000;

/// The host's own errors and refusals that are not of this path break the run: a target that is down looks so.
fn rejected(case: &Case<'_>, absence: &Absence) -> Condition {
    let enough = case.subject.policy.rejections;
    let status = absence
        .last_rejection
        .filter(|_| absence.rejections > 0)
        .map(|status| {
            let mark = if status & DO_NOT_RETRY == 0 {
                ""
            } else {
                ", do not retry"
            };
            format!(" (last status {:#x}{mark})", status & CODE)
        })
        .unwrap_or_default();
    Condition {
        met: absence.rejections >= enough,
        text: format!(
            "the target answered and rejected the last {} of at least {enough} attempts{status}",
            absence.rejections
        ),
    }
}

fn unpublished(case: &Case<'_>, nqn: &Nqn, endpoint: &Endpoint) -> Condition {
    let (met, text) = match case.subject.expectation.published(nqn) {
        Published::Known(desired) => (
            !desired.publishes(endpoint),
            "the published endpoints are known and fresh, and this is none of them",
        ),
        Published::Stale(_) => (false, "the published endpoints are known, and not fresh"),
        Published::Unknown => (false, "the published endpoints are not known"),
    };
    Condition {
        met,
        text: text.to_owned(),
    }
}

fn served_elsewhere(case: &Case<'_>, controller: &Controller) -> Condition {
    let text = "every namespace of the subsystem has a usable leg on a live controller elsewhere";
    let subsystem = case.view.subsystem_of(controller);
    let met = subsystem.is_some_and(|subsystem| {
        !subsystem.namespaces.is_empty()
            && subsystem.namespaces.iter().all(|namespace| {
                case.survivors
                    .survives(subsystem, namespace, controller.name)
            })
    });
    Condition {
        met,
        text: text.to_owned(),
    }
}
