//! How many guests it takes to run a kernel's scenarios: one, unless the emulator fails.

use std::time::Duration;

use anyhow::Result;

use super::guest::Outcome;

/// How often a kernel is booted at most.
const MOST: usize = 3;

/// Runs the scenarios by `run`, which boots one guest for those it is given. When it is the emulator that failed, `slipped`
/// hears of it with the number of the boot, and a new guest runs what is left. What ended before counts as it ended.
pub(super) fn run_all(
    scenarios: &[String],
    mut run: impl FnMut(&[String]) -> Result<Outcome>,
    mut slipped: impl FnMut(usize, &Outcome) -> Result<()>,
) -> Result<Outcome> {
    let (mut ended, mut elapsed) = (Vec::new(), Duration::ZERO);
    let mut left = scenarios.to_vec();
    let mut boot = 1;
    loop {
        let mut outcome = run(&left)?;
        left.retain(|name| {
            outcome
                .unfinished
                .iter()
                .any(|other| &other.scenario == name)
        });
        ended.append(&mut outcome.ended);
        elapsed += outcome.elapsed;
        let forgiven = outcome.emulator_slipped && (left.is_empty() || boot < MOST);
        if forgiven {
            slipped(boot, &outcome)?;
            outcome.trouble = None;
            if !left.is_empty() {
                boot += 1;
                continue;
            }
        }
        return Ok(Outcome {
            ended,
            elapsed,
            ..outcome
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::guest::Ended;
    use super::*;
    use std::path::PathBuf;

    const SECOND: Duration = Duration::from_secs(1);

    fn scenario(name: &str, ok: bool) -> Ended {
        Ended {
            scenario: name.to_owned(),
            ok,
            figures: String::new(),
            elapsed: SECOND,
        }
    }

    /// A guest that gets as far as `done` of what it is given.
    fn guest(given: &[String], done: usize, slips: bool, trouble: bool) -> Outcome {
        Outcome {
            ended: given[..done]
                .iter()
                .map(|name| scenario(name, true))
                .collect(),
            unfinished: given[done..]
                .iter()
                .map(|name| scenario(name, false))
                .collect(),
            trouble: (trouble || slips).then(|| "x".to_owned()),
            emulator_slipped: slips,
            boot: Some(SECOND),
            elapsed: SECOND,
            console: PathBuf::new(),
        }
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("s{number}")).collect()
    }

    fn run(script: &[(usize, bool, bool)]) -> (Outcome, usize) {
        let mut boots = 0;
        let outcome = run_all(
            &names(3),
            |given| {
                let (done, slips, trouble) = script[boots];
                boots += 1;
                Ok(guest(given, done, slips, trouble))
            },
            |_, _| Ok(()),
        );
        (outcome.unwrap(), boots)
    }

    #[test]
    fn one_guest_does_when_nothing_is_wrong() {
        let (outcome, boots) = run(&[(3, false, false)]);

        assert_eq!((boots, outcome.ended.len(), outcome.trouble), (1, 3, None));
    }

    #[test]
    fn after_a_slip_a_new_guest_runs_what_is_left() {
        let (outcome, boots) = run(&[(1, true, false), (2, false, false)]);

        let ended: Vec<_> = outcome
            .ended
            .iter()
            .map(|ended| ended.scenario.as_str())
            .collect();
        assert_eq!((boots, ended), (2, vec!["s0", "s1", "s2"]));
        assert_eq!((outcome.trouble, outcome.elapsed), (None, 2 * SECOND));
    }

    #[test]
    fn a_slip_after_the_last_scenario_costs_nothing() {
        let (outcome, boots) = run(&[(3, true, false)]);

        assert_eq!((boots, outcome.trouble), (1, None));
    }

    #[test]
    fn a_fault_of_the_guest_is_never_tried_again() {
        let (outcome, boots) = run(&[(1, false, true)]);

        assert_eq!(
            (boots, outcome.unfinished.len(), outcome.trouble),
            (1, 2, Some("x".to_owned()))
        );
    }

    #[test]
    fn an_emulator_that_fails_every_time_is_a_failure() {
        let (outcome, boots) = run(&[(0, true, false); MOST]);

        assert_eq!(
            (boots, outcome.unfinished.len(), outcome.trouble),
            (MOST, 3, Some("x".to_owned()))
        );
    }
}
