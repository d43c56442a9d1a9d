//! A host with its relations at hand: which legs go through a controller, how each leg stands, who
//! would be left without one.

use std::collections::{HashMap, HashSet};

use super::usable::{ControllerWords, LegWords, usable};
use super::{
    AnaState, Attr, Controller, ControllerKind, ControllerName, ControllerState, Host, Layout, Leg,
    Namespace, Nqn, Subsystem, SubsystemName,
};

/// How a leg stands, as far as a snapshot of sysfs shows.
///
/// sysfs does not show everything: ANA-pending, ready, and whether a deleting controller was live are
/// the kernel's own. "Usable" here means that nothing that shows speaks against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LegStanding {
    /// The kernel would route over it.
    Usable {
        /// The controller has no ANA, and the leg is taken to be accessible.
        assumed: bool,
    },
    /// It would not.
    Unusable(Unusable),
    /// Cannot be told.
    Unknown(Untold),
}

/// Why a leg is not usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unusable {
    /// Its controller is in a state that carries no I/O.
    Controller(ControllerState),
    /// Its ANA state is not accessible.
    Ana(AnaState),
    /// Its size is 0 or not the head's: it is being removed, or not rescanned after a resize.
    NotReady,
}

/// Why it cannot be told whether a leg is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Untold {
    /// The leg, its head or its controller could not be read, or changed meanwhile.
    Transient,
    /// Its controller is deleting; usable if it was live before.
    Deleting,
    /// It is accessible on a live controller, and yet has no head.
    NoHead,
}

impl LegStanding {
    /// As a value of three: usable, not usable, unknown.
    #[must_use]
    pub fn usable(self) -> Option<bool> {
        match self {
            Self::Usable { .. } => Some(true),
            Self::Unusable(_) => Some(false),
            Self::Unknown(_) => None,
        }
    }
}

/// How many of a namespace's legs stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NamespaceStanding {
    /// Legs that are usable.
    pub usable: usize,
    /// Legs that are not.
    pub unusable: usize,
    /// Legs of which it cannot be told.
    pub unknown: usize,
}

impl NamespaceStanding {
    /// Whether it certainly has no usable leg.
    #[must_use]
    pub fn is_dark(self) -> bool {
        self.usable == 0 && self.unknown == 0
    }
}

/// What the counts of `status` say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Subsystems.
    pub subsystems: usize,
    /// Controllers.
    pub controllers: usize,
    /// Namespaces.
    pub namespaces: usize,
    /// Legs.
    pub legs: usize,
    /// Legs that are usable.
    pub usable_legs: usize,
    /// Live fabric controllers with legs, none of them accessible.
    pub parked: usize,
    /// Live fabric controllers without a leg of any namespace, discovery and administration aside.
    pub husks: usize,
}

/// A path from a subsystem down to one leg.
#[derive(Debug, Clone, Copy)]
pub struct LegAt<'h> {
    /// The subsystem.
    pub subsystem: &'h Subsystem,
    /// The namespace.
    pub namespace: &'h Namespace,
    /// The leg.
    pub leg: &'h Leg,
    /// How it stands.
    pub standing: LegStanding,
}

/// A host and its relations.
#[derive(Debug)]
pub struct View<'h> {
    host: &'h Host,
    transient: HashSet<&'h str>,
    legs: HashMap<ControllerName, Vec<LegAt<'h>>>,
    members: HashMap<SubsystemName, Vec<&'h Controller>>,
}

