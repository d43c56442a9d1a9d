//! Reading the tree, on threads that may block.
//!
//! Any read can hang (`address` waits for a queue's mutex during teardown), so none is done on the
//! caller's thread. Readers work through a stack of steps: one, or while there is much to do as many as
//! there are processors, at most [`SIDE_BY_SIDE`]. When all of them have been in one step for longer
//! than [`Patience::slow`], another reader goes on with the rest; when a step has taken
//! [`Patience::deadline`] it is given up and its attribute is [`Fault::TimedOut`]. The thread stays
//! behind until its read comes back; until then [`Stuck`] keeps later scans from trying the same read.
//!
//! All attributes of an object are read through one handle of its directory: a controller that goes
//! meanwhile gives errors, never the values of the next one of its name.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, OFlags, RawDir as Listing, fstat, openat};
use rustix::io::{Errno, read};

use super::ScanError;
use super::attributes::Kind;
use super::raw::{Name, RawDir, RawTree, Reading};
use crate::fabric::{ControllerName, DiskName, Fault};

/// A sysfs attribute ends at one page. One byte more tells that a file is longer.
const PAGE: usize = 4096;

/// Readers at work at one time, hanging ones aside. Nearly all of a scan is the kernel's part of opening
/// and reading small files, which runs side by side; a scan should still not take over a machine.
const SIDE_BY_SIDE: usize = 4;

/// So many steps must wait for another reader to be worth its start.
const WORTH_A_READER: usize = 64;

/// How long a scan waits for reads that block.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// After this the rest of the scan goes on without waiting for the read.
    pub slow: Duration,
    /// After this the read is given up.
    pub deadline: Duration,
    /// Reads that may hang at one time. Beyond it the scan waits for one of them.
    pub readers: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            slow: Duration::from_millis(20),
            deadline: Duration::from_millis(1_000),
            readers: 64,
        }
    }
}

/// A directory's inode and an attribute of it.
type ReadKey = (u64, &'static str);

/// Reads that have been given up and have not come back.
#[derive(Debug, Clone, Default)]
pub(super) struct Stuck(Arc<Mutex<HashSet<ReadKey>>>);

impl Stuck {
    fn contains(&self, key: &ReadKey) -> bool {
        let stuck = lock(&self.0);
        !stuck.is_empty() && stuck.contains(key)
    }

    fn add(&self, key: ReadKey) {
        lock(&self.0).insert(key);
    }

    fn remove(&self, key: &ReadKey) {
        lock(&self.0).remove(key);
    }
}

/// A poisoned lock means that a reader panicked; what it had written is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type DirId = usize;

/// One thing to do that may block.
#[derive(Debug, Clone)]
enum Step {
    /// List a class directory.
    Class(Class),
    /// Open a directory and list it.
    Enter {
        dir: DirId,
        at: Arc<OwnedFd>,
        path: String,
        kind: Kind,
    },
    /// Read an attribute.
    Read {
        dir: DirId,
        at: Arc<OwnedFd>,
        inode: u64,
        attribute: &'static str,
    },
    /// Read the module's parameter.
    Multipath,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Controllers,
    Subsystems,
    Block,
}

impl Class {
    fn path(self) -> &'static str {
        match self {
            Self::Controllers => "class/nvme",
            Self::Subsystems => "class/nvme-subsystem",
            Self::Block => "block",
        }
    }
}

/// What a step brought.
enum Found {
    Names(Result<Vec<String>, Fault>),
    Entered(Result<Entered, Fault>),
    Text(Reading),
}

/// A directory that has been opened and listed.
struct Entered {
    handle: OwnedFd,
    inode: u64,
    /// Bit n: attribute n of its kind is there.
    present: u32,
    deletable: bool,
    diag: bool,
    disks: Vec<DiskName>,
    links: Vec<ControllerName>,
}

struct InFlight {
    step: Step,
    since: Instant,
    /// Another reader has been started because of it.
    relieved: bool,
}

struct Walk {
    tree: RawTree,
    stack: Vec<Step>,
    /// By reader.
    in_flight: HashMap<usize, InFlight>,
    controllers: HashSet<ControllerName>,
    disks: HashSet<DiskName>,
    block_done: bool,
    next_reader: usize,
    /// Readers that are not known to be slow.
    quick: usize,
}

struct Shared {
    root: Arc<OwnedFd>,
    /// How many quick readers there may be while there is much to do.
    side_by_side: usize,
    walk: Mutex<Walk>,
    progress: Condvar,
    stuck: Stuck,
}

