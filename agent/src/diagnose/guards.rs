//! What forbids an action: a pure look at one controller, each guard with a stable name.
//!
//! Here are the guards that a host, its expectation and its past can answer. Those that need a journal, a budget or
//! a migration are `repair`'s.

use super::{Action, Case, Fact, OWNER, Published, Reason};
use crate::fabric::{Controller, Multipath};

/// An action that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Removal<'a> {
    /// What would be done.
    pub action: Action,
    /// To whom.
    pub controller: &'a Controller,
    /// It rests on a declaration or a published set, which must be known and fresh.
    pub needs_desired: bool,
}

/// The first guard that forbids an action; none when it may be proposed.
pub(super) fn refusal(case: &Case<'_>, removal: &Removal<'_>) -> Option<Reason> {
    identity(case, removal.controller)
        .or_else(|| ownership(case, removal.controller))
        .or_else(|| {
            if removal.action.removes() {
                service(case, removal)
            } else {
                None
            }
        })
        .or_else(|| time(case, removal))
}

fn identity(case: &Case<'_>, controller: &Controller) -> Option<Reason> {
    let view = &case.view;
    if controller.transport.value().is_some() && !controller.is_fabric() {
        return Some(Reason::NotAFabric);
    }
    if controller.is_discovery(view.subsystem_of(controller)) {
        return Some(Reason::Discovery);
    }
    let identity = controller.identity();
    let complete = identity.is_complete()
        && controller.cntlid.value().is_some()
        && controller.generation.is_some()
        && controller.subsystem.is_some();
    if !complete || view.is_transient_controller(controller.name) {
        return Some(Reason::IdentityIncomplete);
    }
    case.doubles
        .contains(&controller.name)
        .then_some(Reason::AmbiguousIdentity)
}

fn ownership(case: &Case<'_>, controller: &Controller) -> Option<Reason> {
    match case.own_host.owns(controller) {
        None => return Some(Reason::IdentityIncomplete),
        Some(false) => return Some(Reason::ForeignHost),
        Some(true) => {}
    }
    let node = case.subject.node;
    let excluded = match &node.exclusions {
        Fact::Known(list) => list.iter().any(|exclusion| exclusion.matches(controller)),
        Fact::Elsewhere => false,
        Fact::Unreadable(_) => true,
    };
    if excluded {
        return Some(Reason::Excluded);
    }
    let owned_by_other = match &node.owners {
        Fact::Known(owners) => owners
            .get(&controller.name)
            .is_some_and(|owner| owner != OWNER),
        Fact::Elsewhere => false,
        Fact::Unreadable(_) => true,
    };
    if owned_by_other {
        return Some(Reason::OwnedByOther);
    }
    if controller.state.is_deleting() || controller.deletable == Some(false) {
        return Some(Reason::DeleteInProgress);
    }
    if case.subject.host.multipath != Some(Multipath::On) {
        return Some(Reason::MultipathOff);
    }
    None
}

fn service(case: &Case<'_>, removal: &Removal<'_>) -> Option<Reason> {
    let (view, survivors, controller) = (&case.view, &case.survivors, removal.controller);
    let subsystem = view.subsystem_of(controller)?;
    let asked = subsystem
        .nqn
        .value()
        .and_then(|nqn| case.subject.expectation.namespace_asked(nqn));
    let losers: Vec<_> = survivors.at_risk(view, controller.name).collect();
    if !losers.is_empty() {
        let asked_one = losers
            .iter()
            .any(|at| asked.is_none_or(|id| id.names(at.namespace)));
        return Some(if asked_one {
            Reason::LastUsablePath
        } else {
            Reason::CoTenantAtRisk
        });
    }
    if subsystem
        .namespaces
        .iter()
        .any(|namespace| !survivors.is_served(subsystem, namespace))
    {
        return Some(Reason::SubsystemDark);
    }
    if removal.action == Action::Reap
        && !survivors.another_live(view, subsystem.name, controller.name)
    {
        return Some(Reason::LastUsablePath);
    }
    let serves = view
        .legs_of(controller.name)
        .iter()
        .any(|at| at.standing.usable() != Some(false));
    if removal.action == Action::Release && serves {
        return Some(Reason::StillServing);
    }
    let going = survivors.disks_going_with(view, controller.name);
    let in_use = match &case.subject.node.in_use {
        Fact::Known(disks) => going.iter().any(|disk| disks.contains(disk)),
        Fact::Elsewhere | Fact::Unreadable(_) => !going.is_empty(),
    };
    in_use.then_some(Reason::InUse)
}

fn time(case: &Case<'_>, removal: &Removal<'_>) -> Option<Reason> {
    let expectation = case.subject.expectation;
    if removal.needs_desired {
        match removal
            .controller
            .subsysnqn
            .value()
            .map(|nqn| expectation.published(nqn))
        {
            Some(Published::Known(_)) => {}
            Some(Published::Stale(_)) => return Some(Reason::DesiredStale),
            Some(Published::Unknown) | None => return Some(Reason::DesiredUnknown),
        }
    }
    match case.subject.past.age(removal.controller) {
        None => Some(Reason::HistoryIncomplete),
        Some(age) if age < case.subject.policy.min_age => Some(Reason::TooYoung),
        Some(_) => None,
    }
}