impl<'h> View<'h> {
    /// Relates a host's objects. The host's lists must be sorted ([`Host::sort`]).
    #[must_use]
    pub fn new(host: &'h Host) -> Self {
        let mut view = Self {
            host,
            transient: host.unchecked.iter().map(|u| u.object.as_str()).collect(),
            legs: HashMap::with_capacity(host.controllers.len()),
            members: HashMap::with_capacity(host.subsystems.len()),
        };
        for controller in &host.controllers {
            if let Some(subsystem) = controller.subsystem {
                view.members.entry(subsystem).or_default().push(controller);
            }
        }
        for subsystem in &host.subsystems {
            for namespace in &subsystem.namespaces {
                for leg in &namespace.legs {
                    let standing = view.standing(namespace, leg);
                    let at = LegAt {
                        subsystem,
                        namespace,
                        leg,
                        standing,
                    };
                    view.legs.entry(leg.controller).or_default().push(at);
                }
            }
        }
        view
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &'h Host {
        self.host
    }

    /// The legs that go through a controller.
    #[must_use]
    pub fn legs_of(&self, controller: ControllerName) -> &[LegAt<'h>] {
        self.legs.get(&controller).map_or(&[], Vec::as_slice)
    }

    /// The controllers that are attached to a subsystem.
    #[must_use]
    pub fn controllers_of(&self, subsystem: SubsystemName) -> &[&'h Controller] {
        self.members.get(&subsystem).map_or(&[], Vec::as_slice)
    }

    /// The subsystem that a controller is attached to.
    #[must_use]
    pub fn subsystem_of(&self, controller: &Controller) -> Option<&'h Subsystem> {
        self.host.subsystem(controller.subsystem?)
    }

    /// Whether an object could not be read completely, or changed while it was.
    #[must_use]
    pub fn is_transient(&self, object: &str) -> bool {
        !self.transient.is_empty() && self.transient.contains(object)
    }

    /// Whether a controller is transient.
    #[must_use]
    pub fn is_transient_controller(&self, controller: ControllerName) -> bool {
        !self.transient.is_empty() && self.transient.contains(controller.to_string().as_str())
    }

    /// How a leg stands.
    #[must_use]
    pub fn standing(&self, namespace: &Namespace, leg: &Leg) -> LegStanding {
        let transient = LegStanding::Unknown(Untold::Transient);
        if !self.transient.is_empty()
            && (self.is_transient(&leg.name.to_string())
                || self.is_transient_controller(leg.controller)
                || namespace
                    .head
                    .as_ref()
                    .is_some_and(|h| self.is_transient(&h.name.to_string())))
        {
            return transient;
        }
        let Some(controller) = self.host.controller(leg.controller) else {
            return transient;
        };
        snapshot_standing(namespace, leg, controller.state)
    }

    /// How a namespace's legs stand together.
    #[must_use]
    pub fn namespace_standing(&self, namespace: &Namespace) -> NamespaceStanding {
        let mut sum = NamespaceStanding::default();
        for leg in &namespace.legs {
            match self.standing(namespace, leg).usable() {
                Some(true) => sum.usable += 1,
                Some(false) => sum.unusable += 1,
                None => sum.unknown += 1,
            }
        }
        sum
    }

    /// Whether a controller is parked: live, with legs, and none of them accessible.
    #[must_use]
    pub fn is_parked(&self, controller: &Controller) -> bool {
        let legs = self.legs_of(controller.name);
        self.carries_namespaces(controller)
            && !legs.is_empty()
            && legs
                .iter()
                .all(|at| at.leg.ana.value().is_some_and(|ana| !ana.accessible()))
    }

    /// Whether a controller is a husk: live, without a leg of any namespace.
    #[must_use]
    pub fn is_husk(&self, controller: &Controller) -> bool {
        self.carries_namespaces(controller) && self.legs_of(controller.name).is_empty()
    }

    /// Whether a controller is live, read completely, on a fabric, and there to carry namespaces.
    #[must_use]
    pub fn carries_namespaces(&self, controller: &Controller) -> bool {
        controller.state == ControllerState::Live
            && controller.is_fabric()
            && controller.kind.value() != Some(&ControllerKind::Admin)
            && !controller.is_discovery(self.subsystem_of(controller))
            && !self.is_transient_controller(controller.name)
    }

    /// The counts of `status`.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.count(|_| true, |_| true)
    }

    /// The counts of one subsystem, of all the kernel's instances of it.
    #[must_use]
    pub fn counts_of(&self, nqn: &Nqn) -> Counts {
        let subsystem = |s: &Subsystem| s.nqn.value() == Some(nqn);
        self.count(subsystem, |c| {
            c.subsysnqn.value() == Some(nqn) || self.subsystem_of(c).is_some_and(subsystem)
        })
    }

    fn count(
        &self,
        subsystem: impl Fn(&Subsystem) -> bool,
        controller: impl Fn(&Controller) -> bool,
    ) -> Counts {
        let subsystems: Vec<_> = self
            .host
            .subsystems
            .iter()
            .filter(|s| subsystem(s))
            .collect();
        let controllers: Vec<_> = self
            .host
            .controllers
            .iter()
            .filter(|c| controller(c))
            .collect();
        let namespaces = || subsystems.iter().flat_map(|s| &s.namespaces);
        let standings = || namespaces().map(|namespace| self.namespace_standing(namespace));
        Counts {
            subsystems: subsystems.len(),
            controllers: controllers.len(),
            namespaces: namespaces().count(),
            legs: namespaces().map(|namespace| namespace.legs.len()).sum(),
            usable_legs: standings().map(|standing| standing.usable).sum(),
            parked: controllers.iter().filter(|c| self.is_parked(c)).count(),
            husks: controllers.iter().filter(|c| self.is_husk(c)).count(),
        }
    }
}

