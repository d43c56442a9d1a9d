//! Eighty controllers: the agent's status against nvme-cli's, both as programs that are started, look, print and end.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Scenario;
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::clock::{BootNs, Millis};
use crate::lab::programs::{Finished, ListSubsys, NVME, PATHWARDEN, Status, agreement, once};
use crate::lab::target::AnaState;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "scan-80",
    about: "80 controllers: status agrees with nvme list-subsys and takes at most a third of its time",
    expects_hung_task: false,
    run,
};

const SUBSYSTEMS: u32 = 40;
pub(super) const CONTROLLERS: usize = 80;
/// How often each is run, in turns; the medians are compared.
const RUNS: usize = 5;
/// How many times faster the agent must be.
const AT_LEAST: f64 = 3.0;
/// A tree without NVMe: what remains is the program's start and end.
const EMPTY: &str = "/tmp/no-nvme";
/// Whether programs are put at random addresses. The emulator translates code by its address, so that each start would
/// be charged for translating all of the program anew, which no processor does. Both programs are measured without.
const RANDOM_ADDRESSES: &str = "/proc/sys/kernel/randomize_va_space";

fn run(lab: &mut Lab) -> Result<String> {
    let mut verdict = Verdict::default();
    let begin = BootNs::now();
    connect_all(lab)?;
    verdict.figure(format!(
        "connected in {} ms",
        Millis(BootNs::now().since(begin))
    ));
    let random =
        fs::read_to_string(RANDOM_ADDRESSES).with_context(|| format!("read {RANDOM_ADDRESSES}"))?;
    let set_random = |to: &str| {
        fs::write(RANDOM_ADDRESSES, to).with_context(|| format!("write {RANDOM_ADDRESSES}"))
    };
    set_random("0")?;
    let measured = measure(&mut verdict);
    set_random(random.trim())?;
    measured?;
    verdict.close()
}

/// Both programs, in turns.
fn measure(verdict: &mut Verdict) -> Result<()> {
    // Both programs have run once when this is over: what is measured is in memory already.
    Status::with_legs(CONTROLLERS)?;
    verdict.figure(agreement::reached()?);
    fs::create_dir_all(EMPTY).with_context(|| format!("mkdir {EMPTY}"))?;

    let took = |run: &Finished| run.took;
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
    let [all, theirs, start] = [&status, &listed, &empty].map(|runs| median(runs, took));
    let ratio = theirs.as_secs_f64() / all.as_secs_f64();
    verdict.figure(format!(
        "status {} ms nvme list-subsys {} ms ratio {ratio:.2}",
        Millis(all),
        Millis(theirs)
    ));
    // The parts of a run's processor time add up to more than it takes where threads run side by side.
    let processor = |runs: &Vec<Finished>| {
        [
            median(runs, |run| run.processor.user),
            median(runs, |run| run.processor.kernel),
        ]
        .map(Millis)
    };
    let [
        [user, kernel],
        [start_user, start_kernel],
        [their_user, their_kernel],
    ] = [&status, &empty, &listed].map(processor);
    verdict.figure(format!(
        "of status start and end {} ms, scan and print ({bytes} bytes) {} ms",
        Millis(start),
        Millis(all.saturating_sub(start)),
    ));
    verdict.figure(format!(
        "processor time user {user} kernel {kernel} ms, of that start and end {start_user} and {start_kernel} ms, \
         nvme-cli's {their_user} and {their_kernel} ms"
    ));
    verdict.within(ratio >= AT_LEAST, || {
        format!("status is {ratio:.2} times as fast as nvme list-subsys, not {AT_LEAST}")
    });
    Ok(())
}

pub(super) fn connect_all(lab: &Lab) -> Result<()> {
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

fn median(runs: &[Finished], of: impl Fn(&Finished) -> Duration) -> Duration {
    let mut times: Vec<Duration> = runs.iter().map(of).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
