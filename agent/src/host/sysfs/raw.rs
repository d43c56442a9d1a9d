//! What a walk read: directories and the texts of their attributes, before any of it is understood.

use super::attributes::Kind;
use crate::fabric::{ControllerName, DiskName, Fault, SubsystemName};

/// What became of reading one attribute.
pub(super) type Reading = Result<Box<str>, Fault>;

/// A directory's name, by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Subsystem(SubsystemName),
    Controller(ControllerName),
    Leg {
        disk: DiskName,
        controller: ControllerName,
    },
    Head {
        disk: DiskName,
        subsystem: Option<SubsystemName>,
    },
}

impl Name {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Subsystem(_) => Kind::Subsystem,
            Self::Controller(_) => Kind::Controller,
            Self::Leg { .. } => Kind::Leg,
            Self::Head { .. } => Kind::Head,
        }
    }

    /// The object as it is named in [`crate::fabric::Host::unchecked`].
    pub(super) fn object(&self) -> String {
        match self {
            Self::Subsystem(name) => name.to_string(),
            Self::Controller(name) => name.to_string(),
            Self::Leg { disk, .. } | Self::Head { disk, .. } => disk.to_string(),
        }
    }
}

/// One directory.
#[derive(Debug)]
pub(super) struct RawDir {
    /// What it is.
    pub(super) name: Name,
    /// Its inode, once it has been opened; why it could not be, otherwise.
    pub(super) inode: Result<u64, Fault>,
    /// Whether `delete_controller` is in it.
    pub(super) deletable: bool,
    /// The controllers that it links to (subsystems).
    pub(super) links: Vec<ControllerName>,
    /// The attributes it has, by their names in [`super::attributes`].
    pub(super) readings: Vec<(&'static str, Reading)>,
}

impl RawDir {
    /// One that has not been opened yet.
    pub(super) fn new(name: Name) -> Self {
        Self {
            name,
            inode: Err(Fault::Missing),
            deletable: false,
            links: Vec::new(),
            readings: Vec::new(),
        }
    }

    /// What was read of an attribute; `None` when the directory does not have it.
    pub(super) fn reading(&self, attribute: &str) -> Option<Result<&str, Fault>> {
        let (_, reading) = self.readings.iter().find(|(name, _)| *name == attribute)?;
        Some(reading.as_deref().map_err(|fault| *fault))
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct RawTree {
    /// `module/nvme_core/parameters/multipath`.
    pub(super) multipath: Option<Reading>,
    /// Every directory, in no particular order.
    pub(super) dirs: Vec<RawDir>,
    /// Listings that failed (`class/nvme`), each with why.
    pub(super) unlisted: Vec<(&'static str, Fault)>,
}
