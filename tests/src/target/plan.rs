//! What a target is made of: subsystems with namespaces, and ports that serve them. Plain data.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::ana::AnaState;
use super::ids::{GroupId, Nsid, Uuid};
use super::limits;
use super::script::Behaviour;

/// A whole target.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What can be served.
    pub subsystems: Vec<SubsystemPlan>,
    /// Where it is served. Every Connect to a port creates a controller, so two ports with one subsystem
    /// are two controllers of it.
    pub ports: Vec<PortPlan>,
}

impl Plan {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this subsystem too.
    pub fn subsystem(mut self, subsystem: SubsystemPlan) -> Self {
        self.subsystems.push(subsystem);
        self
    }

    /// With this port too; ports are numbered from 0 as they come.
    pub fn port(mut self, port: PortPlan) -> Self {
        self.ports.push(port);
        self
    }
}

/// A subsystem: an NQN and its namespaces.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubsystemPlan {
    /// Its name.
    pub nqn: String,
    /// Serial number, up to 20 characters; one that fits the NQN if empty.
    #[serde(default)]
    pub serial: String,
    /// Its namespaces at the start; more can be added later.
    #[serde(default)]
    pub namespaces: Vec<NamespacePlan>,
}

impl SubsystemPlan {
    /// A subsystem without namespaces.
    pub fn new(nqn: &str) -> Self {
        Self {
            nqn: nqn.to_owned(),
            serial: String::new(),
            namespaces: Vec::new(),
        }
    }

    /// With this namespace too.
    pub fn namespace(mut self, namespace: NamespacePlan) -> Self {
        self.namespaces.push(namespace);
        self
    }
}

/// A namespace: zeros in memory until written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamespacePlan {
    /// Its number, 1 to [`limits::NAMESPACES`].
    pub nsid: Nsid,
    /// The ANA group it is in, for good.
    #[serde(default)]
    pub group: GroupId,
    /// Size, bytes; a multiple of the block.
    #[serde(default = "default_bytes")]
    pub bytes: u64,
    /// Logical block, bytes: 512 or 4096.
    #[serde(default = "default_block")]
    pub block: u32,
    /// Its identity; derived from NQN and number if absent.
    #[serde(default)]
    pub uuid: Option<Uuid>,
}

impl NamespacePlan {
    /// 16 MiB in blocks of 512 bytes, in group 1.
    pub fn new(nsid: u32) -> Self {
        let group = GroupId::default();
        Self {
            nsid: Nsid(nsid),
            group,
            bytes: default_bytes(),
            block: default_block(),
            uuid: None,
        }
    }

    /// The same in another group.
    pub fn in_group(self, group: u32) -> Self {
        Self {
            group: GroupId(group),
            ..self
        }
    }

    /// The same in another size.
    pub fn sized(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }
}

fn default_bytes() -> u64 {
    16 << 20
}

fn default_block() -> u32 {
    512
}

/// A port: an address and what is served there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortPlan {
    /// The address to listen at; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// What is served.
    #[serde(default)]
    pub exports: Vec<ExportPlan>,
    /// I/O queues of each controller at most.
    #[serde(default = "default_io_queues")]
    pub io_queues: u16,
    /// The script at the start.
    #[serde(default)]
    pub behaviour: Behaviour,
}

impl PortPlan {
    /// A healthy port that serves nothing.
    pub fn new(listen: SocketAddr) -> Self {
        let behaviour = Behaviour::default();
        Self {
            listen,
            exports: Vec::new(),
            io_queues: default_io_queues(),
            behaviour,
        }
    }

    /// Serves this too.
    pub fn export(mut self, export: ExportPlan) -> Self {
        self.exports.push(export);
        self
    }

    /// The same with this script from the start.
    pub fn behaving(self, behaviour: impl Into<Behaviour>) -> Self {
        Self {
            behaviour: behaviour.into(),
            ..self
        }
    }
}

fn default_io_queues() -> u16 {
    limits::IO_QUEUES
}

/// A subsystem as one port serves it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportPlan {
    /// Its NQN.
    pub subsystem: String,
    /// The namespaces served here: without a list, those the plan gives the subsystem. An empty list makes a husk.
    #[serde(default)]
    pub namespaces: Option<Vec<Nsid>>,
    /// ANA states here; a group not named is optimized.
    #[serde(default)]
    pub ana: BTreeMap<GroupId, AnaState>,
}

impl ExportPlan {
    /// All of the subsystem, optimized.
    pub fn new(nqn: &str) -> Self {
        Self {
            subsystem: nqn.to_owned(),
            namespaces: None,
            ana: BTreeMap::new(),
        }
    }

    /// The same with these namespaces only.
    pub fn only(self, nsids: &[u32]) -> Self {
        Self {
            namespaces: Some(nsids.iter().copied().map(Nsid).collect()),
            ..self
        }
    }

    /// The same with this group in another state.
    pub fn ana(mut self, group: u32, state: AnaState) -> Self {
        self.ana.insert(GroupId(group), state);
        self
    }
}
