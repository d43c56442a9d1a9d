//! A port that has gone for good, and a controller that keeps trying. From a snapshot that is an ordinary reconnect; only a
//! declaration makes it more, and one look is not enough to act on.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{NQN, Scene};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::programs::{Desired, Inspect, Status, agreement};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "stuck-connecting",
    about: "a controller at a vanished port is an ordinary reconnect, unless its endpoint is declared superseded",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let scene = Scene::set(lab)?;
    let mut verdict = Verdict::default();
    Status::with_legs(2)?;
    let (source, gone) = (scene.target.port(1), scene.target.port(2));
    gone.vanish()?;
    let stuck = &scene.destination;
    stuck.wait_for("connecting", Duration::from_secs(5))?;

    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let shown = agreed.status.controller(&stuck.name)?;
    let counts = agreed.status.counts;
    verdict.figure(format!(
        "{} {}",
        stuck.name,
        shown.state.as_deref().unwrap_or("?")
    ));
    verdict.require(shown.state.as_deref() == Some("connecting"), || {
        format!("{} is {:?}", stuck.name, shown.state)
    });
    verdict.require((counts.usable_legs, counts.parked) == (1, 0), || {
        format!("status counts {counts:?}")
    });

    let undeclared = Inspect::plain()?;
    verdict.require(!undeclared.proposes(), || {
        format!("proposed without a declaration: {:?}", undeclared.findings)
    });
    verdict.clean(&undeclared);

    // Published and not superseded, it is missed and still not to be touched.
    let published = Desired::of(NQN)
        .published(&source)
        .published(&gone)
        .write()?;
    let missed = Inspect::desiring(&published)?;
    verdict.figure(missed.only()?.in_short());
    let reported = missed.only()?.kind == "redundancy-short" && !missed.proposes();
    verdict.require(reported, || format!("published: {:?}", missed.findings));

    let superseded = Desired::of(NQN)
        .published(&source)
        .superseded(&gone)
        .write()?;
    let declared = Inspect::desiring(&superseded)?;
    let finding = declared.only()?;
    verdict.figure(finding.in_short());
    let names_it = finding.kind == "superseded" && finding.controller.as_ref() == Some(&stuck.name);
    verdict.require(names_it, || format!("superseded: {finding:?}"));
    let refused = finding.verdict.refuses("release", "history-incomplete");
    verdict.require(refused, || format!("the verdict is {:?}", finding.verdict));
    verdict.close()
}
