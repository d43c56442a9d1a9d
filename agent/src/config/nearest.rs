//! The known key that a misspelt one was most likely meant to be.

/// What to say about an unknown key.
pub(super) fn hint(unknown: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|key| (distance(unknown, key), *key)).min();
    match nearest {
        Some((distance, key)) if distance <= unknown.len().max(3) / 3 => {
            format!("did you mean {key}?")
        }
        _ => format!("known are {}", known.join(", ")),
    }
}

/// How many letters must be put in, left out, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            let mut best = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named_only_when_it_is_near() {
        assert_eq!(
            hint("publised", &["nqn", "published"]),
            "did you mean published?"
        );
        assert_eq!(
            hint("frobnicate", &["nqn", "published"]),
            "known are nqn, published"
        );
    }

    #[test]
    fn a_swap_is_one_mistake() {
        assert_eq!(distance("min_aeg", "min_age"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