/// The rule of [`usable`], fed with what sysfs shows.
fn snapshot_standing(namespace: &Namespace, leg: &Leg, state: ControllerState) -> LegStanding {
    let transient = LegStanding::Unknown(Untold::Transient);
    let ana = match leg.ana {
        Attr::Value(state) => Some(state),
        Attr::Unset => None,
        Attr::Unreadable(_) => return transient,
    };
    let Attr::Value(size) = leg.size else {
        return transient;
    };
    let head = namespace.head.as_ref();
    let ready = match (leg.layout, head.map(|head| head.size)) {
        (Layout::Multipath, Some(Attr::Value(head_size))) => size == head_size && size.0 != 0,
        (Layout::Multipath, Some(_)) => return transient,
        (Layout::Multipath, None) | (Layout::Private | Layout::Plain, _) => size.0 != 0,
    };
    let words = LegWords {
        member: true,
        ready,
        pending: false,
        ana,
    };
    let assuming_live = |state, deleting_from_live| {
        usable(
            &words,
            &ControllerWords {
                state,
                deleting_from_live,
                failfast_expired: false,
            },
        )
    };
    if assuming_live(state, false) {
        return if leg.layout == Layout::Multipath && head.is_none() {
            LegStanding::Unknown(Untold::NoHead)
        } else {
            LegStanding::Usable {
                assumed: ana.is_none(),
            }
        };
    }
    if assuming_live(state, true) {
        return LegStanding::Unknown(Untold::Deleting);
    }
    if state == ControllerState::Unknown {
        return transient;
    }
    LegStanding::Unusable(match ana {
        Some(ana) if state == ControllerState::Live && !ana.accessible() => Unusable::Ana(ana),
        _ if state == ControllerState::Live => Unusable::NotReady,
        _ => Unusable::Controller(state),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{DiskName, Head, HeadCounters, LegCounters, Nsid, Sectors, Unchecked};

    fn one_leg(state: ControllerState) -> Host {
        let controller = ControllerName::from_instance(0);
        let leg = Leg {
            name: DiskName::leg(0, 0, 1),
            controller,
            layout: Layout::Multipath,
            ana: Attr::Value(AnaState::Optimized),
            group: None,
            size: Attr::Value(Sectors(8)),
            counters: LegCounters::default(),
        };
        let head = Head {
            name: DiskName::disk(0, 1),
            size: Attr::Value(Sectors(8)),
            delayed_removal: None,
            counters: HeadCounters::default(),
        };
        let namespace = Namespace {
            instance: 1,
            nsid: Some(Nsid(1)),
            uuid: None,
            head: Some(head),
            legs: vec![leg],
        };
        let name = SubsystemName::from_instance(0);
        Host {
            subsystems: vec![Subsystem {
                name,
                nqn: Attr::Unset,
                kind: Attr::Unset,
                model: None,
                serial: None,
                firmware: None,
                iopolicy: None,
                namespaces: vec![namespace],
            }],
            controllers: vec![Controller {
                state,
                subsystem: Some(name),
                transport: Attr::Value(crate::fabric::Transport::Tcp),
                ..Controller::unknown(controller)
            }],
            ..Host::default()
        }
    }

    fn standing(host: &Host) -> LegStanding {
        let namespace = &host.subsystems[0].namespaces[0];
        View::new(host).standing(namespace, &namespace.legs[0])
    }

    #[test]
    fn optimized_under_connecting_is_stale() {
        assert_eq!(
            standing(&one_leg(ControllerState::Live)),
            LegStanding::Usable { assumed: false }
        );
        assert_eq!(
            standing(&one_leg(ControllerState::Connecting)),
            LegStanding::Unusable(Unusable::Controller(ControllerState::Connecting))
        );
    }

    #[test]
    fn a_deleting_controller_cannot_be_told_from_a_snapshot() {
        assert_eq!(
            standing(&one_leg(ControllerState::Deleting)),
            LegStanding::Unknown(Untold::Deleting)
        );
        assert_eq!(
            standing(&one_leg(ControllerState::DeletingNoIo)).usable(),
            Some(false)
        );
        assert_eq!(standing(&one_leg(ControllerState::Unknown)).usable(), None);
    }

    #[test]
    fn a_leg_whose_size_is_not_the_heads_is_not_ready() {
        for size in [0, 7] {
            let mut host = one_leg(ControllerState::Live);
            host.subsystems[0].namespaces[0].legs[0].size = Attr::Value(Sectors(size));
            assert_eq!(standing(&host), LegStanding::Unusable(Unusable::NotReady));
        }
        let mut host = one_leg(ControllerState::Live);
        host.subsystems[0].namespaces[0].legs[0].size = Attr::Value(Sectors(0));
        host.subsystems[0].namespaces[0].head.as_mut().unwrap().size = Attr::Value(Sectors(0));
        assert_eq!(standing(&host), LegStanding::Unusable(Unusable::NotReady));
    }

    #[test]
    fn nothing_is_concluded_from_a_transient_object() {
        for object in ["nvme0", "nvme0c0n1", "nvme0n1"] {
            let mut host = one_leg(ControllerState::Live);
            host.unchecked.push(Unchecked {
                object: object.into(),
                reason: "state: EIO".into(),
            });
            assert_eq!(
                standing(&host),
                LegStanding::Unknown(Untold::Transient),
                "{object}"
            );
        }
    }

    #[test]
    fn without_ana_a_leg_is_assumed_accessible() {
        let mut host = one_leg(ControllerState::Live);
        host.subsystems[0].namespaces[0].legs[0].ana = Attr::Unset;
        assert_eq!(standing(&host), LegStanding::Usable { assumed: true });
    }

    #[test]
    fn parked_and_husk_are_told_apart() {
        let mut host = one_leg(ControllerState::Live);
        host.subsystems[0].namespaces[0].legs[0].ana = Attr::Value(AnaState::Inaccessible);
        let counts = View::new(&host).counts();
        assert_eq!((counts.parked, counts.husks, counts.usable_legs), (1, 0, 0));
        host.subsystems[0].namespaces[0].legs.clear();
        let counts = View::new(&host).counts();
        assert_eq!((counts.parked, counts.husks), (0, 1));
    }
}
