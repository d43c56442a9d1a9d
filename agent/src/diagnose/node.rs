//! What the node says about its connections and disks, outside sysfs.

use std::collections::{BTreeMap, BTreeSet};

use crate::fabric::{
    Controller, ControllerName, DiskName, Endpoint, Nqn, Traddr, Transport, Uuid, View,
};

/// The owner's name that our own connections carry in the registry.
pub const OWNER: &str = "pathwarden";

/// Something that a node knows, or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact<T> {
    /// It is so.
    Known(T),
    /// The tree that is looked at is not this node's, so there is nobody to ask. Nobody acts on such a tree either.
    Elsewhere,
    /// It could not be read.
    Unreadable(String),
}

/// The facts.
#[derive(Debug, Clone)]
pub struct Node {
    /// Who this host is, if a file or a flag says so.
    pub host: Fact<HostId>,
    /// Who owns each connection (nvme-cli's registry). One that is not named is nobody's.
    pub owners: Fact<BTreeMap<ControllerName, String>>,
    /// Connections that are not to be touched (nvme-cli's exclusion list).
    pub exclusions: Fact<Vec<Exclusion>>,
    /// Disks that are mounted, held, or swap, themselves or by a partition.
    pub in_use: Fact<BTreeSet<DiskName>>,
}

/// Who a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostId {
    /// Its NQN.
    pub nqn: Nqn,
    /// Its id, if there is one.
    pub id: Option<Uuid>,
}

/// Who this host is, for a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnHost {
    /// This one.
    Is(HostId),
    /// Cannot be told.
    Unclear,
}

/// One entry of the exclusion list: what is given is compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclusion {
    /// The transport.
    pub transport: Option<String>,
    /// The target's address.
    pub traddr: Option<String>,
    /// The target's port.
    pub trsvcid: Option<String>,
    /// The subsystem.
    pub nqn: Option<String>,
    /// The host's address.
    pub host_traddr: Option<String>,
    /// The host's interface.
    pub host_iface: Option<String>,
    /// The host NQN.
    pub hostnqn: Option<String>,
    /// The host id.
    pub hostid: Option<String>,
    /// It holds a key that is not known, and so matches nothing.
    pub has_unknown_key: bool,
}

impl<T> Fact<T> {
    /// The fact, if it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(fact) => Some(fact),
            Self::Elsewhere | Self::Unreadable(_) => None,
        }
    }
}

impl Node {
    /// Of a tree that is not this node's nothing is known.
    #[must_use]
    pub fn elsewhere() -> Self {
        Self {
            host: Fact::Elsewhere,
            owners: Fact::Elsewhere,
            exclusions: Fact::Elsewhere,
            in_use: Fact::Elsewhere,
        }
    }

    /// Who this host is: as a file or a flag says, or, in a tree without a node, the one that all fabric controllers
    /// are connected as.
    #[must_use]
    pub fn own_host(&self, view: &View<'_>) -> OwnHost {
        match &self.host {
            Fact::Known(host) => return OwnHost::Is(host.clone()),
            Fact::Unreadable(_) => return OwnHost::Unclear,
            Fact::Elsewhere => {}
        }
        // Every controller that is, or may be, a fabric's must say so, and all that say it must say the same.
        let connected = view.host().controllers.iter();
        let mut names = connected
            .filter(|c| {
                c.hostnqn.value().is_some() || c.is_fabric() || c.transport.value().is_none()
            })
            .map(|c| c.hostnqn.value());
        match names.next() {
            Some(Some(first)) if names.all(|other| other == Some(first)) => OwnHost::Is(HostId {
                nqn: first.clone(),
                id: None,
            }),
            _ => OwnHost::Unclear,
        }
    }
}

impl OwnHost {
    /// Whether a controller is connected as this host; `None` when it cannot be told.
    #[must_use]
    pub fn owns(&self, controller: &Controller) -> Option<bool> {
        let Self::Is(host) = self else { return None };
        let same_nqn = controller.hostnqn.value()? == &host.nqn;
        let same_id = match (host.id, controller.hostid.value()) {
            (Some(own), Some(theirs)) => own == *theirs,
            _ => true,
        };
        Some(same_nqn && same_id)
    }
}

impl Exclusion {
    /// Whether it is about this controller.
    #[must_use]
    pub fn matches(&self, controller: &Controller) -> bool {
        let endpoint = controller.endpoint.value();
        let given = [
            &self.transport,
            &self.traddr,
            &self.trsvcid,
            &self.nqn,
            &self.host_traddr,
            &self.host_iface,
            &self.hostnqn,
            &self.hostid,
        ];
        if self.has_unknown_key || given.iter().all(|field| field.is_none()) {
            return false;
        }
        let text = |given: &Option<String>, actual: Option<&str>| {
            given.as_deref().is_none_or(|given| actual == Some(given))
        };
        let hostid = controller.hostid.value().map(ToString::to_string);
        text(
            &self.transport,
            controller.transport.value().map(Transport::as_str),
        ) && address_matches(self.traddr.as_deref(), endpoint, |e| Some(&e.traddr))
            && text(&self.trsvcid, endpoint.and_then(|e| e.trsvcid.as_deref()))
            && text(&self.nqn, controller.subsysnqn.value().map(Nqn::as_str))
            && address_matches(self.host_traddr.as_deref(), endpoint, |e| {
                e.host_traddr.as_ref()
            })
            && text(
                &self.host_iface,
                endpoint.and_then(|e| e.host_iface.as_deref()),
            )
            && text(&self.hostnqn, controller.hostnqn.value().map(Nqn::as_str))
            && text(&self.hostid, hostid.as_deref())
    }
}

fn address_matches(
    given: Option<&str>,
    endpoint: Option<&Endpoint>,
    part: impl Fn(&Endpoint) -> Option<&Traddr>,
) -> bool {
    let Some(given) = given else { return true };
    let Some(endpoint) = endpoint else {
        return false;
    };
    let parsed = Traddr::parse(&endpoint.transport, given);
    match (parsed, part(endpoint)) {
        (Some(given), Some(actual)) => given.same_as(actual),
        (given, actual) => given.is_none() && actual.is_none(),
    }
}
