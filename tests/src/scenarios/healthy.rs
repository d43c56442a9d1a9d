//! A volume on two paths, as it should be: nothing is found, and everybody sees the same host.

use anyhow::Result;

use super::Scenario;
use super::scene::{NQN, NSID};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::clock::Millis;
use crate::lab::programs::{Inspect, PATHWARDEN, Status, agreement, exit, once};
use crate::lab::target::AnaState;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "healthy",
    about: "two paths that serve: status shows them as nvme-cli does, inspect finds nothing",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let target = lab.target(NQN)?;
    target.namespace(NSID)?;
    target.port(1).open(AnaState::Optimized)?;
    target.port(2).open(AnaState::NonOptimized)?;
    let first = lab.host.connect(&target.port(1))?;
    let second = lab.host.connect(&target.port(2))?;
    let head = lab.host.head(NQN, NSID)?;
    let mut verdict = Verdict::default();
    Status::with_legs(2)?;

    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let status = &agreed.status;
    let counts = status.counts;
    let two = (counts.subsystems, counts.controllers, counts.legs);
    verdict.require(two == (1, 2, 2) && counts.usable_legs == 2, || {
        format!("status counts {counts:?}")
    });
    verdict.require(counts.parked + counts.husks == 0, || {
        format!("parked or husks: {counts:?}")
    });
    let subsystem = status.subsystem(NQN)?;
    let namespaces: Vec<_> = subsystem
        .namespaces
        .iter()
        .map(|namespace| (namespace.nsid, namespace.head.as_deref()))
        .collect();
    let device = head
        .device
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    verdict.require(namespaces == [(Some(NSID), Some(&*device))], || {
        format!("namespaces are {namespaces:?}, not {NSID} at {device}")
    });
    let legs = subsystem.namespaces.iter().flat_map(|ns| &ns.legs);
    let legs: Vec<_> = legs
        .map(|leg| (&leg.controller[..], leg.ana.as_deref(), leg.usable))
        .collect();
    let expected = [
        (&first.name[..], Some("optimized"), Some(true)),
        (&second.name[..], Some("non-optimized"), Some(true)),
    ];
    verdict.require(legs == expected, || format!("legs are {legs:?}"));

    let inspect = Inspect::plain()?;
    verdict.clean(&inspect);
    verdict.require(inspect.counts == counts, || {
        format!("inspect counts {:?}", inspect.counts)
    });
    // What people get exits alike.
    for command in ["status", "inspect"] {
        let finished = once(PATHWARDEN, &[command])?;
        verdict.figure(format!("{command} {} ms", Millis(finished.took)));
        verdict.require(finished.code == exit::CLEAN, || {
            format!(
                "{command} ended with {}: {}",
                finished.code, finished.stdout
            )
        });
    }
    verdict.close()
}
