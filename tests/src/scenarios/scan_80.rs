//! Eighty controllers: the agent's status against nvme-cli's, both as programs that are started, look, print and end.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Scenario;
use super::verdict::Verdict;
use crate::lab::clock::{BootNs, Millis};
use crate::lab::programs::{Finished, ListSubsys, NVME, PATHWARDEN, Status, agreement, once};
use crate::lab::target::AnaState;
use crate::lab::{Lab, attribute};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "scan-80",
    about: "80 controllers: status agrees with nvme list-subsys and takes at most a third of its time",
    expects_hung_task: false,
    run,
};

const SUBSYSTEMS: u32 = 40;
const CONTROLLERS: usize = 80;
/// How often each is run; the medians are compared.
const RUNS: usize = 7;
/// How many times faster the agent must be, in hundredths.
const AT_LEAST: u128 = 300;
/// A tree without NVMe: what remains is the program's start and end.
const EMPTY: &str = "/tmp/no-nvme";

fn run(lab: &mut Lab) -> Result<String> {
    let mut verdict = Verdict::default();
    let begin = BootNs::now();
    connect_all(lab)?;
    verdict.figure(format!(
        "connected in {} s",
        BootNs::now().since(begin).as_secs()
    ));
    Status::with_legs(CONTROLLERS)?;
    let agreed = agreement::reached()?;
    verdict.figure(&agreed);

    attribute::create_dir(EMPTY.as_ref())?;
    let (mut status, mut listed, mut empty) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let run = once(PATHWARDEN, &["status", "-o", "json"])?;
        Status::of(&run)?;
        status.push(run);
        let run = once(NVME, &["list-subsys", "-o", "json"])?;
        ListSubsys::of(&run)?;
        listed.push(run);
        empty.push(once(
            PATHWARDEN,
            &["status", "-o", "json", "--sysfs", EMPTY],
        )?);
    }
    let bytes = status.first().map_or(0, |run| run.stdout.len());
    let [status, listed, empty] = [status, listed, empty].map(|runs| median(&runs));
    let hundredths = listed.as_micros() * 100 / status.as_micros().max(1);
    verdict.figure(format!(
        "status {} ms, nvme list-subsys {} ms, ratio {}.{:02}",
        Millis(status),
        Millis(listed),
        hundredths / 100,
        hundredths % 100
    ));
    verdict.figure(format!(
        "of status: start and end {} ms, scan and print ({bytes} bytes) {} ms",
        Millis(empty),
        Millis(status.saturating_sub(empty))
    ));
    verdict.require(hundredths >= AT_LEAST, || {
        format!("status is not {AT_LEAST} hundredths as fast as nvme list-subsys")
    });
    verdict.close()
}

fn connect_all(lab: &Lab) -> Result<()> {
    for number in 1..=SUBSYSTEMS {
        let target = lab.target(&format!("nqn.2023-02.io.simplyblock:lab:lvol:{number}"))?;
        // A namespace's UUID follows from its number, and the host takes a UUID once.
        target.namespace(number)?;
        for port in [1, 2].map(|number| target.port(number)) {
            if number == 1 {
                port.open(AnaState::Optimized)?;
            } else {
                port.restore()?;
            }
            lab.host
                .connect(&port)
                .with_context(|| format!("connect subsystem {number}"))?;
        }
    }
    Ok(())
}

fn median(runs: &[Finished]) -> Duration {
    let mut took: Vec<Duration> = runs.iter().map(|run| run.took).collect();
    took.sort_unstable();
    took.get(took.len() / 2).copied().unwrap_or_default()
}
