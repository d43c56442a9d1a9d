//! A million reads: no program of the agent runs for any of them, but for the one that counts I/O while a window is open.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Scenario;
use super::serving::Serving;
use super::verdict::Verdict;
use crate::lab::agent::Agent;
use crate::lab::attribute;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::programs::{Amount, RunCounting, Runs, random_reads};
use crate::lab::target::AnaState;
use crate::lab::wait::{self, Look};
use crate::lab::{Lab, kprobes};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "io-runs",
    about: "a million reads: no program of the agent runs for them; one for each I/O in a window only",
    expects_hung_task: false,
    run,
};

const READS: u64 = 1_000_000;
/// For the reads; an emulated CPU may do fewer.
const AT_MOST: Duration = Duration::from_secs(360);
/// After a window, to see that its program is gone.
const READS_AFTER: u64 = 2_000;
/// For what the agent still does just after it is ready.
const SETTLED: Duration = Duration::from_secs(2);

/// The program for each I/O, and the function it is attached to.
const FOR_EACH_IO: &str = "head_submit_bio";
const SUBMIT: &str = "nvme_ns_head_submit_bio";
/// Programs that run when somebody reads a leg's or a controller's state.
const LOOKS: [&str; 2] = ["show_ana_state", "show_state"];
/// Between two audits, each of which looks at every leg and every controller (`watch.audit`).
const AUDIT: Duration = Duration::from_secs(30);
/// The program that runs when a keep-alive is answered.
const KEEP_ALIVE: &str = "keep_alive_end";

fn run(lab: &mut Lab) -> Result<String> {
    let serving = Serving::set(lab)?;
    let counting = RunCounting::begin()?;
    let mut agent = Agent::start()?;
    let ready = agent.ready()?;
    let mut verdict = Verdict::default();
    verdict.ready(&ready, agent.memory()?);
    wait::pause(SETTLED);
    healthy(&serving, &counting, &mut verdict)?;
    // What the reads told is told whatever becomes of the window.
    let looked = window(&serving, &counting, &agent, &mut verdict);
    verdict.require(looked.is_ok(), || format!("{looked:?}"));
    agent.stop()?;
    verdict.close()
}

/// Reads while nothing happens.
fn healthy(serving: &Serving, counting: &RunCounting, verdict: &mut Verdict) -> Result<()> {
    verdict.require(!kprobes::is_probed(SUBMIT)?, || {
        format!("{SUBMIT} is probed before any window")
    });
    let begun = BootNs::now();
    let before = Runs::so_far(counting)?;
    let reads = random_reads(&serving.head, Amount::Count(READS, AT_MOST))?;
    let after = Runs::so_far(counting)?;
    let passed = BootNs::now().since(begun).as_secs();

    let mut added = after.since(&before)?;
    let looks: u64 = LOOKS.iter().filter_map(|it| added.remove(it)).sum();
    let kept_alive = added.remove(KEEP_ALIVE).unwrap_or(0);
    let others: u64 = added.values().sum();
    // Two controllers with a leg each. An audit may be under way at either end.
    let most_looks = 4 * (passed / AUDIT.as_secs() + 2);
    let most_kept_alive = keep_alives(serving, passed)?;
    let reached = match reads.count < READS {
        true => format!(" (not reached in {} s)", AT_MOST.as_secs()),
        false => String::new(),
    };
    verdict.figure(format!(
        "reads {} of {READS}{reached} in {} s, {:.0} a second",
        reads.count,
        reads.took.as_secs(),
        reads.per_second
    ));
    verdict.figure(format!(
        "of {} programs runs {others} (at most 0), by audits {looks} (at most {most_looks}), by keep-alives {kept_alive} \
         (at most {most_kept_alive}) in {passed} s",
        after.programs()
    ));
    verdict.require(others == 0, || {
        format!(
            "programs ran while {} reads were done: {added:?}",
            reads.count
        )
    });
    verdict.require(looks <= most_looks, || {
        format!("{looks} runs of {LOOKS:?} are more than audits make: {most_looks}")
    });
    verdict.require(kept_alive <= most_kept_alive, || {
        format!("{kept_alive} runs of {KEEP_ALIVE} are more than keep-alives: {most_kept_alive}")
    });
    Ok(())
}

/// How many keep-alives both controllers send in this time at most: one in half the time-out (nvme_keep_alive_work_period).
fn keep_alives(serving: &Serving, seconds: u64) -> Result<u64> {
    let mut most = 0;
    for controller in &serving.controllers {
        let text = controller.attribute("kato")?;
        let timeout: u64 = text.parse().with_context(|| format!("kato {text:?}"))?;
        most += (2 * seconds).checked_div(timeout).map_or(0, |it| it + 2);
    }
    Ok(most)
}

/// A window under I/O, and reads after it.
fn window(
    serving: &Serving,
    counting: &RunCounting,
    agent: &Agent,
    verdict: &mut Verdict,
) -> Result<()> {
    // Newer kernels count what is held and failed themselves.
    let name = attribute::name(&serving.head.device);
    let counter = format!("/sys/block/{name}/diag/io_requeue_no_usable_path_count");
    let expected = !std::path::Path::new(&counter).exists();

    let before = Runs::so_far(counting)?;
    let io = Io::start(&serving.head)?;
    io.between_operations(|| {
        serving.target.port(1).ana(AnaState::Inaccessible)?;
        serving.target.port(2).ana(AnaState::Inaccessible)
    })?;
    let dark = if expected {
        probed(true)?;
        true
    } else {
        wait::pause(SETTLED);
        kprobes::is_probed(SUBMIT)?
    };
    serving.target.port(1).ana(AnaState::Optimized)?;
    io.flowing_since(BootNs::now())?;
    agent.windows(1)?;
    probed(false)?;
    io.stop()?;

    let runs = |runs: &Runs| runs.of_program(FOR_EACH_IO);
    let after = Runs::so_far(counting)?;
    random_reads(&serving.head, Amount::Count(READS_AFTER, AT_MOST))?;
    let later = Runs::so_far(counting)?;
    let counted = runs(&after)
        .zip(runs(&before))
        .map(|(now, before)| now - before);
    verdict.figure(format!(
        "{SUBMIT} probed before no, in the window {}, after no; {FOR_EACH_IO} ran {} times in it and {} times in the \
         {READS_AFTER} reads after",
        if dark { "yes" } else { "no" },
        counted.unwrap_or(0),
        runs(&later).zip(runs(&after)).map_or(0, |(now, before)| now - before),
    ));
    verdict.require(dark == expected, || {
        format!("{SUBMIT} is probed in a window although the kernel counts")
    });
    verdict.require(!expected || counted > Some(0), || {
        format!("{FOR_EACH_IO} ran {counted:?} times in a window with I/O")
    });
    verdict.require(runs(&later) == runs(&after), || {
        format!(
            "{FOR_EACH_IO} ran after the window: {:?}, then {:?}",
            runs(&after),
            runs(&later)
        )
    });
    Ok(())
}

/// Waits until the function is probed, or is not.
fn probed(wanted: bool) -> Result<()> {
    let what = format!("{SUBMIT} {}", if wanted { "probed" } else { "free" });
    wait::until(&what, Duration::from_secs(5), || {
        let found = kprobes::is_probed(SUBMIT)?;
        Ok(match found == wanted {
            true => Look::Seen(()),
            false => Look::NotYet(format!("probed: {found}")),
        })
    })
}