/// Reads everything below what stands for `/sys` that belongs to NVMe.
pub(super) fn read_tree(
    sys: &Path,
    patience: Patience,
    stuck: &Stuck,
) -> Result<RawTree, ScanError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, sys, flags, Mode::empty()).map_err(|errno| ScanError::Root {
        path: sys.to_owned(),
        source: errno.into(),
    })?;
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let shared = Arc::new(Shared {
        root: Arc::new(root),
        side_by_side: processors.min(SIDE_BY_SIDE),
        walk: Mutex::new(Walk::new()),
        progress: Condvar::new(),
        stuck: stuck.clone(),
    });
    shared.start_reader()?;
    let mut walk = lock(&shared.walk);
    while let Some(wait) = shared.look_after(&mut walk, patience)? {
        walk = shared
            .progress
            .wait_timeout(walk, wait)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    Ok(std::mem::take(&mut walk.tree))
}

impl Shared {
    /// Starts one more reader. Its place is taken before the thread runs, so that the walk cannot look
    /// finished in between.
    fn start_reader(self: &Arc<Self>) -> Result<(), ScanError> {
        let mut walk = lock(&self.walk);
        self.start_reader_locked(&mut walk)
    }

    fn start_reader_locked(self: &Arc<Self>, walk: &mut Walk) -> Result<(), ScanError> {
        let reader = walk.next_reader;
        walk.next_reader += 1;
        walk.quick += 1;
        let shared = Arc::clone(self);
        let spawned = thread::Builder::new()
            .name("sysfs-reader".to_owned())
            .spawn(move || shared.read_on(reader));
        if let Err(source) = spawned {
            walk.quick -= 1;
            return Err(ScanError::Thread { source });
        }
        Ok(())
    }

    /// A reader's life: step after step, until there is none or its last one was given up.
    fn read_on(self: &Arc<Self>, reader: usize) {
        let mut buffer = Vec::with_capacity(4 * PAGE);
        let mut walk = lock(&self.walk);
        loop {
            let Some(step) = walk.stack.pop() else {
                walk.quick -= 1;
                break;
            };
            if let Step::Read {
                inode, attribute, ..
            } = &step
                && self.stuck.contains(&(*inode, attribute))
            {
                walk.record(&step, Found::Text(Err(Fault::TimedOut)), &self.root);
                continue;
            }
            let since = Instant::now();
            walk.in_flight.insert(
                reader,
                InFlight {
                    step: step.clone(),
                    since,
                    relieved: false,
                },
            );
            drop(walk);
            let found = perform(&step, &self.root, &mut buffer);
            walk = lock(&self.walk);
            let Some(in_flight) = walk.in_flight.remove(&reader) else {
                // Given up meanwhile. Nobody waits for this reader any more.
                if let Step::Read {
                    inode, attribute, ..
                } = &step
                {
                    self.stuck.remove(&(*inode, attribute));
                }
                return;
            };
            if in_flight.relieved {
                walk.quick += 1;
            }
            walk.record(&step, found, &self.root);
            if walk.quick < self.side_by_side && walk.stack.len() >= WORTH_A_READER {
                // Without another one this reader does it all, as it would on one processor.
                _ = self.start_reader_locked(&mut walk);
            }
        }
        self.progress.notify_one();
    }

    /// Gives up what has taken too long, starts another reader where one is slow, and says how long to
    /// wait before looking again; `None` when all is done.
    fn look_after(
        self: &Arc<Self>,
        walk: &mut MutexGuard<'_, Walk>,
        patience: Patience,
    ) -> Result<Option<Duration>, ScanError> {
        let now = Instant::now();
        let age = |in_flight: &InFlight| now.saturating_duration_since(in_flight.since);
        let overdue: Vec<usize> = walk
            .in_flight
            .iter()
            .filter(|(_, in_flight)| age(in_flight) >= patience.deadline)
            .map(|(reader, _)| *reader)
            .collect();
        for reader in overdue {
            if let Some(given_up) = walk.in_flight.remove(&reader) {
                if !given_up.relieved {
                    walk.quick -= 1;
                }
                if let Step::Read {
                    inode, attribute, ..
                } = &given_up.step
                {
                    self.stuck.add((*inode, attribute));
                }
                walk.record(&given_up.step, given_up.step.timed_out(), &self.root);
            }
        }
        let mut relieved = 0;
        for in_flight in walk.in_flight.values_mut() {
            if !in_flight.relieved && age(in_flight) >= patience.slow {
                in_flight.relieved = true;
                relieved += 1;
            }
        }
        walk.quick -= relieved;
        let room = walk.in_flight.len() < patience.readers;
        if walk.quick == 0 && room && !walk.stack.is_empty() {
            self.start_reader_locked(walk)?;
        }
        let finished = walk.stack.is_empty() && walk.in_flight.is_empty() && walk.quick == 0;
        Ok(if finished { None } else { Some(patience.slow) })
    }
}

