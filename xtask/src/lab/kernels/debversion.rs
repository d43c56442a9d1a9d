//! Debian's order of version numbers (Debian Policy 5.6.12, deb-version(7)).

use std::cmp::Ordering;

/// Compares two Debian versions, `[epoch:]upstream[-revision]`.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (Parts::of(a), Parts::of(b));
    a.epoch
        .cmp(&b.epoch)
        .then_with(|| compare_part(a.upstream, b.upstream))
        .then_with(|| compare_part(a.revision, b.revision))
}

struct Parts<'a> {
    epoch: u64,
    upstream: &'a str,
    revision: &'a str,
}

impl<'a> Parts<'a> {
    fn of(version: &'a str) -> Self {
        let (epoch, rest) = version.split_once(':').unwrap_or(("0", version));
        // An absent revision equals "0", and so does an empty one in `compare_part`.
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
        Self {
            epoch: epoch.parse().unwrap_or(0),
            upstream,
            revision,
        }
    }
}

/// Alternately a run of other characters, then a run of digits as a number.
fn compare_part(mut a: &str, mut b: &str) -> Ordering {
    while !a.is_empty() || !b.is_empty() {
        let (text_a, rest_a) = split(a, |c| !c.is_ascii_digit());
        let (text_b, rest_b) = split(b, |c| !c.is_ascii_digit());
        let (number_a, next_a) = split(rest_a, |c| c.is_ascii_digit());
        let (number_b, next_b) = split(rest_b, |c| c.is_ascii_digit());
        let order = compare_text(text_a, text_b).then_with(|| compare_number(number_a, number_b));
        if order.is_ne() {
            return order;
        }
        (a, b) = (next_a, next_b);
    }
    Ordering::Equal
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn compare_text(a: &str, b: &str) -> Ordering {
    let rank = |c: Option<char>| match c {
        Some('~') => (0, '~'),
        None => (1, '\0'),
        Some(c) if c.is_ascii_alphabetic() => (2, c),
        Some(c) => (3, c),
    };
    let (mut a, mut b) = (a.chars(), b.chars());
    loop {
        let (x, y) = (a.next(), b.next());
        let order = rank(x).cmp(&rank(y));
        if order.is_ne() || x.is_none() {
            return order;
        }
    }
}

fn compare_number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_debians_order() {
        let ascending = [
            "6.1.9-1",
            "6.1.176-1",
            "6.1.192-2",
            "6.1.192-3~deb12u1",
            "6.1.192-3",
            "6.1.192-3+b1",
            "6.12.118-1",
            "7.2.13-1",
            "7.3~rc4-1~exp1",
            "7.3-1",
            "1:1.0-1",
        ];

        for pair in ascending.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn spellings_of_one_version_are_equal() {
        for (a, b) in [("1.0", "1.0-0"), ("0:1.0-1", "1.0-1"), ("1.01", "1.1")] {
            assert_eq!(compare(a, b), Ordering::Equal, "{a} {b}");
        }
    }
}
