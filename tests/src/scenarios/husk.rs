//! A controller that is live and serves nothing, beside one that serves. Whether that is a defect depends on what is
//! expected: of a storage array it may be usual.

use anyhow::Result;

use super::Scenario;
use super::scripted_scene::{NQN, SHARED, SOON, connect, endpoint, target, wait_for_leg};
use super::verdict::Verdict;
use crate::lab::programs::{Desired, Inspect, Status, agreement};
use crate::lab::{Lab, attribute};
use crate::target::{Counters, ExportPlan, Verb};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "husk",
    about: "a live controller without the namespace is named where it is expected to serve, else only counted",
    expects_hung_task: false,
    run,
};

/// Settings under which nothing is expected of any subsystem: the built-in profile is outranked.
const NOTHING_EXPECTED: &str = "[[profile]]\nmatch = \"*\"\n";
const SETTINGS: &str = "/tmp/nothing-expected.toml";

fn run(lab: &mut Lab) -> Result<String> {
    let target = target(ExportPlan::new(NQN).only(&[]))?;
    let serving = connect(&lab.host, &target, 0)?;
    let husk = connect(&lab.host, &target, 1)?;
    wait_for_leg(&serving, SHARED, Some("optimized"))?;
    // The husk's scan ends with reading the ANA log again.
    let scanned = |counters: &Counters| counters.commands(Verb::GET_LOG) >= 3;
    target
        .port(1)
        .transcript()
        .wait("the husk's scan", SOON, scanned)?;
    Status::with_legs(2)?;
    let mut verdict = Verdict::default();

    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let counts = agreed.status.counts;
    verdict.require((counts.husks, counts.usable_legs) == (1, 2), || {
        format!("status counts {counts:?}")
    });

    attribute::write(SETTINGS.as_ref(), NOTHING_EXPECTED)?;
    let unexpected = Inspect::with(&["--config", SETTINGS])?;
    verdict.clean(&unexpected);
    verdict.require(unexpected.counts.husks == 1, || {
        format!("inspect counts {:?}", unexpected.counts)
    });

    let desired = Desired::of(NQN)
        .published(endpoint(&target, 0)?)
        .published(endpoint(&target, 1)?)
        .write()?;
    let desired = desired.to_string_lossy();
    let published = ["--config", SETTINGS, "--desired", &*desired];
    // Published says it, and so does the profile that is built in for this family.
    for arguments in [&published[..], &[]] {
        let inspect = Inspect::with(arguments)?;
        let finding = inspect.only()?;
        verdict.figure(finding.in_short());
        let names_it = finding.kind == "not-contributing"
            && finding.controller.as_ref() == Some(&husk.name)
            && finding.controllers == [&*husk.name];
        verdict.require(names_it, || {
            format!("{arguments:?}: not {} as a husk: {finding:?}", husk.name)
        });
        // A one-shot look has no age, and a controller may be listing its namespaces this moment.
        let verdict_is = &finding.verdict;
        verdict.require(verdict_is.refuses("rescan", "history-incomplete"), || {
            format!("{arguments:?}: the verdict is {verdict_is:?}")
        });
    }
    // The target must answer until the host has let go of it.
    lab.host.disconnect_all()?;
    drop(target);
    verdict.close()
}
