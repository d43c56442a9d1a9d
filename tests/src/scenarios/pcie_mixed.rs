//! A local drive beside volumes on a fabric: it is shown, and nothing is ever proposed about it.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Scenario;
use super::scene::Scene;
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::modules;
use crate::lab::programs::{Desired, Inspect, Status, agreement};
use crate::lab::wait::{self, Look};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "pcie-mixed",
    about: "a local PCIe drive beside fabric volumes is listed, and never a finding",
    expects_hung_task: false,
    run,
};

/// The driver of the emulator's drive; the guest does not load it by itself.
const DRIVER: &str = "nvme";

fn run(lab: &mut Lab) -> Result<String> {
    modules::load(DRIVER, c"")?;
    let outcome = beside_a_drive(lab);
    let unloaded = modules::unload(DRIVER);
    let figures = outcome?;
    unloaded.context(figures.clone())?;
    Ok(figures)
}

fn beside_a_drive(lab: &Lab) -> Result<String> {
    let scene = Scene::set(lab)?;
    let mut verdict = Verdict::default();
    let drive = drive()?;
    Status::with_legs(3)?;

    let agreed = agreement::reached()?;
    verdict.figure(&agreed);
    let status = &agreed.status;
    let shown = status.controller(&drive)?;
    let endpoint = shown.endpoint.as_deref().unwrap_or("no address");
    verdict.figure(format!("{drive} at {endpoint}"));
    verdict.require(endpoint.starts_with("pcie://"), || {
        format!("the drive is {shown:?}")
    });
    let local = status.nqn_of(shown).context("the drive's NQN")?;
    let namespaces = &status.subsystem(local)?.namespaces;
    let legs = namespaces.iter().map(|namespace| namespace.legs.len());
    verdict.require(legs.eq([1]), || {
        format!("the drive's namespaces are {namespaces:?}")
    });
    let counts = status.counts;
    let expected = (counts.controllers, counts.legs, counts.usable_legs);
    verdict.require(expected == (3, 3, 2), || {
        format!("status counts {counts:?}")
    });

    verdict.clean(&Inspect::plain()?);
    verdict.clean(&Inspect::with(&[local])?);
    // Wanted nowhere, it is not on a fabric and so nobody's to want.
    let desired = Desired::of(local)
        .published(&scene.target.port(1))
        .write()?;
    let inspect = Inspect::desiring(&desired)?;
    let about_the_drive = inspect
        .findings
        .iter()
        .find(|finding| finding.controllers.contains(&drive));
    verdict.require(about_the_drive.is_none() && !inspect.proposes(), || {
        format!("of a PCIe drive: {about_the_drive:?}")
    });
    verdict.close()
}

/// Waits until the drive is there with its disk.
fn drive() -> Result<String> {
    let what = "the PCIe drive with its namespace";
    wait::until(what, Duration::from_secs(10), || {
        let status = Status::look()?;
        let mut controllers = status.controllers.iter();
        let found = controllers.find(|c| c.transport.as_deref() == Some("pcie"));
        let ready = found.filter(|drive| {
            let nqn = status.nqn_of(drive).unwrap_or_default();
            let has_disk = |subsystem: &crate::lab::programs::Subsystem| {
                subsystem.namespaces.iter().any(|ns| !ns.legs.is_empty())
            };
            status.subsystem(nqn).is_ok_and(has_disk)
        });
        Ok(match ready {
            Some(drive) => Look::Seen(drive.name.clone()),
            None => Look::NotYet(format!("{found:?}")),
        })
    })
}
