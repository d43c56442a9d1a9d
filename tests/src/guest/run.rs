//! Runs scenarios one after the other: each from a clean lab, none able to take the guest down.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context as _, Result, anyhow};
use rustix::process::{WaitOptions, wait};

use super::report::Reporter;
use crate::lab::Lab;
use crate::lab::clock::BootNs;
use crate::lab::protocol::Report;
use crate::scenarios::{Missed, Scenario};

/// Runs the scenarios named in `wanted`, or all of them, and reports each.
pub(super) fn all(
    kernel: &str,
    wanted: &[String],
    scenarios: &'static [Scenario],
    report: &mut Reporter,
) -> Result<()> {
    let uptime_ms = millis(BootNs::now().since(BootNs(0)));
    report.send(&Report::Booted {
        kernel: kernel.to_owned(),
        uptime_ms,
    })?;
    let (mut passed, mut failed) = (0, 0);
    for (name, scenario) in selected(wanted, scenarios) {
        let expects_hung_task = scenario.is_some_and(|scenario| scenario.expects_hung_task);
        eprintln!("scenario {name}: begins");
        report.send(&Report::Begin {
            scenario: name.to_owned(),
            expects_hung_task,
        })?;
        let begun = BootNs::now();
        let outcome = match scenario {
            Some(scenario) => tried(scenario),
            None => Err(anyhow!("no such scenario")),
        };
        let elapsed_ms = millis(BootNs::now().since(begun));
        let ok = outcome.is_ok();
        let figures = outcome.unwrap_or_else(|error| one_line(&error));
        eprintln!(
            "scenario {name}: {} {figures}",
            if ok { "ok" } else { "FAILED" }
        );
        *(if ok { &mut passed } else { &mut failed }) += 1;
        report.send(&Report::End {
            scenario: name.to_owned(),
            ok,
            figures,
            elapsed_ms,
        })?;
        reap();
    }
    report.send(&Report::Done { passed, failed })
}

/// What is to run: names in the order asked for, each with its scenario if there is one.
fn selected<'n>(
    wanted: &'n [String],
    scenarios: &'static [Scenario],
) -> Vec<(&'n str, Option<&'static Scenario>)> {
    if wanted.is_empty() {
        return scenarios
            .iter()
            .map(|scenario| (scenario.name, Some(scenario)))
            .collect();
    }
    let find = |name: &str| scenarios.iter().find(|scenario| scenario.name == name);
    wanted
        .iter()
        .map(|name| (name.as_str(), find(name)))
        .collect()
}

/// How often a scenario is run in all when it only missed bounds on time.
const TRIES: usize = 3;

/// One scenario, again if it only missed bounds on time; the closing line names what was missed before.
fn tried(scenario: &Scenario) -> Result<String> {
    let mut before = Vec::new();
    loop {
        let outcome = one(scenario);
        let missed = outcome
            .as_ref()
            .err()
            .and_then(|error| error.downcast_ref::<Missed>());
        match missed {
            Some(missed) if before.len() + 1 < TRIES => {
                eprintln!("scenario {}: tried again, {missed}", scenario.name);
                before.push(missed.bounds.clone());
            }
            _ if before.is_empty() => return outcome,
            _ => {
                let tries = format!("(before: {})", before.join(" | "));
                return outcome
                    .map(|figures| format!("{figures} {tries}"))
                    .map_err(|error| error.context(tries));
            }
        }
    }
}

/// One scenario, cleaned up before and after. A scenario that leaves a mess has failed, as has one that panics.
fn one(scenario: &Scenario) -> Result<String> {
    let mut lab = Lab::of_this_guest();
    lab.clean().context("clean the lab before the scenario")?;
    let outcome = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&mut lab)))
        .unwrap_or_else(|panic| Err(anyhow!("panicked: {}", panic_message(panic.as_ref()))));
    let cleaned = lab.clean().context("clean the lab after the scenario");
    match (outcome, cleaned) {
        (Ok(figures), Ok(())) => Ok(figures),
        (Ok(figures), Err(error)) => Err(error.context(figures)),
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(also)) => Err(anyhow!("{error:#}; and then: {also:#}")),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// The whole chain of an error in one line.
fn one_line(error: &anyhow::Error) -> String {
    format!("{error:#}").replace('\n', " ")
}

/// Waits for orphans, which are process 1's to wait for. No scenario runs meanwhile, so no child is anybody else's.
fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

fn millis(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &'static str) -> Scenario {
        Scenario {
            name,
            about: "",
            expects_hung_task: false,
            run: |_| Ok(String::new()),
        }
    }

    #[test]
    fn an_unknown_name_is_kept_so_that_it_fails_by_name() {
        let scenarios: &'static [Scenario] = Vec::leak(vec![scenario("a"), scenario("b")]);
        let wanted = ["b".to_owned(), "c".to_owned()];
        let selected = selected(&wanted, scenarios);
        let found: Vec<_> = selected
            .iter()
            .map(|(name, found)| (*name, found.is_some()))
            .collect();
        assert_eq!(found, [("b", true), ("c", false)]);
    }

    #[test]
    fn without_names_all_run_in_their_own_order() {
        let scenarios: &'static [Scenario] = Vec::leak(vec![scenario("a"), scenario("b")]);
        let names: Vec<_> = selected(&[], scenarios)
            .iter()
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_panics_message_is_kept() {
        let panic = catch_unwind(|| panic!("window {} missing", 2)).unwrap_err();
        assert_eq!(panic_message(panic.as_ref()), "window 2 missing");
    }
}
