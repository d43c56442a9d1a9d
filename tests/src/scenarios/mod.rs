//! The scenarios, one file each: what is done to a host, and what must have been measured.

mod clean_cutover;
mod degraded;
mod healthy;
mod husk;
mod idle_volume;
mod kernel_log;
mod multipath_off;
mod parked;
mod pcie_mixed;
mod scan_80;
mod scene;
mod scripted_faults;
mod scripted_scene;
mod scripted_target;
mod second_freeze;
mod stuck_connecting;
mod target_dies;
mod truth_agrees;
mod two_hosts;
mod verdict;
mod watched;

use anyhow::Result;

pub(crate) use verdict::Missed;

use crate::lab::Lab;

/// One story with checks.
#[derive(Debug)]
pub struct Scenario {
    /// Its name on the command line and in the report.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// It hangs on purpose: the kernel's hung-task report is no failure.
    pub expects_hung_task: bool,
    /// Runs it on a clean lab and returns what was measured, in one line. An error is the scenario's failure and says
    /// what was measured as far as it got.
    pub run: fn(&mut Lab) -> Result<String>,
}

/// Scenarios that run only when they are named: `scan-80` compares the times of programs, is meant for a machine with
/// nothing else to do (`cargo xtask bench scan`), and does not hold its bound yet.
pub const ON_REQUEST: [&str; 1] = [scan_80::SCENARIO.name];

/// Every scenario, in the order they run.
pub fn all() -> &'static [Scenario] {
    &[
        truth_agrees::SCENARIO,
        clean_cutover::SCENARIO,
        second_freeze::SCENARIO,
        target_dies::SCENARIO,
        idle_volume::SCENARIO,
        degraded::SCENARIO,
        scripted_target::SCENARIO,
        scripted_faults::SCENARIO,
        healthy::SCENARIO,
        parked::SCENARIO,
        husk::SCENARIO,
        stuck_connecting::SCENARIO,
        two_hosts::SCENARIO,
        pcie_mixed::SCENARIO,
        multipath_off::SCENARIO,
        scan_80::SCENARIO,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_on_request_only_is_there() {
        for name in ON_REQUEST {
            assert!(all().iter().any(|known| known.name == name), "{name}");
        }
    }

    #[test]
    fn names_are_distinct_and_fit_the_command_line() {
        let mut names: Vec<_> = all().iter().map(|scenario| scenario.name).collect();
        assert!(names.iter().all(|name| {
            name.chars().all(|letter| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
            })
        }));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
