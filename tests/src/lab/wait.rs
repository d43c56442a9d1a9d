//! Waiting for something to become true, with a limit and an error that says what was waited for and what was seen last.

use std::time::Duration;

use anyhow::{Result, bail};

use super::clock::BootNs;

/// How often a condition is looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// One look at a condition.
pub enum Look<T> {
    /// It holds; this is what was waited for.
    Seen(T),
    /// Not yet; this is how it looks now.
    NotYet(String),
}

/// Looks until the condition holds or `limit` is over. `what` completes "waited 3 s for …".
pub fn until<T>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Result<Look<T>>,
) -> Result<T> {
    let start = BootNs::now();
    loop {
        match look()? {
            Look::Seen(value) => return Ok(value),
            Look::NotYet(seen) if BootNs::now().since(start) >= limit => {
                bail!("waited {limit:?} for {what}; last seen: {seen}")
            }
            Look::NotYet(_) => pause(PERIOD),
        }
    }
}

/// Lets time pass.
pub fn pause(length: Duration) {
    std::thread::sleep(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_last_is_in_the_error() {
        let look = || Ok(Look::<()>::NotYet("connecting".to_owned()));
        let error = until("nvme0 to be live", Duration::from_millis(20), look).unwrap_err();
        assert_eq!(
            error.to_string(),
            "waited 20ms for nvme0 to be live; last seen: connecting"
        );
    }

    #[test]
    fn a_condition_that_comes_true_is_returned() {
        let mut looks = 0;
        let found = until("the third look", Duration::from_secs(5), || {
            looks += 1;
            Ok(if looks == 3 {
                Look::Seen(looks)
            } else {
                Look::NotYet(looks.to_string())
            })
        });
        assert_eq!(found.unwrap(), 3);
    }
}
