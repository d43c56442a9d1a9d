//! Reads a second beside a running agent, against those without one.

use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::Scenario;
use super::serving::Serving;
use super::verdict::Verdict;
use crate::lab::agent::Agent;
use crate::lab::host::Head;
use crate::lab::programs::{Amount, random_reads};
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "io-cost",
    about: "random reads a second with and without the agent, in pairs: at most 2 % fewer with it",
    expects_hung_task: false,
    run,
};

const PAIRS: usize = 12;
/// One half of a pair.
const EACH: Duration = Duration::from_secs(4);
/// For what the agent still does just after it is ready, and for what its end leaves; as long before reads without it.
const SETTLED: Duration = Duration::from_secs(1);
/// The ratio must be above.
const AT_LEAST: f64 = 0.98;
/// Beyond this spread the median cannot tell 2 % from nothing.
const SPREAD: f64 = 0.02;

fn run(lab: &mut Lab) -> Result<String> {
    let serving = Serving::set(lab)?;
    let mut verdict = Verdict::default();
    // What is read is in memory then.
    random_reads(&serving.head, Amount::For(EACH))?;

    let (mut ratios, mut without) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        // In turns, so that what drifts favours neither.
        let (with, bare) = if pair % 2 == 0 {
            let bare = rate(&serving.head)?;
            (watched_rate(&serving.head)?, bare)
        } else {
            let with = watched_rate(&serving.head)?;
            (with, rate(&serving.head)?)
        };
        eprintln!("pair {pair}: {with:.0} reads a second with the agent, {bare:.0} without");
        ratios.push(with / bare);
        without.push(bare);
    }
    let (ratio, without) = (Quartiles::of(ratios), Quartiles::of(without));
    let judgement = Judgement::of(&ratio);
    verdict.figure(format!(
        "reads with the agent / without {:.4} (above {AT_LEAST}), spread {:.2} % (at most {:.0} to judge): {judgement}; \
         {PAIRS} pairs of {} s, {:.0} a second without",
        ratio.median,
        100.0 * ratio.spread(),
        100.0 * SPREAD,
        EACH.as_secs(),
        without.median,
    ));
    verdict.require(judgement != Judgement::Slower, || {
        format!("{:.4} of the reads are left beside the agent", ratio.median)
    });
    verdict.close()
}

fn rate(head: &Head) -> Result<f64> {
    wait::pause(SETTLED);
    Ok(random_reads(head, Amount::For(EACH))?.per_second)
}

fn watched_rate(head: &Head) -> Result<f64> {
    let mut agent = Agent::start()?;
    let ready = agent.ready()?;
    ensure!(ready.source == "bpf", "the agent has no probes: {ready:?}");
    let rate = rate(head)?;
    agent.stop()?;
    Ok(rate)
}

/// What the ratios say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Holds,
    TooNoisy,
    Slower,
}

impl Judgement {
    fn of(ratio: &Quartiles) -> Self {
        if ratio.spread() > SPREAD {
            Self::TooNoisy
        } else if ratio.median > AT_LEAST {
            Self::Holds
        } else {
            Self::Slower
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::TooNoisy => "TOO NOISY TO JUDGE",
            Self::Slower => "slower",
        })
    }
}

/// Where a quarter, a half and three quarters of the values are below.
#[derive(Debug, Clone, Copy)]
struct Quartiles {
    lower: f64,
    median: f64,
    upper: f64,
}

impl Quartiles {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let last = values.len().saturating_sub(1);
        let value = |at: usize| values.get(at.min(last)).copied().unwrap_or(f64::NAN);
        // Between two values, as far along as the quarter is.
        let quarter = |quarters: usize| {
            let (at, rest) = (last * quarters / 4, last * quarters % 4);
            let along = [0.0, 0.25, 0.5, 0.75][rest];
            value(at) + along * (value(at + 1) - value(at))
        };
        Self {
            lower: quarter(1),
            median: quarter(2),
            upper: quarter(3),
        }
    }

    /// The middle half's width, relative to the median.
    fn spread(&self) -> f64 {
        (self.upper - self.lower) / self.median
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(values: &[f64]) -> Judgement {
        Judgement::of(&Quartiles::of(values.to_vec()))
    }

    #[test]
    fn quartiles_lie_between_the_values_beside_them() {
        let found = Quartiles::of(vec![4.0, 1.0, 2.0, 3.0]);
        assert_eq!([found.lower, found.median, found.upper], [1.75, 2.5, 3.25]);
        assert!((found.spread() - 0.6).abs() < 1e-9);
    }

    #[test]
    fn one_wild_pair_decides_nothing() {
        assert_eq!(judged(&[0.99, 0.995, 1.0, 0.99, 0.2]), Judgement::Holds);
    }

    #[test]
    fn a_steady_loss_of_more_than_two_percent_fails() {
        assert_eq!(judged(&[0.975, 0.97, 0.972, 0.974]), Judgement::Slower);
    }

    #[test]
    fn what_varies_more_than_the_bound_is_not_judged_either_way() {
        assert_eq!(judged(&[0.9, 0.95, 1.0, 1.05]), Judgement::TooNoisy);
        assert_eq!(judged(&[0.8, 0.85, 0.9, 0.95]), Judgement::TooNoisy);
    }
}
