//! The lab's command line.

use anyhow::{Result, bail};
use clap::Args;
use pathwarden_tests::scenarios::{self, Scenario};

use super::kernels::Selection;

/// Boot Debian's kernels in an emulator and run the scenarios
///
/// Each kernel boots with the repository's own init, brings an NVMe-oF target up in the same guest, runs the scenarios and
/// reports one line for each. The consoles are kept in target/lab/KERNEL/console.log. Exits with 1 if a check failed on
/// any kernel; all kernels are run before that.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Kernel by version or by Debian suite: 6.1 (bookworm), 6.12 (trixie), 7.2 (newest), or all
    #[arg(long, default_value = "6.1")]
    pub(super) kernel: Selection,
    /// Run only this scenario (may be given several times); some run only so
    #[arg(long = "scenario", value_name = "NAME")]
    pub(super) scenarios: Vec<String>,
    /// Print the scenarios and do nothing
    #[arg(long)]
    pub(super) list: bool,
    /// How many kernels may run side by side; what is measured is only good with one
    #[arg(long, value_name = "N", default_value_t = std::num::NonZeroUsize::MIN)]
    pub(super) jobs: std::num::NonZeroUsize,
}

impl Options {
    /// Everything on every kernel.
    pub(crate) fn everything() -> Self {
        Self {
            kernel: Selection::all(),
            scenarios: Vec::new(),
            list: false,
            jobs: std::num::NonZeroUsize::MIN,
        }
    }

    /// One scenario on every kernel.
    pub(crate) fn only(scenario: &str) -> Self {
        Self {
            scenarios: vec![scenario.to_owned()],
            ..Self::everything()
        }
    }

    /// These scenarios on these kernels.
    pub(crate) fn of(kernel: Selection, scenarios: &[&str]) -> Self {
        Self {
            kernel,
            scenarios: scenarios.iter().map(|&name| name.to_owned()).collect(),
            ..Self::everything()
        }
    }

    /// Names of the scenarios to run, in the order they run in.
    pub(super) fn scenario_names(&self) -> Result<Vec<String>> {
        selected(&self.scenarios, scenarios::all())
    }
}

fn selected(asked: &[String], all: &[Scenario]) -> Result<Vec<String>> {
    if let Some(unknown) = asked
        .iter()
        .find(|name| !all.iter().any(|known| known.name == *name))
    {
        let names: Vec<_> = all.iter().map(|scenario| scenario.name).collect();
        bail!(
            "there is no scenario {unknown}; there are {}",
            names.join(", ")
        );
    }
    let wanted = all.iter().filter(|known| {
        if asked.is_empty() {
            !scenarios::ON_REQUEST.contains(&known.name)
        } else {
            asked.iter().any(|name| known.name == name)
        }
    });
    Ok(wanted.map(|scenario| scenario.name.to_owned()).collect())
}

/// The scenarios with what they show, for people.
pub(super) fn list() -> String {
    let all = scenarios::all();
    let width = all
        .iter()
        .map(|scenario| scenario.name.len())
        .max()
        .unwrap_or(0);
    all.iter()
        .map(|Scenario { name, about, .. }| format!("{name:<width$}  {about}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scenario_means_all_of_them_but_those_on_request() {
        let names = selected(&[], scenarios::all()).unwrap();
        assert_eq!(
            names.len() + scenarios::ON_REQUEST.len(),
            scenarios::all().len()
        );
        for name in scenarios::ON_REQUEST {
            assert!(!names.iter().any(|other| other == name));
            assert_eq!(
                selected(&[name.to_owned()], scenarios::all()).unwrap(),
                [name]
            );
        }
    }

    #[test]
    fn scenarios_run_once_and_in_the_lists_order_whatever_was_asked_for() {
        let all = scenarios::all();
        let (first, second) = (all[0].name.to_owned(), all[1].name.to_owned());

        let names = selected(&[second.clone(), first.clone(), second.clone()], all).unwrap();

        assert_eq!(names, [first, second]);
    }

    #[test]
    fn an_unknown_scenario_is_refused_with_those_there_are() {
        let error = selected(&["clean-cutovr".to_owned()], scenarios::all())
            .unwrap_err()
            .to_string();

        assert!(
            error.starts_with("there is no scenario clean-cutovr; there are "),
            "{error}"
        );
        assert!(error.contains("clean-cutover"), "{error}");
    }
}
