//! `pathwarden doctor`: how often each program of the agent that runs has run, as the kernel counts it when told to.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Finished, PATHWARDEN, expect_schema, once};
use crate::lab::attribute;

/// kernel:Documentation/admin-guide/sysctl/kernel.rst, `bpf_stats_enabled`.
const SETTING: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// The kernel counts runs of BPF programs as long as this is there.
#[derive(Debug)]
pub struct RunCounting(());

impl RunCounting {
    /// Begins.
    pub fn begin() -> Result<Self> {
        attribute::write(Path::new(SETTING), "1")?;
        Ok(Self(()))
    }
}

impl Drop for RunCounting {
    fn drop(&mut self) {
        if let Err(error) = attribute::write(Path::new(SETTING), "0") {
            eprintln!("runs of BPF programs are counted on: {error:#}");
        }
    }
}

/// Runs by program, while they were counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs(BTreeMap<String, u64>);

#[derive(Debug, Deserialize)]
struct Doctor {
    schema: String,
    running: Running,
}

#[derive(Debug, Deserialize)]
struct Running {
    counted: Option<bool>,
    programs: Vec<Program>,
    unknown: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Program {
    program: String,
    runs: u64,
}

impl Runs {
    /// Of the one agent that runs, so far.
    pub fn so_far(_: &RunCounting) -> Result<Self> {
        Self::of(&once(PATHWARDEN, &["doctor", "-o", "json"])?)
    }

    fn of(finished: &Finished) -> Result<Self> {
        let doctor: Doctor = finished.document("doctor's report")?;
        expect_schema(&doctor.schema, "pathwarden/doctor/v1")?;
        let running = doctor.running;
        let counted = running.counted == Some(true) && running.unknown.is_none();
        ensure!(
            counted,
            "runs are not counted, or not known: {:?}",
            running.unknown
        );
        let count = running.programs.len();
        let runs: BTreeMap<_, _> = running
            .programs
            .into_iter()
            .map(|it| (it.program, it.runs))
            .collect();
        ensure!(
            count == runs.len() && count > 0,
            "{count} programs with {} names: not those of one agent",
            runs.len()
        );
        Ok(Self(runs))
    }

    /// How many programs are loaded.
    pub fn programs(&self) -> usize {
        self.0.len()
    }

    /// Of one program.
    pub fn of_program(&self, program: &str) -> Option<u64> {
        self.0.get(program).copied()
    }

    /// What was added, without programs that did not run.
    pub fn since(&self, before: &Self) -> Result<BTreeMap<&str, u64>> {
        ensure!(
            self.0.keys().eq(before.0.keys()),
            "other programs are loaded: {self:?}, before {before:?}"
        );
        let added = self.0.iter().zip(before.0.values());
        let added =
            added.map(|((program, now), before)| (&program[..], now.saturating_sub(*before)));
        Ok(added.filter(|(_, runs)| *runs > 0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(running: &str) -> Result<Runs> {
        let schema = r#""schema":"pathwarden/doctor/v1""#;
        let print = format!("echo '{{{schema},\"running\":{{{running}}}}}'");
        Runs::of(&once("/bin/sh", &["-c", &print]).unwrap())
    }

    fn counted(programs: &[(&str, u64)]) -> Result<Runs> {
        let rows = programs.iter().map(|(program, runs)| {
            format!(r#"{{"program":"{program}","runs":{runs},"time_ns":1}}"#)
        });
        let rows = rows.collect::<Vec<_>>().join(",");
        runs(&format!(
            r#""counted":true,"unknown":null,"programs":[{rows}]"#
        ))
    }

    #[test]
    fn only_programs_that_ran_meanwhile_are_told() {
        let before = counted(&[("a", 3), ("b", 4)]).unwrap();
        let after = counted(&[("a", 3), ("b", 6)]).unwrap();
        assert_eq!(after.since(&before).unwrap(), BTreeMap::from([("b", 2)]));
        let restarted = counted(&[("a", 3)]).unwrap();
        assert!(restarted.since(&before).is_err());
    }

    #[test]
    fn runs_that_nobody_counts_or_of_no_agent_or_of_two_are_refused() {
        assert!(counted(&[]).is_err());
        assert!(counted(&[("a", 1), ("a", 2)]).is_err());
        let row = r#"{"program":"a","runs":1}"#;
        for running in [
            format!(r#""counted":false,"unknown":null,"programs":[{row}]"#),
            format!(r#""counted":true,"unknown":"EPERM","programs":[{row}]"#),
        ] {
            assert!(runs(&running).is_err(), "{running}");
        }
    }
}
