//! What only somebody who watched can tell of legs and namespaces: `bouncing`, `flapping`, `double-optimized`.

use super::super::{Case, Finding, Kind, Verdict};
use super::shown;
use crate::fabric::Identity;
use crate::watch::Sign;

pub(super) fn find(case: &Case<'_>, findings: &mut Vec<Finding>) {
    let past = case.subject.past;
    for sign in &past.bouncing {
        let status = sign
            .status
            .map(|status| format!(", last status {status:#x}"))
            .unwrap_or_default();
        let told = format!(
            "usable by its flags, and {} I/Os failed over within the last second{status}",
            sign.count
        );
        findings.extend(of_leg(case, Kind::Bouncing, sign, told));
    }
    for sign in &past.flapping {
        let told = format!("its ANA state changed {} times within a minute", sign.count);
        findings.extend(of_leg(case, Kind::Flapping, sign, told));
    }
    for (nqn, nsid, since) in &past.doubly_served {
        let identity = Identity {
            endpoint: None,
            subsysnqn: Some(nqn.clone()),
            hostnqn: None,
        };
        findings.push(Finding {
            nsid: Some(*nsid),
            since: Some(*since),
            age: Some(past.since(*since)),
            evidence: vec![
                "a leg of the migration's source and one of its target are optimized at once"
                    .to_owned(),
                format!(
                    "for {}: two copies may both serve",
                    shown(past.since(*since))
                ),
            ],
            ..Finding::new(Kind::DoubleOptimized, identity, Verdict::ReportOnly)
        });
    }
}

fn of_leg(case: &Case<'_>, kind: Kind, sign: &Sign, told: String) -> Option<Finding> {
    let controller = case.controllers().find(|controller| {
        controller.name == sign.controller.name
            && controller.generation == Some(sign.controller.generation)
    })?;
    let since = case.subject.past.since(sign.since);
    Some(Finding {
        nsid: Some(sign.nsid),
        since: Some(sign.since),
        age: Some(since),
        evidence: vec![told, format!("for {}", shown(since))],
        ..case.about(kind, controller, Verdict::ReportOnly)
    })
}
