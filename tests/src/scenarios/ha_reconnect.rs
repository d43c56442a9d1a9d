//! A target that is restarted rejects the host for a while, as long and as often as one that has forgotten it, and takes it
//! back. That is an ordinary reconnect.

use anyhow::Result;

use super::Scenario;
use super::rejecting::{Fate, REJECTED, REJECTIONS, story};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::target::Rule;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "ha-reconnect",
    about: "a target rejects the host for seconds and takes it back: replay finds nothing abandoned",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let rejections = u32::try_from(REJECTIONS - 1)?;
    let told = story(lab, Rule::reject(REJECTED).times(rejections))?;
    let mut verdict = Verdict::default();
    verdict.figure(format!("{rejections} rejections, {:?}", told.fate));
    verdict.require(told.fate == Fate::TakenBack, || {
        format!("the host's fate is {:?}", told.fate)
    });
    let findings = &told.replay.findings;
    verdict.require(findings.is_empty(), || format!("found {findings:?}"));
    let windows = told.replay.windows()?;
    verdict.require(windows.is_empty(), || format!("windows {windows:?}"));
    verdict.close()
}
