//! Migrations that are known: our own, and those that a caller names.

use std::collections::BTreeMap;

use crate::fabric::{BootNs, Endpoint, Nqn};

/// A migration in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// Of which subsystem.
    pub nqn: Nqn,
    /// Its phase.
    pub phase: String,
    /// Where to.
    pub targets: Vec<Endpoint>,
    /// Since when it is known.
    pub since: BootNs,
}

#[derive(Debug, Default)]
pub(super) struct Migrations {
    in_flight: BTreeMap<String, Migration>,
}

impl Migrations {
    pub(super) fn note(
        &mut self,
        id: &str,
        phase: &str,
        nqn: &Nqn,
        targets: &[Endpoint],
        time: BootNs,
    ) {
        if is_over(phase) {
            self.in_flight.remove(id);
            return;
        }
        let fresh = || Migration {
            nqn: nqn.clone(),
            phase: String::new(),
            targets: Vec::new(),
            since: time,
        };
        let migration = self.in_flight.entry(id.to_owned()).or_insert_with(fresh);
        phase.clone_into(&mut migration.phase);
        if !targets.is_empty() {
            migration.targets = targets.to_vec();
        }
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = (&str, &Migration)> {
        self.in_flight.iter().map(|(id, it)| (id.as_str(), it))
    }

    /// The one of a subsystem: there is one at a time.
    pub(super) fn of(&self, nqn: &Nqn) -> Option<(&str, &Migration)> {
        self.in_flight()
            .find(|(_, migration)| migration.nqn == *nqn)
    }
}

/// Nothing leaves a terminal phase.
fn is_over(phase: &str) -> bool {
    ["completed", "failed", "aborted"]
        .iter()
        .any(|word| phase.eq_ignore_ascii_case(word))
}
