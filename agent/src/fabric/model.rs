//! A host's NVMe topology at one moment.
//!
//! Plain data: who made it (a scan, a trace, the agent's event model) does not show. Lists are sorted
//! by name, numerically.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    AnaState, Attr, ControllerName, ControllerState, DiskName, Endpoint, Identity, Limit, Nqn,
    SubsystemName, Transport, Uuid,
};

/// A namespace's number in its subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nsid(pub u32);

/// The number of an ANA group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnaGroup(pub u32);

/// A controller's number at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cntlid(pub u16);

/// Tells two controllers apart that used one name one after the other: the inode of the controller's
/// sysfs directory, which is new with every controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u64);

/// A disk's size in sectors of 512 bytes, as the attribute `size` gives it whatever the block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sectors(pub u64);

macro_rules! shown_as_number {
    ($($name:ty),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )+};
}

shown_as_number!(Nsid, AnaGroup, Cntlid, Generation, Sectors);

/// Everything a scan found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// The kernel's release.
    pub kernel: Option<String>,
    /// This boot's id: times on the boot clock mean nothing across two of them.
    pub boot_id: Option<String>,
    /// Whether native multipath is on (`nvme_core`'s parameter).
    pub multipath: Option<Multipath>,
    /// The subsystems, with their namespaces.
    pub subsystems: Vec<Subsystem>,
    /// The controllers, attached to a subsystem or not.
    pub controllers: Vec<Controller>,
    /// What could not be looked at, and why. An object that is named here is transient: it is
    /// reported, and nothing is concluded from it.
    pub unchecked: Vec<Unchecked>,
}

/// Native NVMe multipath.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multipath {
    /// Legs are hidden below one head.
    On,
    /// Each controller has a disk of its own for each namespace, and there is no ANA.
    Off,
}

impl Multipath {
    /// From the text of `nvme_core`'s parameter.
    #[must_use]
    pub fn from_parameter(text: &str) -> Option<Self> {
        match text.trim() {
            "Y" => Some(Self::On),
            "N" => Some(Self::Off),
            _ => None,
        }
    }
}

/// An object that could not be looked at completely.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unchecked {
    /// Its kernel name, or the path of a file.
    pub object: String,
    /// Why not.
    pub reason: String,
}

/// An NVM subsystem, as the kernel instantiates it: one per NQN, and one per controller for the
/// well-known discovery NQN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subsystem {
    /// The kernel's name for it.
    pub name: SubsystemName,
    /// Its NQN.
    pub nqn: Attr<Nqn>,
    /// What it is for (`subsystype`).
    pub kind: Attr<SubsystemKind>,
    /// The model, without padding.
    pub model: Option<Box<str>>,
    /// The serial number, without padding.
    pub serial: Option<Box<str>>,
    /// The firmware's revision, without padding; read where a scan is for every detail.
    pub firmware: Option<Box<str>>,
    /// How I/O is spread over its legs; absent without `CONFIG_NVME_MULTIPATH`.
    pub iopolicy: Option<Box<str>>,
    /// Its namespaces, those that only a head shows and those that only a leg shows included.
    pub namespaces: Vec<Namespace>,
}

/// The attribute `subsystype`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubsystemKind {
    /// It has namespaces.
    Nvm,
    /// It answers discovery.
    Discovery,
    /// Another text.
    Other(Box<str>),
}

/// A namespace of a subsystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// The kernel's instance number of the head in its subsystem: the number after the last `n` of
    /// every disk name of this namespace.
    pub instance: u32,
    /// Its number at the target.
    pub nsid: Option<Nsid>,
    /// Its UUID, if it has one.
    pub uuid: Option<Uuid>,
    /// The multipath disk. Absent as long as no leg has been live and accessible, and for namespaces
    /// that are not shared.
    pub head: Option<Head>,
    /// The controllers' paths to it. A private namespace's or a multipath-off disk is its
    /// controller's leg as well: see [`Leg::layout`].
    pub legs: Vec<Leg>,
}

/// The multipath disk of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its name, as in `/dev`.
    pub name: DiskName,
    /// Its size.
    pub size: Attr<Sectors>,
    /// How long it outlives its last leg (`delayed_removal_secs`, 7.2).
    pub delayed_removal: Option<Duration>,
    /// The kernel's own counters, where it has them and a scan is for every detail.
    pub counters: HeadCounters,
}

