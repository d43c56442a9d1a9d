//! Rates as people write them: `10/min`, `50/s for 1s`.

use std::time::Duration;

use super::length;
use crate::watch::Rate;

/// What a rate is, for errors.
pub(super) const WHAT: &str = "a rate such as \"10/min\" or \"50/s for 1s\"";

/// Parses one: so many a unit, kept up for a unit or for the length that is given.
pub(super) fn parse(text: &str) -> Option<Rate> {
    let (rate, lasting) = match text.split_once(" for ") {
        Some((rate, lasting)) => (rate, Some(length::parse(lasting)?)),
        None => (text, None),
    };
    let (number, unit) = rate.split_once('/')?;
    let number: u64 = number.parse().ok()?;
    let unit = Duration::from_secs(match unit {
        "s" => 1,
        "min" => 60,
        "h" => 3_600,
        _ => return None,
    });
    let within = lasting.unwrap_or(unit);
    let count = u128::from(number) * within.as_nanos() / unit.as_nanos();
    (!within.is_zero()).then_some(Rate {
        count: u64::try_from(count).ok()?,
        within,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_a_unit_and_how_long_it_lasts() {
        let rate = |count, seconds| {
            Some(Rate {
                count,
                within: Duration::from_secs(seconds),
            })
        };
        assert_eq!(parse("10/min"), rate(10, 60));
        assert_eq!(parse("50/s for 1s"), rate(50, 1));
        assert_eq!(parse("50/s for 3s"), rate(150, 3));
        for text in [
            "",
            "10",
            "10/day",
            "/s",
            "-1/s",
            "1/s for 0s",
            "1/s for ever",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
