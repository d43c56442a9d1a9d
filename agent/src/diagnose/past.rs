//! What was seen before this moment, by whoever watched. A one-shot command has seen nothing.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::fabric::{BootNs, Controller, ControllerName, Endpoint, Generation, Nqn, Nsid};
use crate::watch::{Sign, Watch};

/// What is known of the past.
#[derive(Debug, Clone)]
pub struct Past {
    now: BootNs,
    seen: HashMap<ControllerName, Seen>,
    /// Subsystems of which a window is open.
    dark: HashSet<Nqn>,
    /// Subsystems and targets of migrations in flight.
    migrations: Vec<(Nqn, Vec<Endpoint>)>,
    /// Legs that are not well.
    pub(super) flapping: Vec<Sign>,
    /// Legs that are usable and do not serve.
    pub(super) bouncing: Vec<Sign>,
    /// Namespaces that two copies may serve, and since when.
    pub(super) doubly_served: Vec<(Nqn, Nsid, BootNs)>,
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
    /// What it has been through since it was last live; none while it is.
    pub absence: Option<Absence>,
}

/// A controller's time without a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    /// Since when.
    pub since: BootNs,
    /// Since when everything was seen.
    pub complete_since: BootNs,
    /// Attempts to connect.
    pub attempts: u32,
    /// How many of them, up to the last, the target answered with a rejection.
    pub rejections: u32,
    /// The last rejection's status.
    pub last_rejection: Option<u16>,
    /// Whether it ever served.
    pub served: bool,
}

impl Past {
    /// Nothing was seen.
    #[must_use]
    pub fn none() -> Self {
        Self::new(BootNs::ZERO, [])
    }

    /// What was seen until now.
    #[must_use]
    pub fn new(now: BootNs, seen: impl IntoIterator<Item = (ControllerName, Seen)>) -> Self {
        Self {
            now,
            seen: seen.into_iter().collect(),
            dark: HashSet::new(),
            migrations: Vec::new(),
            flapping: Vec::new(),
            bouncing: Vec::new(),
            doubly_served: Vec::new(),
        }
    }

    /// What a watch has seen.
    #[must_use]
    pub fn from_watch(watch: &Watch) -> Self {
        let seen = watch.histories().map(|(id, history)| {
            let absence = history.not_live_since.map(|since| Absence {
                since,
                complete_since: history.complete_since,
                attempts: history.attempts,
                rejections: history.rejections,
                last_rejection: history.last_rejection,
                served: history.served,
            });
            let seen = Seen {
                generation: Some(id.generation),
                unchanged_since: history.unchanged_since.max(history.complete_since),
                rescanned: false,
                absence,
            };
            (id.name, seen)
        });
        let doubly_served = watch.double_optimized();
        Self {
            dark: watch.open().map(|window| window.nqn.clone()).collect(),
            migrations: watch
                .migrations()
                .map(|(_, migration)| (migration.nqn.clone(), migration.targets.clone()))
                .collect(),
            flapping: watch.flapping(),
            bouncing: watch.bouncing(),
            doubly_served: doubly_served
                .map(|(key, nsid, since)| (key.nqn.clone(), nsid, since))
                .collect(),
            ..Self::new(watch.now(), seen)
        }
    }

    /// How long ago that was.
    #[must_use]
    pub fn since(&self, time: BootNs) -> Duration {
        self.now.saturating_since(time)
    }

    /// Whether a window of this subsystem is open.
    #[must_use]
    pub fn is_dark(&self, nqn: &Nqn) -> bool {
        self.dark.contains(nqn)
    }

    /// Whether a migration in flight names this endpoint of a subsystem.
    #[must_use]
    pub fn migrates_to(&self, nqn: &Nqn, endpoint: &Endpoint) -> bool {
        self.migrations
            .iter()
            .any(|(of, targets)| of == nqn && targets.iter().any(|target| target.covers(endpoint)))
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
            absence: None,
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