impl Step {
    /// What is recorded of a step that was given up.
    fn timed_out(&self) -> Found {
        match self {
            Self::Class(_) => Found::Names(Err(Fault::TimedOut)),
            Self::Enter { .. } => Found::Entered(Err(Fault::TimedOut)),
            Self::Read { .. } | Self::Multipath => Found::Text(Err(Fault::TimedOut)),
        }
    }
}

impl Walk {
    fn new() -> Self {
        // A stack: the last one is first. Controllers are entered through their class where it lists
        // them, and through the subsystems' links where it does not.
        let stack = vec![
            Step::Multipath,
            Step::Class(Class::Subsystems),
            Step::Class(Class::Controllers),
        ];
        Self {
            tree: RawTree::default(),
            stack,
            in_flight: HashMap::new(),
            controllers: HashSet::new(),
            disks: HashSet::new(),
            block_done: false,
            next_reader: 0,
            quick: 0,
        }
    }

    fn record(&mut self, step: &Step, found: Found, root: &Arc<OwnedFd>) {
        match (step, found) {
            (Step::Class(class), Found::Names(names)) => self.listed(*class, names, root),
            (Step::Enter { dir, .. }, Found::Entered(entered)) => self.entered(*dir, entered, root),
            (Step::Read { dir, attribute, .. }, Found::Text(reading)) => {
                if let Some(dir) = self.tree.dirs.get_mut(*dir) {
                    dir.readings.push((attribute, reading));
                }
            }
            // Not there when the module is not loaded, or was built without multipath.
            (Step::Multipath, Found::Text(reading)) if reading != Err(fault(Errno::NOENT)) => {
                self.tree.multipath = Some(reading);
            }
            // `perform` and `timed_out` answer each step in its own kind.
            _ => {}
        }
        if self.stack.is_empty() && !self.block_done && self.in_flight.is_empty() {
            // Disks that nothing else led to: last, so that most of the list is known already.
            self.block_done = true;
            self.stack.push(Step::Class(Class::Block));
        }
    }

    fn listed(&mut self, class: Class, names: Result<Vec<String>, Fault>, root: &Arc<OwnedFd>) {
        let names = match names {
            Ok(names) => names,
            // A class that is not there has no members.
            Err(why) if why == fault(Errno::NOENT) => return,
            Err(why) => return self.tree.unlisted.push((class.path(), why)),
        };
        for name in names {
            let path = format!("{}/{name}", class.path());
            match class {
                Class::Controllers => {
                    if let Ok(controller) = name.parse() {
                        self.enter_controller(controller, root, path);
                    }
                }
                Class::Subsystems => {
                    if let Ok(subsystem) = name.parse() {
                        self.enter(Name::Subsystem(subsystem), root, path);
                    }
                }
                Class::Block => {
                    if let Ok(disk) = name.parse::<DiskName>()
                        && disk.controller.is_none()
                        && self.disks.insert(disk)
                    {
                        self.enter(
                            Name::Head {
                                disk,
                                subsystem: None,
                            },
                            root,
                            path,
                        );
                    }
                }
            }
        }
    }

    fn enter_controller(&mut self, controller: ControllerName, root: &Arc<OwnedFd>, path: String) {
        if self.controllers.insert(controller) {
            self.enter(Name::Controller(controller), root, path);
        }
    }

    fn enter(&mut self, name: Name, at: &Arc<OwnedFd>, path: String) {
        let kind = name.kind();
        let dir = self.tree.dirs.len();
        self.tree.dirs.push(RawDir::new(name));
        self.stack.push(Step::Enter {
            dir,
            at: Arc::clone(at),
            path,
            kind,
        });
    }

