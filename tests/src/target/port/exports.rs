//! A subsystem as one port serves it: which of its namespaces, and in which ANA states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Result, ensure};

use crate::target::ana::AnaState;
use crate::target::ids::{GroupId, Nsid};
use crate::target::pages::ana_log::Group;
use crate::target::plan::ExportPlan;
use crate::target::subsystem::{Namespace, Subsystem};

#[derive(Debug)]
pub(super) struct Export {
    subsystem: Arc<Subsystem>,
    attached: BTreeSet<Nsid>,
    /// Groups whose state was set; others are optimized and never changed.
    states: BTreeMap<GroupId, State>,
    changes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    ana: AnaState,
    changes: u64,
}

impl Export {
    pub(super) fn new(subsystem: Arc<Subsystem>, plan: &ExportPlan) -> Result<Self> {
        let attached = match &plan.namespaces {
            Some(listed) => listed.iter().copied().collect(),
            None => subsystem.nsids(),
        };
        let mut export = Self {
            subsystem,
            attached: BTreeSet::new(),
            states: BTreeMap::new(),
            changes: 0,
        };
        for nsid in attached {
            export.attach(nsid)?;
        }
        for (group, ana) in &plan.ana {
            export.states.insert(
                *group,
                State {
                    ana: *ana,
                    changes: 0,
                },
            );
        }
        Ok(export)
    }

    pub(super) fn subsystem(&self) -> Arc<Subsystem> {
        Arc::clone(&self.subsystem)
    }

    pub(super) fn nsids(&self) -> BTreeSet<Nsid> {
        self.attached.clone()
    }

    pub(super) fn attached(&self, nsid: Nsid) -> Option<(Arc<Namespace>, AnaState)> {
        let namespace = self
            .attached
            .get(&nsid)
            .and_then(|nsid| self.subsystem.namespace(*nsid))?;
        let state = self.state(namespace.group).ana;
        Some((namespace, state))
    }

    pub(super) fn attach(&mut self, nsid: Nsid) -> Result<()> {
        let nqn = self.subsystem.nqn();
        ensure!(
            self.subsystem.namespace(nsid).is_some(),
            "{nqn} has no namespace {}",
            nsid.0
        );
        self.attached.insert(nsid);
        Ok(())
    }

    pub(super) fn detach(&mut self, nsid: Nsid) {
        self.attached.remove(&nsid);
    }

    /// Moves a group to a state, the one it is in included.
    pub(super) fn change(&mut self, group: GroupId, ana: AnaState) {
        let changes = self.state(group).changes + 1;
        self.states.insert(group, State { ana, changes });
        self.changes += 1;
    }

    /// The groups that have namespaces attached here, in order; groups without any are not told of.
    pub(super) fn groups(&self) -> (u64, Vec<Group>) {
        let mut members: BTreeMap<GroupId, Vec<Nsid>> = BTreeMap::new();
        for namespace in self
            .attached
            .iter()
            .filter_map(|nsid| self.subsystem.namespace(*nsid))
        {
            members
                .entry(namespace.group)
                .or_default()
                .push(namespace.nsid);
        }
        let group = |(id, nsids)| {
            let State { ana, changes } = self.state(id);
            Group {
                id,
                state: ana,
                changes,
                nsids,
            }
        };
        (self.changes, members.into_iter().map(group).collect())
    }

    fn state(&self, group: GroupId) -> State {
        self.states.get(&group).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::plan::{NamespacePlan, SubsystemPlan};

    fn export(plan: &ExportPlan) -> Result<Export> {
        let namespaces = [(1, 1), (2, 2), (3, 1)];
        let subsystem = namespaces
            .into_iter()
            .fold(SubsystemPlan::new("nqn.a"), |plan, (nsid, group)| {
                plan.namespace(NamespacePlan::new(nsid).in_group(group))
            });
        Export::new(Arc::new(Subsystem::new(&subsystem)?), plan)
    }

    #[test]
    fn groups_are_told_with_the_namespaces_that_are_attached() {
        let mut export = export(&ExportPlan::new("nqn.a").ana(2, AnaState::Inaccessible)).unwrap();
        export.detach(Nsid(1));
        export.change(GroupId(1), AnaState::NonOptimized);
        let (changes, groups) = export.groups();
        assert_eq!(changes, 1);
        let told: Vec<_> = groups
            .iter()
            .map(|group| (group.id.0, group.state, group.changes))
            .collect();
        assert_eq!(
            told,
            [
                (1, AnaState::NonOptimized, 1),
                (2, AnaState::Inaccessible, 0)
            ]
        );
        assert_eq!(groups[0].nsids, [Nsid(3)]);
        export.detach(Nsid(2));
        assert_eq!(
            export.groups().1.len(),
            1,
            "a group without namespaces is not told of"
        );
    }

    #[test]
    fn a_husk_has_nothing_and_a_plan_names_what_there_is() {
        let husk = export(&ExportPlan::new("nqn.a").only(&[])).unwrap();
        assert!(husk.nsids().is_empty() && husk.attached(Nsid(1)).is_none());
        assert!(export(&ExportPlan::new("nqn.a").only(&[9])).is_err());
    }
}
