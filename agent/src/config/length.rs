//! Lengths of time as people write them: `200ms`, `30s`, `10m`, `1h`, `7d`.

use std::time::Duration;

/// What a length is, for errors.
pub const WHAT: &str = "a length of time such as \"30s\"";

/// Parses one. A bare number has no unit and is refused.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let unit = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit);
    let number: u64 = number.parse().ok()?;
    let seconds = match unit {
        "ms" => return Some(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_and_a_unit() {
        assert_eq!(parse("200ms"), Some(Duration::from_millis(200)));
        assert_eq!(parse("10m"), Some(Duration::from_secs(600)));
        assert_eq!(parse("7d"), Some(Duration::from_secs(604_800)));
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "30 s",
            "18446744073709551615h",
            "3w",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