    fn entered(&mut self, id: DirId, entered: Result<Entered, Fault>, root: &Arc<OwnedFd>) {
        let Some(dir) = self.tree.dirs.get_mut(id) else {
            return;
        };
        let entered = match entered {
            Ok(entered) => entered,
            Err(fault) => {
                dir.inode = Err(fault);
                return;
            }
        };
        dir.inode = Ok(entered.inode);
        dir.deletable = entered.deletable;
        let (name, inode) = (dir.name, entered.inode);
        let kind = name.kind();
        let handle = Arc::new(entered.handle);
        match name {
            Name::Subsystem(subsystem) => {
                dir.links.clone_from(&entered.links);
                for disk in entered.disks {
                    if self.disks.insert(disk) {
                        let name = Name::Head {
                            disk,
                            subsystem: Some(subsystem),
                        };
                        self.enter(name, &handle, disk.to_string());
                    }
                }
                for controller in entered.links {
                    let path = format!("{}/{subsystem}/{controller}", Class::Subsystems.path());
                    self.enter_controller(controller, root, path);
                }
            }
            Name::Controller(controller) => {
                for disk in entered.disks {
                    self.disks.insert(disk);
                    self.enter(Name::Leg { disk, controller }, &handle, disk.to_string());
                }
            }
            Name::Leg { .. } | Name::Head { .. } => {}
        }
        let diag = if entered.diag { kind.diag() } else { &[] };
        let listed = kind.attributes().iter().enumerate();
        let listed = listed
            .filter(|(bit, _)| entered.present & (1 << bit) != 0)
            .map(|(_, name)| name);
        for attribute in diag.iter().chain(listed) {
            let at = Arc::clone(&handle);
            self.stack.push(Step::Read {
                dir: id,
                at,
                inode,
                attribute,
            });
        }
    }
}

/// Does one step. This is what may block.
fn perform(step: &Step, root: &OwnedFd, buffer: &mut Vec<u8>) -> Found {
    match step {
        Step::Class(class) => Found::Names(list_names(root, class.path(), buffer)),
        Step::Enter { at, path, kind, .. } => Found::Entered(enter(at, path, *kind, buffer)),
        Step::Read { at, attribute, .. } => Found::Text(read_attribute(at, attribute, buffer)),
        Step::Multipath => Found::Text(read_attribute(
            root,
            "module/nvme_core/parameters/multipath",
            buffer,
        )),
    }
}

fn fault(errno: Errno) -> Fault {
    Fault::Errno(errno.raw_os_error())
}

fn open_directory(at: &OwnedFd, path: &str) -> Result<OwnedFd, Fault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty()).map_err(fault)
}

fn list_names(root: &OwnedFd, path: &str, buffer: &mut Vec<u8>) -> Result<Vec<String>, Fault> {
    let handle = open_directory(root, path)?;
    let mut names = Vec::new();
    for_each_name(&handle, buffer, |name| names.push(name.to_owned()))?;
    Ok(names)
}

fn enter(at: &OwnedFd, path: &str, kind: Kind, buffer: &mut Vec<u8>) -> Result<Entered, Fault> {
    let handle = open_directory(at, path)?;
    let inode = fstat(&handle).map_err(fault)?.st_ino;
    let mut entered = Entered {
        handle,
        inode,
        present: 0,
        deletable: false,
        diag: false,
        disks: Vec::new(),
        links: Vec::new(),
    };
    let (mut present, mut deletable, mut diag) = (0, false, false);
    let Entered {
        handle,
        disks,
        links,
        ..
    } = &mut entered;
    for_each_name(handle, buffer, |name| {
        if let Some(bit) = kind.position(name) {
            present |= 1 << bit;
        } else if name == "delete_controller" {
            deletable = true;
        } else if name == "diag" {
            diag = true;
        } else if matches!(kind, Kind::Subsystem | Kind::Controller) && name.starts_with("nvme") {
            if let Ok(disk) = name.parse() {
                disks.push(disk);
            } else if kind == Kind::Subsystem
                && let Ok(controller) = name.parse()
            {
                links.push(controller);
            }
        }
    })?;
    Ok(Entered {
        present,
        deletable,
        diag,
        ..entered
    })
}

/// Lists a directory. Names that are not UTF-8 are none of the kernel's.
fn for_each_name(
    handle: &OwnedFd,
    buffer: &mut Vec<u8>,
    mut each: impl FnMut(&str),
) -> Result<(), Fault> {
    buffer.clear();
    let mut listing = Listing::new(handle.as_fd(), buffer.spare_capacity_mut());
    while let Some(entry) = listing.next() {
        if let Ok(name) = entry.map_err(fault)?.file_name().to_str() {
            each(name);
        }
    }
    Ok(())
}

/// Reads one attribute, with one read: sysfs gives all of it at once. Never follows a link, which no
/// attribute is.
fn read_attribute(at: &OwnedFd, name: &str, buffer: &mut Vec<u8>) -> Reading {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file = openat(at, name, flags, Mode::empty()).map_err(fault)?;
    buffer.clear();
    read(&file, spare_capacity(buffer)).map_err(fault)?;
    if buffer.len() > PAGE {
        return Err(Fault::TooLong);
    }
    let text = std::str::from_utf8(buffer).map_err(|_| Fault::Malformed)?;
    Ok(text.strip_suffix('\n').unwrap_or(text).into())
}
