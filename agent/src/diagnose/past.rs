//! What was seen before this moment, by whoever watched. A one-shot command has seen nothing.

use std::collections::HashMap;
use std::time::Duration;

use crate::fabric::{BootNs, Controller, ControllerName, Generation};

/// What is known of the past.
#[derive(Debug, Clone)]
pub struct Past {
    now: BootNs,
    seen: HashMap<ControllerName, Seen>,
}

/// What is known of one controller's past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Which of the controllers of this name was seen.
    pub generation: Option<Generation>,
    /// Since when it has been in its state with the legs it has, without a gap in what was seen.
    pub unchanged_since: BootNs,
    /// Whether it has been rescanned since then, without effect.
    pub rescanned: bool,
}

impl Past {
    /// Nothing was seen.
    #[must_use]
    pub fn none() -> Self {
        Self {
            now: BootNs::ZERO,
            seen: HashMap::new(),
        }
    }

    /// What was seen until now.
    #[must_use]
    pub fn new(now: BootNs, seen: impl IntoIterator<Item = (ControllerName, Seen)>) -> Self {
        Self {
            now,
            seen: seen.into_iter().collect(),
        }
    }

    /// What was seen of this very controller, not of an earlier one of its name.
    #[must_use]
    pub fn of(&self, controller: &Controller) -> Option<Seen> {
        let seen = self.seen.get(&controller.name)?;
        let same = seen.generation.is_some() && seen.generation == controller.generation;
        same.then_some(*seen)
    }

    /// For how long it has been as it is.
    #[must_use]
    pub fn age(&self, controller: &Controller) -> Option<Duration> {
        self.now.since(self.of(controller)?.unchanged_since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_an_earlier_controller_of_the_name_is_not_this_ones() {
        let name = ControllerName::from_instance(1);
        let seen = Seen {
            generation: Some(Generation(7)),
            unchanged_since: BootNs(0),
            rescanned: false,
        };
        let past = Past::new(BootNs(5_000_000_000), [(name, seen)]);
        let mut controller = Controller::unknown(name);
        assert_eq!(past.age(&controller), None);
        controller.generation = Some(Generation(7));
        assert_eq!(past.age(&controller), Some(Duration::from_secs(5)));
        controller.generation = Some(Generation(8));
        assert_eq!(past.age(&controller), None);
    }
}
