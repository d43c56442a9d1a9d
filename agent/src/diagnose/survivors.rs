//! Who would be left without a usable leg.

use std::collections::{HashMap, HashSet};

use super::AtRisk;
use crate::fabric::{
    ControllerName, ControllerState, DiskName, Layout, LegAt, Namespace, Subsystem, SubsystemName,
    View,
};

/// Which legs count as surviving a removal: usable ones on live controllers. A leg under a deleting controller, or
/// one of which it cannot be told, never does.
#[derive(Debug)]
pub struct Survivors {
    /// The controllers whose usable legs count.
    live: HashSet<ControllerName>,
    /// By namespace: the controllers with a leg that counts. Two are enough to know.
    serving: HashMap<Place, Vec<ControllerName>>,
}

/// A namespace's place: its subsystem and its head's instance.
type Place = (SubsystemName, u32);

fn place(subsystem: &Subsystem, namespace: &Namespace) -> Place {
    (subsystem.name, namespace.instance)
}

impl Survivors {
    /// Of this host.
    #[must_use]
    pub fn new(view: &View<'_>) -> Self {
        let live: HashSet<_> = view
            .host()
            .controllers
            .iter()
            .filter(|c| c.state == ControllerState::Live && !view.is_transient_controller(c.name))
            .map(|c| c.name)
            .collect();
        let mut serving = HashMap::<_, Vec<_>>::new();
        for controller in &view.host().controllers {
            for at in view.legs_of(controller.name) {
                if at.standing.usable() == Some(true) && live.contains(&controller.name) {
                    let serving = serving
                        .entry(place(at.subsystem, at.namespace))
                        .or_default();
                    if serving.len() < 2 {
                        serving.push(controller.name);
                    }
                }
            }
        }
        Self { live, serving }
    }

    /// Whether a namespace keeps a usable leg on a live controller without this one.
    #[must_use]
    pub fn survives(
        &self,
        subsystem: &Subsystem,
        namespace: &Namespace,
        without: ControllerName,
    ) -> bool {
        self.serving
            .get(&place(subsystem, namespace))
            .is_some_and(|serving| serving.iter().any(|controller| *controller != without))
    }

    /// Whether a subsystem has another live controller than this one.
    #[must_use]
    pub fn another_live(
        &self,
        view: &View<'_>,
        subsystem: SubsystemName,
        without: ControllerName,
    ) -> bool {
        let members = view.controllers_of(subsystem);
        members
            .iter()
            .any(|c| c.name != without && self.live.contains(&c.name))
    }

    /// Whether a namespace has a usable leg on a live controller.
    #[must_use]
    pub fn is_served(&self, subsystem: &Subsystem, namespace: &Namespace) -> bool {
        self.serving.contains_key(&place(subsystem, namespace))
    }

    /// The namespaces that would lose their last usable leg with this controller: those that have one on it, or may
    /// have.
    pub fn at_risk<'v, 'h>(
        &'v self,
        view: &'v View<'h>,
        controller: ControllerName,
    ) -> impl Iterator<Item = LegAt<'h>> + use<'v, 'h> {
        view.legs_of(controller)
            .iter()
            .filter(move |at| {
                at.standing.usable() != Some(false)
                    && !self.survives(at.subsystem, at.namespace, controller)
            })
            .copied()
    }

    /// The same, as they are named in a finding.
    #[must_use]
    pub fn at_risk_names(&self, view: &View<'_>, controller: ControllerName) -> Vec<AtRisk> {
        let mut names: Vec<_> = self
            .at_risk(view, controller)
            .map(|at| AtRisk::of(at.subsystem, at.namespace))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The disks that would go with a controller: its own visible ones, and the heads without a leg on another live
    /// controller.
    #[must_use]
    pub fn disks_going_with(&self, view: &View<'_>, controller: ControllerName) -> Vec<DiskName> {
        let mut disks: Vec<_> = view
            .legs_of(controller)
            .iter()
            .filter_map(|at| match (at.leg.layout, &at.namespace.head) {
                (Layout::Private | Layout::Plain, _) => Some(at.leg.name),
                (Layout::Multipath, Some(head)) => {
                    let other = at.namespace.legs.iter().any(|leg| {
                        leg.controller != controller && self.live.contains(&leg.controller)
                    });
                    (!other).then_some(head.name)
                }
                (Layout::Multipath, None) => None,
            })
            .collect();
        disks.sort();
        disks.dedup();
        disks
    }
}
