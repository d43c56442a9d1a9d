//! The host as events add up to it: the last look, brought up to date.

use std::collections::BTreeMap;

use crate::{
    event::ControllerId,
    fabric::{
        Attr, Controller, DiskName, Head, HeadCounters, Host, Layout, Leg, LegCounters, Namespace,
        Nqn, Nsid, Sectors, Subsystem, SubsystemKind, SubsystemName,
    },
};

use super::{
    NamespaceKey,
    words::{ControllerTrack, LegTrack, Words},
};

/// What the legs of a namespace that was never looked at are taken to measure: ready ones agree with their head.
const SOME_SIZE: Sectors = Sectors(1);

/// The last look with the words of the events since. `has_head` says what events tell of a namespace's disk, if they do.
pub(super) fn host(
    last_look: Option<&Host>,
    words: &Words,
    has_head: impl Fn(&NamespaceKey) -> Option<bool>,
) -> Host {
    let mut host = last_look.cloned().unwrap_or_default();
    let looked_at = std::mem::take(&mut host.controllers);
    // What is no fabric's has no events: it stays as it was seen.
    let (fabric, others): (Vec<_>, Vec<_>) = looked_at.into_iter().partition(Controller::is_fabric);
    host.controllers = others;
    let mut subsystems: BTreeMap<Nqn, SubsystemName> = host
        .subsystems
        .iter()
        .filter_map(|subsystem| Some((subsystem.nqn.value()?.clone(), subsystem.name)))
        .collect();
    for (id, track) in words.controllers() {
        let name = *subsystems
            .entry(track.nqn.clone())
            .or_insert_with(|| add_subsystem(&mut host, &track.nqn));
        let seen = fabric.iter().find(|it| is(it, id));
        host.controllers.push(controller(seen, id, track, name));
    }
    for subsystem in &mut host.subsystems {
        for namespace in &mut subsystem.namespaces {
            namespace.legs.retain(|leg| leg.layout != Layout::Multipath);
        }
    }
    for (id, nsid, leg) in words.legs() {
        let Some(track) = words.track(id) else {
            continue;
        };
        let name = subsystems.get(&track.nqn);
        let subsystem = host.subsystems.iter_mut().find(|it| Some(&it.name) == name);
        if let Some(subsystem) = subsystem {
            add_leg(subsystem, id, nsid, leg);
        }
    }
    for subsystem in &mut host.subsystems {
        if let Some(nqn) = subsystem.nqn.value().cloned() {
            for namespace in &mut subsystem.namespaces {
                set_head(namespace, subsystem.name, &nqn, &has_head);
            }
        }
        subsystem
            .namespaces
            .retain(|namespace| namespace.head.is_some() || !namespace.legs.is_empty());
    }
    host.sort();
    host
}

fn set_head(
    namespace: &mut Namespace,
    subsystem: SubsystemName,
    nqn: &Nqn,
    has_head: &impl Fn(&NamespaceKey) -> Option<bool>,
) {
    let Some(nsid) = namespace.nsid else {
        return;
    };
    match has_head(&NamespaceKey::new(nqn, namespace.uuid, nsid)) {
        Some(true) if namespace.head.is_none() => {
            namespace.head = Some(Head {
                name: DiskName::disk(subsystem.instance(), namespace.instance),
                size: Attr::Value(SOME_SIZE),
                delayed_removal: None,
                counters: HeadCounters::default(),
            });
        }
        Some(false) => namespace.head = None,
        _ => {}
    }
}

fn is(controller: &Controller, id: ControllerId) -> bool {
    let generation = controller.generation.map_or(0, |it| it.0);
    controller.name == id.name && generation == id.generation.0
}

fn controller(
    seen: Option<&Controller>,
    id: ControllerId,
    track: &ControllerTrack,
    subsystem: SubsystemName,
) -> Controller {
    let mut controller = seen
        .cloned()
        .unwrap_or_else(|| Controller::unknown(id.name));
    controller.generation = Some(id.generation);
    controller.subsystem = Some(subsystem);
    controller.subsysnqn = Attr::Value(track.nqn.clone());
    controller.state = track.words.state;
    if let Some(endpoint) = &track.endpoint {
        controller.transport = Attr::Value(endpoint.transport.clone());
        controller.endpoint = Attr::Value(endpoint.clone());
    }
    if let Some(hostnqn) = &track.hostnqn {
        controller.hostnqn = Attr::Value(hostnqn.clone());
    }
    if let Some(cntlid) = track.cntlid {
        controller.cntlid = Attr::Value(cntlid);
    }
    controller
}

fn add_subsystem(host: &mut Host, nqn: &Nqn) -> SubsystemName {
    let instances = host.subsystems.iter().map(|it| it.name.instance() + 1);
    let name = SubsystemName::from_instance(instances.max().unwrap_or(0));
    host.subsystems.push(Subsystem {
        name,
        nqn: Attr::Value(nqn.clone()),
        kind: Attr::Value(SubsystemKind::Nvm),
        model: None,
        serial: None,
        firmware: None,
        iopolicy: None,
        namespaces: Vec::new(),
    });
    name
}

fn add_leg(subsystem: &mut Subsystem, id: ControllerId, nsid: Nsid, leg: &LegTrack) {
    let owner = subsystem.name.instance();
    let same = |namespace: &&mut Namespace| match (namespace.uuid, leg.uuid) {
        (Some(a), Some(b)) => a == b,
        _ => namespace.nsid == Some(nsid),
    };
    if subsystem.namespaces.iter_mut().find(same).is_none() {
        let instance = leg.name.map_or(nsid.0, |name| name.head);
        subsystem.namespaces.push(Namespace {
            instance,
            nsid: Some(nsid),
            uuid: leg.uuid,
            head: None,
            legs: Vec::new(),
        });
    }
    let Some(namespace) = subsystem.namespaces.iter_mut().find(same) else {
        return;
    };
    let of_head = namespace
        .head
        .as_ref()
        .and_then(|head| head.size.value().copied());
    let size = of_head.unwrap_or(SOME_SIZE);
    let name = leg
        .name
        .unwrap_or_else(|| DiskName::leg(owner, id.name.instance(), namespace.instance));
    namespace.legs.push(Leg {
        name,
        controller: id.name,
        layout: Layout::Multipath,
        ana: leg.state.ana.map_or(Attr::Unset, Attr::Value),
        group: leg.group,
        size: Attr::Value(if leg.state.ready { size } else { Sectors(0) }),
        counters: LegCounters::default(),
    });
}