/// Counters in a head's `diag/` (7.2). Root can set them to 0: a decrease is a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeadCounters {
    /// I/O held because no leg was usable.
    pub requeued: Option<u64>,
    /// I/O failed because no leg was to be expected.
    pub failed: Option<u64>,
}

/// One controller's path to one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// The disk's name.
    pub name: DiskName,
    /// The controller it goes through.
    pub controller: ControllerName,
    /// How the kernel lays its disk out.
    pub layout: Layout,
    /// Its ANA state; [`Attr::Unset`] on a controller without ANA.
    pub ana: Attr<AnaState>,
    /// Its ANA group.
    pub group: Option<AnaGroup>,
    /// Its size: 0 while it is removed.
    pub size: Attr<Sectors>,
    /// The kernel's own counters, where it has them and a scan is for every detail.
    pub counters: LegCounters,
}

/// How the kernel lays out the disk of a leg (`nvme_mpath_set_disk_name`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `nvmeXcYnZ`, hidden, below a head.
    Multipath,
    /// `nvmeXnZ` directly below the controller, visible: a namespace that is not shared.
    Private,
    /// `nvmeYnZ` below its controller, visible: multipath is off.
    Plain,
}

/// Counters in a leg's `diag/` (7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LegCounters {
    /// Commands that were sent again.
    pub retries: Option<u64>,
    /// Commands that failed.
    pub errors: Option<u64>,
    /// Commands that were moved to another leg.
    pub failovers: Option<u64>,
}

/// A controller: one association with a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// The kernel's name for it.
    pub name: ControllerName,
    /// Which of the controllers of this name it is.
    pub generation: Option<Generation>,
    /// The subsystem it is attached to; none while it connects for the first time.
    pub subsystem: Option<SubsystemName>,
    /// The NQN of the subsystem, by its own word.
    pub subsysnqn: Attr<Nqn>,
    /// What it connects to. [`Attr::Unset`] for a loop controller without an address.
    pub endpoint: Attr<Endpoint>,
    /// The address of its socket, while there is one.
    pub src_addr: Option<Box<str>>,
    /// The host NQN it is connected as.
    pub hostnqn: Attr<Nqn>,
    /// The host id it is connected with.
    pub hostid: Attr<Uuid>,
    /// Its number at the target; 0 until it has connected once.
    pub cntlid: Attr<Cntlid>,
    /// What it is for (`cntrltype`).
    pub kind: Attr<ControllerKind>,
    /// What kind of discovery controller it is (`dctype`).
    pub discovery: Attr<DiscoveryKind>,
    /// The transport.
    pub transport: Attr<Transport>,
    /// The state.
    pub state: ControllerState,
    /// The state's text where it is none of [`ControllerState`]'s.
    pub unknown_state: Option<Box<str>>,
    /// The pause between two attempts to reconnect.
    pub reconnect_delay: Attr<Limit>,
    /// How long it tries to reconnect. Computed by the kernel: attempts times pause, rounded up.
    pub ctrl_loss_tmo: Attr<Limit>,
    /// How long its I/O is held while it reconnects.
    pub fast_io_fail_tmo: Attr<Limit>,
    /// The keep-alive interval; read where a scan is for every detail.
    pub kato: Attr<Limit>,
    /// Whether `delete_controller` is there. It removes itself when a delete begins, so that absence
    /// on a fabric controller proves that one is under way.
    pub deletable: Option<bool>,
    /// The kernel's own counters, where it has them and a scan is for every detail.
    pub counters: ControllerCounters,
}

/// The attribute `cntrltype`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ControllerKind {
    /// It carries I/O.
    Io,
    /// It answers discovery.
    Discovery,
    /// It is for administration only.
    Admin,
    /// Another text (`reserved`: a target older than the field).
    Other(Box<str>),
}

/// The attribute `dctype`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DiscoveryKind {
    /// It is no discovery controller, or one that does not say.
    None,
    /// A direct discovery controller.
    Direct,
    /// A central discovery controller.
    Central,
    /// Another text.
    Other(Box<str>),
}

/// Counters in a controller's `diag/` (7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ControllerCounters {
    /// Admin commands that failed.
    pub errors: Option<u64>,
    /// Resets.
    pub resets: Option<u64>,
    /// Reconnects (fabrics only).
    pub reconnects: Option<u64>,
}

