//! What is still to be read, and the tree that has been read so far.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::super::attributes::Kind;
use super::super::raw::{Name, RawDir, RawTree, Reading};
use super::files::{Entered, fault};
use super::reader::{Reader, ReaderId};
use crate::fabric::{ControllerName, DiskName, Fault, SubsystemName};

/// A directory in the tree that is read.
pub(super) type DirId = usize;

/// Something to do for one reader.
#[derive(Debug)]
pub(super) enum Task {
    /// Read the module's parameter.
    Multipath,
    /// List a class directory.
    Class(Class),
    /// Open a directory, list it and read its attributes.
    Visit {
        dir: DirId,
        at: Arc<OwnedFd>,
        name: Name,
    },
    /// Read those attributes of an open directory that a slow read has kept waiting.
    Rest { open: Arc<Open>, rest: u32 },
}

/// An object's open directory.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) dir: DirId,
    pub(super) kind: Kind,
    pub(super) handle: Arc<OwnedFd>,
    pub(super) inode: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Controllers,
    Subsystems,
    Block,
}

impl Class {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Controllers => "class/nvme",
            Self::Subsystems => "class/nvme-subsystem",
            Self::Block => "block",
        }
    }
}

/// A scan under way.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) tree: RawTree,
    pub(super) stack: Vec<Task>,
    /// Readers, those that have been given up aside.
    pub(super) readers: HashMap<ReaderId, Reader>,
    pub(super) next_reader: ReaderId,
    /// Readers that are not known to be slow.
    pub(super) quick: usize,
    /// Readers that have a task.
    pub(super) busy: usize,
    controllers: HashSet<ControllerName>,
    disks: HashSet<DiskName>,
    block_done: bool,
}

impl Walk {
    pub(super) fn new() -> Self {
        // A stack: the last one is first. Controllers are entered through their class where it lists
        // them, and through the subsystems' links where it does not.
        let stack = vec![
            Task::Multipath,
            Task::Class(Class::Subsystems),
            Task::Class(Class::Controllers),
        ];
        Self {
            tree: RawTree::default(),
            stack,
            readers: HashMap::new(),
            next_reader: 0,
            quick: 0,
            busy: 0,
            controllers: HashSet::new(),
            disks: HashSet::new(),
            block_done: false,
        }
    }

    /// A reader is done with its task, or has been given up.
    pub(super) fn ended(&mut self) {
        self.busy -= 1;
        if self.stack.is_empty() && self.busy == 0 && !self.block_done {
            // Disks that nothing else led to: last, so that most of the list is known already.
            self.block_done = true;
            self.stack.push(Task::Class(Class::Block));
        }
    }

    /// The module's parameter has been read.
    pub(super) fn multipath(&mut self, reading: Reading) {
        // Not there when the module is not loaded, or was built without multipath.
        if reading != Err(fault(Errno::NOENT)) {
            self.tree.multipath = Some(reading);
        }
    }

    /// A class directory has been listed.
    pub(super) fn listed(&mut self, class: Class, listed: Result<(OwnedFd, Vec<String>), Fault>) {
        let (at, names) = match listed {
            Ok((handle, names)) => (Arc::new(handle), names),
            // A class that is not there has no members.
            Err(why) if why == fault(Errno::NOENT) => return,
            Err(why) => return self.tree.unlisted.push((class.path(), why)),
        };
        for name in names {
            match class {
                Class::Controllers => {
                    if let Ok(controller) = name.parse() {
                        self.visit_controller(controller, &at);
                    }
                }
                Class::Subsystems => {
                    if let Ok(subsystem) = name.parse() {
                        self.visit(Name::Subsystem(subsystem), &at);
                    }
                }
                Class::Block => {
                    if let Ok(disk) = name.parse::<DiskName>()
                        && disk.controller.is_none()
                    {
                        self.visit_head(disk, None, &at);
                    }
                }
            }
        }
    }

    /// A directory has been opened and listed. What it holds is to be read by somebody; its own attributes, and
    /// through what, are returned for the reader that opened it.
    pub(super) fn entered(
        &mut self,
        dir: DirId,
        entered: Result<Entered, Fault>,
    ) -> Option<(Open, u32)> {
        let found = self.tree.dirs.get_mut(dir)?;
        let name = found.name;
        let entered = match entered {
            Ok(entered) => entered,
            Err(fault) => {
                found.inode = Err(fault);
                return None;
            }
        };
        found.inode = Ok(entered.inode);
        found.deletable = entered.deletable;
        let handle = Arc::new(entered.handle);
        match name {
            Name::Subsystem(subsystem) => {
                for disk in entered.disks {
                    self.visit_head(disk, Some(subsystem), &handle);
                }
                for controller in &entered.links {
                    self.visit_controller(*controller, &handle);
                }
                if let Some(found) = self.tree.dirs.get_mut(dir) {
                    found.links = entered.links;
                }
            }
            Name::Controller(controller) => {
                for disk in entered.disks {
                    self.disks.insert(disk);
                    self.visit(Name::Leg { disk, controller }, &handle);
                }
            }
            Name::Leg { .. } | Name::Head { .. } => {}
        }
        let open = Open {
            dir,
            kind: name.kind(),
            handle,
            inode: entered.inode,
        };
        Some((open, entered.present))
    }

    /// Attributes of a directory have been read.
    pub(super) fn read(&mut self, dir: DirId, readings: Vec<(&'static str, Reading)>) {
        if let Some(dir) = self.tree.dirs.get_mut(dir) {
            if dir.readings.is_empty() {
                dir.readings = readings;
            } else {
                dir.readings.extend(readings);
            }
        }
    }

    fn visit_controller(&mut self, controller: ControllerName, at: &Arc<OwnedFd>) {
        if self.controllers.insert(controller) {
            self.visit(Name::Controller(controller), at);
        }
    }

    fn visit_head(&mut self, disk: DiskName, subsystem: Option<SubsystemName>, at: &Arc<OwnedFd>) {
        if self.disks.insert(disk) {
            self.visit(Name::Head { disk, subsystem }, at);
        }
    }

    fn visit(&mut self, name: Name, at: &Arc<OwnedFd>) {
        let dir = self.tree.dirs.len();
        self.tree.dirs.push(RawDir::new(name));
        let at = Arc::clone(at);
        self.stack.push(Task::Visit { dir, at, name });
    }
}
