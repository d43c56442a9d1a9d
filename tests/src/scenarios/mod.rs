//! The scenarios, one file each: what is done to a host, and what must have been measured.

mod abandoned;
mod accept_then_drop;
mod agent_restart;
mod ana_error_first;
mod ana_log_hangs;
mod bouncing;
mod clean_cutover;
mod controller_loss;
mod degraded;
mod deletion;
mod event_loss;
mod fast_io_fail;
mod flap;
mod ha_reconnect;
mod healthy;
mod husk;
mod idle;
mod idle_volume;
mod io_cost;
mod io_runs;
mod kernel_log;
mod link_down;
mod module_reload;
mod multipath_off;
mod namespace_removed;
mod no_bpf;
mod parked;
mod pcie_mixed;
mod per_namespace;
mod rejecting;
mod scan_80;
mod scene;
mod scripted_faults;
mod scripted_scene;
mod scripted_target;
mod second_freeze;
mod serving;
mod stage;
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
/// nothing else to do (`cargo xtask bench scan`), and does not hold its bound yet; those of [`COST`] take minutes.
pub const ON_REQUEST: [&str; 4] = [
    scan_80::SCENARIO.name,
    io_runs::SCENARIO.name,
    io_cost::SCENARIO.name,
    idle::SCENARIO.name,
];

/// What the agent costs (`cargo xtask bench cost`).
pub const COST: [&str; 3] = [
    io_runs::SCENARIO.name,
    io_cost::SCENARIO.name,
    idle::SCENARIO.name,
];

/// Scenarios whose guest needs fio.
pub const WITH_FIO: [&str; 2] = [io_runs::SCENARIO.name, io_cost::SCENARIO.name];

/// Every scenario, in the order they run.
pub fn all() -> &'static [Scenario] {
    &[
        truth_agrees::SCENARIO,
        clean_cutover::SCENARIO,
        second_freeze::SCENARIO,
        target_dies::SCENARIO,
        idle_volume::SCENARIO,
        flap::SCENARIO,
        ana_error_first::SCENARIO,
        ana_log_hangs::SCENARIO,
        per_namespace::SCENARIO,
        namespace_removed::SCENARIO,
        bouncing::SCENARIO,
        controller_loss::SCENARIO,
        fast_io_fail::SCENARIO,
        deletion::SCENARIO,
        accept_then_drop::SCENARIO,
        link_down::SCENARIO,
        agent_restart::SCENARIO,
        no_bpf::SCENARIO,
        degraded::SCENARIO,
        event_loss::SCENARIO,
        abandoned::SCENARIO,
        ha_reconnect::SCENARIO,
        scripted_target::SCENARIO,
        scripted_faults::SCENARIO,
        healthy::SCENARIO,
        parked::SCENARIO,
        husk::SCENARIO,
        stuck_connecting::SCENARIO,
        two_hosts::SCENARIO,
        pcie_mixed::SCENARIO,
        multipath_off::SCENARIO,
        module_reload::SCENARIO,
        scan_80::SCENARIO,
        io_runs::SCENARIO,
        io_cost::SCENARIO,
        idle::SCENARIO,
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
        assert!(COST.iter().all(|name| ON_REQUEST.contains(name)));
        assert!(WITH_FIO.iter().all(|name| COST.contains(name)));
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
