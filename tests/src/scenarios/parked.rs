//! A target that is connected before its cutover: live, its legs inaccessible. It is counted, and it is no defect.

use anyhow::Result;

use super::Scenario;
use super::scene::{NQN, Scene};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::programs::{Desired, Inspect, Status, agreement};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "parked",
    about: "a migration's target before the cutover is counted as parked, and nothing is found",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let scene = Scene::set(lab)?;
    let mut verdict = Verdict::default();
    Status::with_legs(2)?;

    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let counts = agreed.status.counts;
    verdict.figure(format!(
        "{} parked, {} of {} legs usable",
        counts.parked, counts.usable_legs, counts.legs
    ));
    let expected = (counts.parked, counts.husks, counts.usable_legs, counts.legs);
    verdict.require(expected == (1, 0, 1, 2), || {
        format!("status counts {counts:?}")
    });
    let parked = agreed.status.controller(&scene.destination.name)?;
    verdict.require(parked.state.as_deref() == Some("live"), || {
        format!("the parked controller is {:?}", parked.state)
    });

    verdict.clean(&Inspect::plain()?);
    // Published like the other, it is still no defect: it has the leg that it will serve by.
    let desired = Desired::of(NQN)
        .published(&scene.target.port(1))
        .published(&scene.target.port(2));
    verdict.clean(&Inspect::desiring(&desired.write()?)?);
    verdict.close()
}
