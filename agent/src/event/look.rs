//! One look at sysfs in the words of events: the controllers and legs that windows are about.

use std::collections::{BTreeMap, BTreeSet};

use crate::fabric::{
    AnaGroup, Cntlid, Controller, ControllerState, DiskName, Endpoint, Generation, HeadCounters,
    Host, Layout, Leg, Namespace, Nqn, Nsid, Sectors, Subsystem, Uuid,
};

use super::{ControllerId, LegState, NamespaceId};

/// What a look shows. Fabric controllers, and their legs under native multipath: a private disk and a host without
/// multipath have no head that could be dark.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Controllers whose subsystem is known.
    pub controllers: BTreeMap<ControllerId, ControllerSeen>,
    /// Their legs.
    pub legs: BTreeMap<(ControllerId, Nsid), LegSeen>,
    /// Multipath disks of fabric namespaces: the kernel adds one when the first leg is accessible.
    pub heads: Vec<HeadSeen>,
    /// Names of objects that could not be read.
    pub unread: BTreeSet<String>,
}

/// A controller as sysfs shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerSeen {
    /// Its subsystem.
    pub nqn: Nqn,
    /// Where it connects to.
    pub endpoint: Option<Endpoint>,
    /// As which host.
    pub hostnqn: Option<Nqn>,
    /// NVMe controller id.
    pub cntlid: Option<Cntlid>,
    /// Its state.
    pub state: ControllerState,
}

/// A leg as sysfs shows it; what is pending does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegSeen {
    /// UUID of its namespace.
    pub uuid: Option<Uuid>,
    /// Its name.
    pub name: DiskName,
    /// ANA group.
    pub group: Option<AnaGroup>,
    /// Its words.
    pub state: LegState,
}

/// A multipath disk as sysfs shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadSeen {
    /// Its subsystem.
    pub nqn: Nqn,
    /// Its namespace.
    pub nsid: Nsid,
    /// That namespace's UUID.
    pub uuid: Option<Uuid>,
    /// Its name.
    pub name: DiskName,
    /// It stays for a while when its last leg has gone, and holds I/O meanwhile (`delayed_removal_secs`).
    pub outlives_legs: bool,
    /// The kernel's own counters, where it has them.
    pub counters: HeadCounters,
}

impl Look {
    /// Of a scanned host.
    #[must_use]
    pub fn of(host: &Host) -> Self {
        let unread = host
            .unchecked
            .iter()
            .map(|unread| unread.object.clone())
            .collect();
        let mut look = Self {
            unread,
            ..Self::default()
        };
        for controller in host
            .controllers
            .iter()
            .filter(|controller| controller.is_fabric())
        {
            let of_subsystem = controller.subsystem.and_then(|name| host.subsystem(name));
            let nqn = controller
                .subsysnqn
                .value()
                .or(of_subsystem.and_then(|it| it.nqn.value()));
            if let Some(nqn) = nqn {
                look.controllers
                    .insert(id(controller), ControllerSeen::of(controller, nqn));
            }
        }
        for namespace in host
            .subsystems
            .iter()
            .flat_map(|subsystem| &subsystem.namespaces)
        {
            for leg in namespace
                .legs
                .iter()
                .filter(|leg| leg.layout == Layout::Multipath)
            {
                let controller = host.controller(leg.controller).map(id);
                let known = controller.filter(|id| look.controllers.contains_key(id));
                if let (Some(id), Some(nsid)) = (known, namespace.nsid) {
                    look.legs.insert((id, nsid), LegSeen::of(namespace, leg));
                }
            }
        }
        look.heads = HeadSeen::all(host).collect();
        look
    }

    /// Takes from the look before what this one could not read.
    pub fn keep_unread(&mut self, before: &Look) {
        for (id, controller) in &before.controllers {
            if self.unread.contains(&id.name.to_string()) {
                self.controllers
                    .entry(*id)
                    .or_insert_with(|| controller.clone());
            }
        }
        for head in &before.heads {
            let seen = self.heads.iter().any(|it| it.names_same(head));
            if !seen && self.unread.contains(&head.name.to_string()) {
                self.heads.push(head.clone());
            }
        }
        for (key, leg) in &before.legs {
            let unread = |name: &str| self.unread.contains(name);
            if unread(&leg.name.to_string()) || unread(&key.0.name.to_string()) {
                self.legs.entry(*key).or_insert_with(|| leg.clone());
            }
        }
    }
}

impl HeadSeen {
    /// Those of subsystems that no local drive is in.
    pub fn all(host: &Host) -> impl Iterator<Item = Self> {
        let local = |subsystem: &Subsystem| {
            host.controllers
                .iter()
                .any(|it| it.subsystem == Some(subsystem.name) && !it.is_fabric())
        };
        let fabric = host.subsystems.iter().filter(move |it| !local(it));
        fabric.flat_map(|subsystem| {
            let nqn = subsystem.nqn.value();
            subsystem.namespaces.iter().filter_map(move |namespace| {
                let head = namespace.head.as_ref()?;
                Some(Self {
                    nqn: nqn?.clone(),
                    nsid: namespace.nsid?,
                    uuid: namespace.uuid,
                    name: head.name,
                    outlives_legs: head.delayed_removal.is_some_and(|it| !it.is_zero()),
                    counters: head.counters,
                })
            })
        })
    }

    /// The namespace it is of.
    #[must_use]
    pub fn namespace(&self) -> NamespaceId {
        NamespaceId {
            nqn: self.nqn.clone(),
            nsid: self.nsid,
            uuid: self.uuid,
        }
    }

    /// Whether both are of one namespace.
    #[must_use]
    pub fn names_same(&self, other: &Self) -> bool {
        (&self.nqn, self.nsid, self.uuid) == (&other.nqn, other.nsid, other.uuid)
    }
}

impl ControllerSeen {
    fn of(controller: &Controller, nqn: &Nqn) -> Self {
        Self {
            nqn: nqn.clone(),
            endpoint: controller.endpoint.value().cloned(),
            hostnqn: controller.hostnqn.value().cloned(),
            cntlid: controller.cntlid.value().copied(),
            state: controller.state,
        }
    }
}

impl LegSeen {
    fn of(namespace: &Namespace, leg: &Leg) -> Self {
        let ana = leg.ana.value().copied();
        Self {
            uuid: namespace.uuid,
            name: leg.name,
            group: leg.group,
            state: LegState {
                ana,
                pending: false,
                ready: ready(namespace, leg),
            },
        }
    }
}

/// A leg that is being removed shows size 0, one that is not ready another size than its head.
fn ready(namespace: &Namespace, leg: &Leg) -> bool {
    let Some(size) = leg.size.value() else {
        return true;
    };
    let head = namespace.head.as_ref().and_then(|head| head.size.value());
    *size != Sectors(0) && head.is_none_or(|head| head == size)
}

fn id(controller: &Controller) -> ControllerId {
    let generation = controller.generation.unwrap_or(Generation(0));
    ControllerId {
        name: controller.name,
        generation,
    }
}
