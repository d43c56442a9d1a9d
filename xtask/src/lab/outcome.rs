//! What the lab says of its runs: a line for each scenario as it ends, and all failures together at the end.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::guest::{Ended, Outcome};

/// How much of the console is shown with a failure.
const TAIL: usize = 40;

/// One kernel's part of the lab.
#[derive(Debug)]
pub(crate) struct KernelRun {
    /// What it is called: "6.1".
    pub(super) label: String,
    /// The run, or why there was none.
    pub(super) outcome: Result<Outcome, String>,
}

/// The whole lab.
#[derive(Debug)]
pub(crate) struct LabRun {
    pub(super) kernels: Vec<KernelRun>,
}

impl LabRun {
    /// Scenarios whose checks all held.
    pub(crate) fn passed(&self) -> usize {
        self.kernels
            .iter()
            .map(|kernel| kernel.scenarios(true))
            .sum()
    }

    /// The other scenarios, and one for each kernel that failed beside them.
    pub(crate) fn failed(&self) -> usize {
        self.kernels.iter().map(KernelRun::failed).sum()
    }

    /// Everything that failed, with the consoles' ends; empty if nothing did.
    pub(super) fn failures(&self) -> String {
        self.kernels
            .iter()
            .filter(|kernel| kernel.failed() > 0)
            .map(KernelRun::failure)
            .collect()
    }

    /// The closing line.
    pub(super) fn summary(&self) -> String {
        let kernels: Vec<_> = self.kernels.iter().map(KernelRun::time).collect();
        format!(
            "lab: {} ok, {} failed; {}",
            self.passed(),
            self.failed(),
            kernels.join("; ")
        )
    }
}

impl KernelRun {
    fn scenarios(&self, ok: bool) -> usize {
        self.outcome.as_ref().map_or(0, |run| {
            run.ended.iter().filter(|ended| ended.ok == ok).count()
        })
    }

    fn failed(&self) -> usize {
        let scenarios = self.scenarios(false);
        let trouble = self
            .outcome
            .as_ref()
            .map_or(true, |run| run.trouble.is_some());
        // Trouble that cut scenarios short is told by them.
        if scenarios == 0 {
            usize::from(trouble)
        } else {
            scenarios
        }
    }

    fn failure(&self) -> String {
        let label = &self.label;
        let run = match &self.outcome {
            Ok(run) => run,
            Err(why) => return format!("\n{label} FAIL {why}\n"),
        };
        let mut text = String::from("\n");
        // Writing to a String cannot fail.
        if let Some(trouble) = &run.trouble {
            _ = writeln!(text, "{label} FAIL {trouble}");
        }
        for ended in run.ended.iter().filter(|ended| !ended.ok) {
            _ = writeln!(text, "{}", line(label, ended));
        }
        _ = writeln!(
            text,
            "the console of {label}, {}, ends:",
            run.console.display()
        );
        for line in tail(&run.console) {
            _ = writeln!(text, "    {line}");
        }
        text
    }

    fn time(&self) -> String {
        match &self.outcome {
            Ok(run) => {
                let boot = run
                    .boot
                    .map(|boot| format!(" (boot {})", seconds(boot)))
                    .unwrap_or_default();
                format!("{} {}{boot}", self.label, seconds(run.elapsed))
            }
            Err(_) => format!("{} not run", self.label),
        }
    }
}

/// The line of a scenario.
pub(super) fn line(label: &str, ended: &Ended) -> String {
    let verdict = if ended.ok { "ok" } else { "FAIL" };
    format!("{label} {} {verdict} {}", ended.scenario, ended.figures)
}

fn seconds(duration: Duration) -> String {
    format!("{:.0} s", duration.as_secs_f64())
}

fn tail(console: &Path) -> Vec<String> {
    let bytes = std::fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines[lines.len().saturating_sub(TAIL)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(scenario: &str, ok: bool) -> Ended {
        let figures = if ok {
            "window 2.001 s"
        } else {
            "ends differ by 3 ms"
        };
        Ended {
            scenario: scenario.to_owned(),
            ok,
            figures: figures.to_owned(),
            elapsed: Duration::from_secs(5),
        }
    }

    fn run(ended: Vec<Ended>, trouble: Option<&str>, console: &Path) -> KernelRun {
        let outcome = Outcome {
            ended,
            unfinished: Vec::new(),
            emulator_slipped: false,
            trouble: trouble.map(str::to_owned),
            boot: Some(Duration::from_secs(9)),
            elapsed: Duration::from_secs(41),
            console: console.to_owned(),
        };
        KernelRun {
            label: "6.1".to_owned(),
            outcome: Ok(outcome),
        }
    }

    #[test]
    fn a_lab_without_failures_has_only_a_summary() {
        let lab = LabRun {
            kernels: vec![run(vec![ended("a", true)], None, Path::new("/none"))],
        };

        assert_eq!(lab.failures(), "");
        assert_eq!(lab.summary(), "lab: 1 ok, 0 failed; 6.1 41 s (boot 9 s)");
    }

    #[test]
    fn failures_of_all_kernels_are_told_together_with_the_consoles_end() {
        let dir = tempfile::tempdir().unwrap();
        let console = dir.path().join("console.log");
        std::fs::write(&console, "early\r\n".to_owned() + &"late\r\n".repeat(TAIL)).unwrap();
        let lab = LabRun {
            kernels: vec![
                run(vec![ended("a", true), ended("b", false)], None, &console),
                KernelRun {
                    label: "newest".to_owned(),
                    outcome: Err("no index".to_owned()),
                },
            ],
        };

        let failures = lab.failures();

        assert_eq!((lab.passed(), lab.failed()), (1, 2));
        assert!(
            failures.contains("6.1 b FAIL ends differ by 3 ms\n"),
            "{failures}"
        );
        assert!(
            failures.contains(&format!("{}, ends:\n    late\n", console.display())),
            "{failures}"
        );
        assert!(!failures.contains("early"), "{failures}");
        assert!(failures.ends_with("\nnewest FAIL no index\n"), "{failures}");
        assert!(lab.summary().ends_with("; newest not run"));
    }

    #[test]
    fn a_fault_after_all_checks_held_is_a_failure_of_its_own() {
        let lab = LabRun {
            kernels: vec![run(
                vec![ended("a", true)],
                Some("kernel oops: BUG: x"),
                Path::new("/none"),
            )],
        };

        assert_eq!((lab.passed(), lab.failed()), (1, 1));
        assert!(lab.failures().contains("6.1 FAIL kernel oops: BUG: x\n"));
    }
}
