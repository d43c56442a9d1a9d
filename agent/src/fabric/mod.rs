//! The domain: what an NVMe-oF host is made of, and the rules that hold for it.
//!
//! Owns the types every other module speaks in (subsystem, controller, namespace, leg; addresses and
//! identities; states) and the kernel's rule for when a leg is usable. Everything here is plain data
//! and pure functions: no I/O, no clock, nothing asynchronous. Words are the kernel's and the NVMe
//! specification's, see `ARCHITECTURE.md`.
//!
//! It does not know where values come from: `host` reads them from sysfs, `probe` from kernel events,
//! `event` from traces. It does not judge them either: that is `diagnose`.

mod address;
mod attr;
mod document;
mod endpoint;
mod identity;
mod model;
mod names;
mod nqn;
mod state;
pub mod time;
mod transport;
pub mod usable;
mod uuid;
mod view;

pub use address::{SysfsAddress, Traddr, Wwn};
pub use attr::{Attr, Fault, Limit};
pub use endpoint::{Endpoint, EndpointParseError};
pub use identity::Identity;
pub use model::{
    AnaGroup, Cntlid, Controller, ControllerCounters, ControllerKind, DiscoveryKind, Generation,
    Head, HeadCounters, Host, Layout, Leg, LegCounters, Multipath, Namespace, Nsid, Sectors,
    Subsystem, SubsystemKind, Unchecked,
};
pub use names::{ControllerName, DiskName, NameParseError, SubsystemName};
pub use nqn::Nqn;
pub use state::{AnaState, ControllerState};
pub use time::{BootNs, UnixNs};
pub use transport::Transport;
pub use usable::{ControllerWords, LegWords, queues, usable};
pub use uuid::{Uuid, UuidParseError};
pub use view::{Counts, LegAt, LegStanding, NamespaceStanding, Untold, Unusable, View};