impl SubsystemKind {
    /// From the attribute's text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text {
            "nvm" => Self::Nvm,
            "discovery" => Self::Discovery,
            other => Self::Other(other.into()),
        }
    }

    /// The kernel's text for it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Nvm => "nvm",
            Self::Discovery => "discovery",
            Self::Other(text) => text,
        }
    }
}

impl ControllerKind {
    /// From the attribute's text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text {
            "io" => Self::Io,
            "discovery" => Self::Discovery,
            "admin" => Self::Admin,
            other => Self::Other(other.into()),
        }
    }

    /// The kernel's text for it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Io => "io",
            Self::Discovery => "discovery",
            Self::Admin => "admin",
            Self::Other(text) => text,
        }
    }
}

impl DiscoveryKind {
    /// From the attribute's text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text {
            "none" => Self::None,
            "ddc" => Self::Direct,
            "cdc" => Self::Central,
            other => Self::Other(other.into()),
        }
    }
}

impl Controller {
    /// A controller of which nothing but the name is known.
    #[must_use]
    pub fn unknown(name: ControllerName) -> Self {
        Self {
            name,
            generation: None,
            subsystem: None,
            subsysnqn: Attr::Unset,
            endpoint: Attr::Unset,
            src_addr: None,
            hostnqn: Attr::Unset,
            hostid: Attr::Unset,
            cntlid: Attr::Unset,
            kind: Attr::Unset,
            discovery: Attr::Unset,
            transport: Attr::Unset,
            state: ControllerState::Unknown,
            unknown_state: None,
            reconnect_delay: Attr::Unset,
            ctrl_loss_tmo: Attr::Unset,
            fast_io_fail_tmo: Attr::Unset,
            kato: Attr::Unset,
            deletable: None,
            counters: ControllerCounters::default(),
        }
    }

    /// Who it is, as far as it is known.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            endpoint: self.endpoint.value().cloned(),
            subsysnqn: self.subsysnqn.value().cloned(),
            hostnqn: self.hostnqn.value().cloned(),
        }
    }

    /// Whether its transport is one of the fabrics. What is not known is not one.
    #[must_use]
    pub fn is_fabric(&self) -> bool {
        self.transport.value().is_some_and(Transport::is_fabric)
    }

    /// Whether it, or the subsystem it belongs to, is for discovery, by whichever attribute says so;
    /// kernels before 5.17 have the well-known NQN only.
    #[must_use]
    pub fn is_discovery(&self, subsystem: Option<&Subsystem>) -> bool {
        self.kind.value() == Some(&ControllerKind::Discovery)
            || matches!(
                self.discovery.value(),
                Some(DiscoveryKind::Direct | DiscoveryKind::Central)
            )
            || self.subsysnqn.value().is_some_and(Nqn::is_discovery)
            || subsystem.is_some_and(Subsystem::is_discovery)
    }

    /// The state's text, the kernel's own where it is one this version does not know.
    #[must_use]
    pub fn state_text(&self) -> &str {
        self.unknown_state
            .as_deref()
            .unwrap_or_else(|| self.state.as_str())
    }
}

impl Subsystem {
    /// Whether it is for discovery.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        self.kind.value() == Some(&SubsystemKind::Discovery)
            || self.nqn.value().is_some_and(Nqn::is_discovery)
    }
}

impl Host {
    /// The controller of this name.
    #[must_use]
    pub fn controller(&self, name: ControllerName) -> Option<&Controller> {
        let at = self
            .controllers
            .binary_search_by_key(&name, |c| c.name)
            .ok()?;
        self.controllers.get(at)
    }

    /// The subsystem of this name.
    #[must_use]
    pub fn subsystem(&self, name: SubsystemName) -> Option<&Subsystem> {
        let at = self
            .subsystems
            .binary_search_by_key(&name, |s| s.name)
            .ok()?;
        self.subsystems.get(at)
    }

    /// Sorts every list by name, numerically, and drops repeated entries of `unchecked`. Whoever
    /// builds a host calls it last; look-ups rely on it.
    pub fn sort(&mut self) {
        self.subsystems.sort_by_key(|s| s.name);
        for subsystem in &mut self.subsystems {
            subsystem.namespaces.sort_by_key(|n| n.instance);
            for namespace in &mut subsystem.namespaces {
                namespace.legs.sort_by_key(|leg| (leg.controller, leg.name));
            }
        }
        self.controllers.sort_by_key(|c| c.name);
        self.unchecked.sort();
        self.unchecked.dedup();
    }
}
