//! A target that has forgotten the subsystem rejects the host for ever. A trace of it shows a controller that nobody wants
//! back: a finding, once with and once without "do not retry". Nothing was published, so it is for people to act on.

use anyhow::{Context as _, Result};

use super::Scenario;
use super::rejecting::{Fate, REJECTED, story};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::target::{Rule, Status};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "abandoned",
    about: "a target rejects the host for ever: replay finds an abandoned controller, where the kernel keeps it",
    expects_hung_task: false,
    run,
};

const KIND: &str = "abandoned-connecting";

fn run(lab: &mut Lab) -> Result<String> {
    let mut verdict = Verdict::default();
    let stories = [
        ("rejected", REJECTED),
        ("rejected for good", REJECTED.do_not_retry()),
    ];
    for (name, status) in stories {
        rejected_by(lab, status, &mut verdict).context(name)?;
    }
    verdict.close()
}

fn rejected_by(lab: &Lab, status: Status, verdict: &mut Verdict) -> Result<()> {
    let told = story(lab, Rule::reject(status))?;
    let (fate, found) = (told.fate, told.replay.of_kind(KIND));
    verdict.figure(format!("{status} {fate:?}"));
    // Kernels from 6.10 on remove the controller at the first rejection for good; earlier ones do not look at the mark.
    let for_good = status != REJECTED;
    let fits = fate == Fate::TriesOn || (fate == Fate::GaveUp && for_good);
    verdict.require(fits, || format!("{status}: the host's fate is {fate:?}"));
    let windows = told.replay.windows()?;
    verdict.require(windows.is_empty(), || {
        format!("{status}: windows {windows:?}")
    });
    verdict.require(told.replay.plan.is_empty(), || {
        format!("{status}: planned {:?}", told.replay.plan)
    });
    match (&found[..], fate) {
        ([finding], Fate::TriesOn) => {
            verdict.figure(finding.in_short());
            let names_it = finding.controllers == [&*told.controller];
            let reported = finding.verdict.kind == "report-only";
            let status = Status(status.0 & 0x7ff).to_string();
            let argued = finding.evidence.iter().any(|line| line.contains(&status));
            verdict.require(names_it && reported && argued, || {
                format!("{status}: not as it should be: {finding:?}")
            });
        }
        ([], Fate::GaveUp) => {}
        _ => verdict.require(false, || {
            format!("{status}: {fate:?} and found {:?}", told.replay.findings)
        }),
    }
    Ok(())
}
