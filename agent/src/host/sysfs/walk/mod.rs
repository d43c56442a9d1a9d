//! Reading the tree, on threads that may block.
//!
//! Any read can hang (`address` waits for a queue's mutex during teardown), so none is done on the
//! caller's thread. Readers work through a stack of tasks, a directory each: one, or while there is much
//! to do as many as there are processors, at most [`SIDE_BY_SIDE`]. The caller's thread looks at them
//! every [`Patience::slow`]. One that is where it was at the last look is slow: the rest of its directory
//! is for others, and when all are slow, another is started. One that has been there for
//! [`Patience::deadline`] is given up and its attribute is [`Fault::TimedOut`]. The thread stays behind
//! until its read comes back; until then [`Stuck`] keeps later scans from trying the same read.
//!
//! All attributes of an object are read through one handle of its directory: a controller that goes
//! meanwhile gives errors, never the values of the next one of its name.
//!
//! `files` has the system calls, `plan` what is still to be read, `reader` a thread's life.

mod files;
mod plan;
mod reader;

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::thread::sched_getaffinity;

use super::ScanError;
use super::attributes::Detail;
use super::raw::RawTree;
use crate::fabric::Fault;
use plan::Walk;
use reader::{At, Desk, Reader, ReaderId};

/// Readers at work at one time, hanging ones aside. Nearly all of a scan is the kernel's part of opening
/// and reading small files, which runs side by side; a scan should still not take over a machine.
const SIDE_BY_SIDE: usize = 4;

/// So many directories must wait for another reader to be worth its start.
const WORTH_A_READER: usize = 16;

/// How long a scan waits for reads that block.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How often readers are looked at. The rest of the scan does not wait for one that was at the same
    /// read twice.
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

/// What the readers of one scan share.
struct Shared {
    root: OwnedFd,
    detail: Detail,
    /// How many quick readers there may be while there is much to do.
    side_by_side: usize,
    walk: Mutex<Walk>,
    progress: Condvar,
    stuck: Stuck,
    /// Reads that hung when the scan began.
    hanging: HashSet<ReadKey>,
}

/// Reads what belongs to NVMe below what stands for `/sys`.
pub(super) fn read_tree(
    sys: &Path,
    detail: Detail,
    patience: Patience,
    stuck: &Stuck,
) -> Result<RawTree, ScanError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, sys, flags, Mode::empty()).map_err(|errno| ScanError::Root {
        path: sys.to_owned(),
        source: errno.into(),
    })?;
    // The standard library's count would read cgroup files first, a good part of a small scan.
    let processors = sched_getaffinity(None).map_or(1, |set| set.count() as usize);
    let shared = Arc::new(Shared {
        root,
        detail,
        side_by_side: processors.min(SIDE_BY_SIDE),
        walk: Mutex::new(Walk::new()),
        progress: Condvar::new(),
        stuck: stuck.clone(),
        hanging: lock(&stuck.0).clone(),
    });
    let mut walk = lock(&shared.walk);
    shared.start_reader(&mut walk)?;
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
    fn start_reader(self: &Arc<Self>, walk: &mut Walk) -> Result<(), ScanError> {
        let id = walk.next_reader;
        let desk = Arc::new(Desk::default());
        let (shared, its_desk) = (Arc::clone(self), Arc::clone(&desk));
        thread::Builder::new()
            .name("sysfs-reader".to_owned())
            .spawn(move || shared.read_on(id, &its_desk))
            .map_err(|source| ScanError::Thread { source })?;
        let reader = Reader {
            desk,
            seen: 0,
            since: Instant::now(),
            slow: false,
        };
        walk.readers.insert(id, reader);
        walk.next_reader += 1;
        walk.quick += 1;
        Ok(())
    }

    /// Gives up what has taken too long, starts another reader where all are slow, and says how long to
    /// wait before looking again; `None` when all is done.
    fn look_after(
        self: &Arc<Self>,
        walk: &mut MutexGuard<'_, Walk>,
        patience: Patience,
    ) -> Result<Option<Duration>, ScanError> {
        let now = Instant::now();
        let (mut overdue, mut relieved, mut handed_over) = (Vec::new(), 0, Vec::new());
        for (id, reader) in &mut walk.readers {
            let mut work = lock(&reader.desk.0);
            if work.step != reader.seen || work.at == At::Rest {
                (reader.seen, reader.since) = (work.step, now);
                continue;
            }
            let age = now.saturating_duration_since(reader.since);
            if age >= patience.deadline {
                overdue.push(*id);
            } else if age >= patience.slow && !reader.slow {
                reader.slow = true;
                relieved += 1;
                handed_over.extend(work.hand_over());
            }
        }
        walk.quick -= relieved;
        walk.stack.append(&mut handed_over);
        for id in overdue {
            self.give_up(walk, id);
        }
        let room = walk.busy < patience.readers;
        if walk.quick == 0 && room && !walk.stack.is_empty() {
            self.start_reader(walk)?;
        }
        let finished = walk.stack.is_empty() && walk.busy == 0 && walk.quick == 0;
        Ok(if finished { None } else { Some(patience.slow) })
    }

    /// Goes on without a reader and what it is at.
    fn give_up(&self, walk: &mut Walk, id: ReaderId) {
        let Some(reader) = walk.readers.remove(&id) else {
            return;
        };
        if !reader.slow {
            walk.quick -= 1;
        }
        let mut work = lock(&reader.desk.0);
        work.given_up = true;
        walk.stack.extend(work.hand_over());
        let timed_out = Fault::TimedOut;
        match work.at {
            At::Rest => {}
            At::Multipath => walk.multipath(Err(timed_out)),
            At::Class(class) => walk.listed(class, Err(timed_out)),
            At::Enter(dir) => {
                walk.entered(dir, Err(timed_out));
            }
            At::Read(attribute) => {
                if let Some(open) = work.open.take() {
                    self.stuck.add((open.inode, attribute));
                    let mut readings = std::mem::take(&mut work.readings);
                    readings.push((attribute, Err(timed_out)));
                    walk.read(open.dir, readings);
                }
            }
        }
        walk.ended();
    }
}
