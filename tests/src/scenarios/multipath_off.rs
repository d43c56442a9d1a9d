//! Native multipath switched off (`nvme_core multipath=N`): every controller has disks of its own, which go with it.

use anyhow::{Context as _, Result};

use super::Scenario;
use super::scene::{NQN, NSID};
use super::verdict::Verdict;
use crate::lab::programs::{Desired, Inspect, Status, agreement};
use crate::lab::target::AnaState;
use crate::lab::{Lab, modules};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "multipath-off",
    about: "with native multipath off every controller has its disks, and none is ever proposed for removal",
    expects_hung_task: false,
    run,
};

/// The module that has the parameter, which cannot be changed while it is loaded.
const CORE: &str = "nvme-core";

/// Takes the driver out and puts it back in without multipath, and afterwards as it was. That takes seconds, and the other
/// scenarios share the guest's one boot.
fn run(lab: &mut Lab) -> Result<String> {
    modules::unload(CORE)?;
    let outcome = modules::load(CORE, c"multipath=N")
        .and_then(|()| modules::load_all())
        .and_then(|()| without_multipath(lab));
    let restored = lab
        .clean()
        .and_then(|()| modules::unload(CORE))
        .and_then(|()| modules::load_all());
    match (outcome, restored) {
        (Ok(figures), Ok(())) => Ok(figures),
        (Ok(figures), Err(error)) => Err(error.context(figures)),
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(also)) => Err(error.context(format!("and not restored: {also:#}"))),
    }
}

fn without_multipath(lab: &Lab) -> Result<String> {
    let target = lab.target(NQN)?;
    target.namespace(NSID)?;
    target.port(1).open(AnaState::Optimized)?;
    target.port(2).open(AnaState::Optimized)?;
    lab.host.connect(&target.port(1))?;
    let second = lab.host.connect(&target.port(2))?;
    let mut verdict = Verdict::default();

    Status::with_legs(2)?;
    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let status = &agreed.status;
    verdict.require(status.multipath.as_deref() == Some("off"), || {
        format!("multipath is {:?}", status.multipath)
    });
    let namespaces = &status.subsystem(NQN)?.namespaces;
    let heads: Vec<_> = namespaces
        .iter()
        .filter_map(|ns| ns.head.as_ref())
        .collect();
    verdict.require(heads.is_empty(), || {
        format!("heads without multipath: {heads:?}")
    });
    let disks = namespaces.iter().flat_map(|ns| &ns.legs);
    let disks: Vec<_> = disks
        .map(|leg| (&leg.controller[..], &leg.name[..]))
        .collect();
    verdict.figure(format!("disks {disks:?}"));

    verdict.clean(&Inspect::plain()?);
    let desired = Desired::of(NQN)
        .published(&target.port(1))
        .superseded(&target.port(2))
        .write()?;
    let inspect = Inspect::desiring(&desired)?;
    let finding = inspect.only().context("one endpoint is superseded")?;
    verdict.figure(finding.in_short());
    let names_it =
        finding.kind == "superseded" && finding.controller.as_ref() == Some(&second.name);
    let refused = finding.verdict.refuses("release", "multipath-off");
    verdict.require(names_it && refused, || format!("superseded: {finding:?}"));
    verdict.close()
}
