//! What a uevent can say that this agent listens for, as one closed list.

use crate::fabric::{ControllerName, DiskName, Endpoint, SubsystemName};

/// One event of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uevent {
    /// A kernel module was loaded or unloaded. When it says loaded, the module is live and its BTF is there.
    Module {
        /// The module, with underscores: `nvme_core`.
        name: Box<str>,
        /// Which of the two.
        change: Presence,
    },
    /// A controller. A first connect that fails adds one and removes it.
    Controller {
        /// Its name now: the number may be another controller's soon.
        name: ControllerName,
        /// What became of it.
        change: ControllerChange,
        /// Where it connects to, from `NVME_TRTYPE` and its neighbours; none for a local drive.
        endpoint: Option<Box<Endpoint>>,
    },
    /// A head, or the disk of a private namespace. Legs are hidden and have no uevents.
    Head {
        /// The disk.
        name: DiskName,
        /// What became of it.
        change: HeadChange,
    },
    /// A subsystem came to be with its first controller, or went with its last.
    Subsystem {
        /// The subsystem.
        name: SubsystemName,
        /// Which of the two.
        change: Presence,
    },
    /// Messages were lost: what they said has to be looked up.
    Overflow,
}

/// Whether something is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is now.
    Added,
    /// It is no longer.
    Removed,
}

/// What a controller's uevent says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControllerChange {
    /// It was made; it is not live yet.
    Added,
    /// It is gone.
    Removed,
    /// Something happened to it: `NVME_EVENT`, where the kernel names it.
    Changed(Option<NvmeEvent>),
}

/// `NVME_EVENT`: what the driver asks user space to notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NvmeEvent {
    /// It became live, for the first time or again (`nvme_start_ctrl`).
    Connected,
    /// A discovery controller's log is to be read again.
    Rediscover,
    /// One that this agent does not know.
    Other(Box<str>),
}

/// What a head's uevent says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadChange {
    /// It can be opened now.
    Added,
    /// It is gone.
    Removed,
    /// Its capacity changed.
    Resized,
}
