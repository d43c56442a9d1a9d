//! Trees as data: the compact text form of a host's sysfs, and how it is unfolded into a directory.
//!
//! A fixture names only what matters; the rest is what such an object has on a 6.8 kernel. One object a line,
//! attributes as `name=value` (quoted when the value has blanks), `-name` for one that is not there:
//!
//! ```text
//! # what the case is
//! module multipath=N                  the module's parameter; Y unless said
//! subsystem 0 nqn=nqn.2023-02.io.simplyblock:vol-1
//!   head 1 nsid=1 uuid=…              the multipath disk nvme0n1
//!   namespace 2 nsid=2                one without a head
//!   controller 0 address=traddr=10.0.0.1,trsvcid=4426
//!     leg 1 optimized                 nvme0c0n1
//!     private 3 nsid=3                nvme0n3, visible, below the controller
//!     disk 4 nsid=4                   nvme0n4 of a host without multipath
//! unattached                          the controllers after this have no subsystem
//! file PATH=text                      any other file; also: dir PATH, link PATH=target
//! ```
#![allow(
    dead_code,
    unused_imports,
    reason = "each test uses its own part of this"
)]

mod of_host;
mod parse;
mod render;
mod twins;
mod unfold;

pub(crate) use of_host::address_text;
pub(crate) use parse::parse;
pub(crate) use twins::{AddressSpelling, Fault};
pub(crate) use unfold::{Unfolded, unfold, unfold_into};

use std::collections::BTreeMap;

/// An attribute, in the order in which it was written; `None` is one that is not there.
pub(crate) type Attributes = BTreeMap<String, Option<String>>;

/// A host's sysfs, as objects.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) multipath: Option<String>,
    pub(crate) subsystems: Vec<Subsystem>,
    pub(crate) unattached: Vec<Controller>,
    /// Anything else, by path.
    pub(crate) extra: BTreeMap<String, Node>,
    /// `class/nvme` lists the controllers.
    pub(crate) class_lists: bool,
    /// The subsystems link to their controllers.
    pub(crate) subsystems_link: bool,
    /// Attributes that every object of a kind is without.
    pub(crate) stripped: Vec<String>,
    /// Files that are added to every controller.
    pub(crate) secrets: Vec<(String, String)>,
    /// Files that are made into something else, by path.
    pub(crate) faults: BTreeMap<String, Fault>,
    /// How addresses are spelled.
    pub(crate) addresses: AddressSpelling,
}

#[derive(Debug, Clone)]
pub(crate) struct Subsystem {
    pub(crate) number: u32,
    pub(crate) attributes: Attributes,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) controllers: Vec<Controller>,
}

#[derive(Debug, Clone)]
pub(crate) struct Namespace {
    pub(crate) number: u32,
    pub(crate) has_head: bool,
    pub(crate) attributes: Attributes,
}

#[derive(Debug, Clone)]
pub(crate) struct Controller {
    pub(crate) number: u32,
    pub(crate) attributes: Attributes,
    pub(crate) disks: Vec<Disk>,
}

#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) kind: DiskKind,
    /// The number of its namespace.
    pub(crate) namespace: u32,
    pub(crate) attributes: Attributes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskKind {
    Leg,
    Private,
    Plain,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Dir,
    File(String),
    Link(String),
    /// A file that is not text.
    Binary,
    /// Opening it for reading blocks.
    Fifo,
    /// Opening it gives ENXIO.
    Socket,
}
