//! Two hosts in one kernel, connected to one subsystem: what the other one holds is not ours to remove.

use anyhow::Result;

use super::Scenario;
use super::scene::{NQN, NSID};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::host::{Controller, HOST_NQN, HostIdentity};
use crate::lab::programs::{Desired, Inspect, Status, agreement};
use crate::lab::target::{AnaState, Target};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "two-hosts",
    about: "another host's controller is shown and never removed; a host NQN with two host ids is found",
    expects_hung_task: false,
    run,
};

const OTHER: HostIdentity = HostIdentity {
    nqn: "nqn.2014-08.org.nvmexpress:uuid:66666666-7777-8888-9999-aaaaaaaaaaaa",
    id: "66666666-7777-8888-9999-aaaaaaaaaaaa",
};

/// Our NQN with a host id that is not ours.
const MIXED_UP: HostIdentity = HostIdentity {
    nqn: HOST_NQN,
    id: "bbbbbbbb-cccc-dddd-eeee-ffffffffffff",
};

fn run(lab: &mut Lab) -> Result<String> {
    let target = lab.target(NQN)?;
    target.namespace(NSID)?;
    target.port(1).open(AnaState::Optimized)?;
    target.port(2).open(AnaState::Inaccessible)?;
    target.port(3).open(AnaState::Inaccessible)?;
    let ours = lab.host.connect(&target.port(1))?;
    let foreign = lab.host.connect_as(OTHER, &target.port(2))?;
    let mut verdict = Verdict::default();
    Status::with_legs(2)?;

    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let hosts = [&ours, &foreign].map(|controller| {
        let shown = agreed.status.controller(&controller.name);
        shown.map(|shown| shown.hostnqn.clone().unwrap_or_default())
    });
    let hosts = hosts.into_iter().collect::<Result<Vec<_>>>()?;
    verdict.require(hosts == [HOST_NQN, OTHER.nqn], || {
        format!("host NQNs are {hosts:?}")
    });
    verdict.clean(&Inspect::plain()?);

    // Everything speaks for a release but whose it is.
    let desired = Desired::of(NQN)
        .published(&target.port(1))
        .superseded(&target.port(2))
        .write()?;
    let desired = desired.to_string_lossy();
    let as_whom: [(&str, &[&str], &str); 3] = [
        ("by /etc/nvme", &[], "foreign-host"),
        (
            "as the other",
            &["--hostnqn", OTHER.nqn],
            "history-incomplete",
        ),
        // A tree without its node does not say whose it is, and its controllers do not agree.
        (
            "by the tree alone",
            &["--sysfs", "/sys"],
            "identity-incomplete",
        ),
    ];
    for (name, host, reason) in as_whom {
        let arguments = [&["--desired", &*desired], host].concat();
        let inspect = Inspect::with(&arguments)?;
        let finding = inspect.only()?;
        verdict.figure(format!("{name} {}", finding.in_short()));
        let names_it =
            finding.kind == "superseded" && finding.controller.as_ref() == Some(&foreign.name);
        verdict.require(
            names_it && finding.verdict.refuses("release", reason),
            || format!("{name}: not refused for {reason}: {finding:?}"),
        );
    }

    mixed_up(lab, &target, &ours, &mut verdict)?;
    verdict.close()
}

/// One host NQN with two host ids. Kernels from 6.5 on refuse to connect it (`nvmf_host_add`); those before give every
/// controller of the NQN the id that came last, unless they keep the two apart: then it is a finding.
fn mixed_up(lab: &Lab, target: &Target, ours: &Controller, verdict: &mut Verdict) -> Result<()> {
    let second = match lab.host.connect_as(MIXED_UP, &target.port(3)) {
        Ok(controller) => controller,
        Err(error) => {
            let refused = format!("{error:#}").contains("os error 22");
            verdict.require(refused, || format!("the mixed-up host: {error:#}"));
            verdict.figure("the kernel refuses one NQN with two host ids");
            return Ok(());
        }
    };
    Status::with_legs(3)?;
    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let of = |controller: &Controller| {
        let shown = agreed.status.controller(&controller.name)?;
        anyhow::Ok(shown.hostid.clone())
    };
    let inspect = Inspect::plain()?;
    if of(ours)? == of(&second)? {
        verdict.figure("the kernel gives both controllers of an NQN the later host id");
        verdict.clean(&inspect);
        return Ok(());
    }
    let finding = inspect.only()?;
    verdict.figure(finding.in_short());
    let both = [&ours.name, &second.name];
    let names_both = finding.kind == "host-identity"
        && finding.verdict.kind == "report-only"
        && finding.controllers.len() == 2
        && both.iter().all(|name| finding.controllers.contains(name));
    verdict.require(names_both, || {
        format!("not {both:?} as one NQN with two ids: {finding:?}")
    });
    Ok(())
}
