//! A reader: a thread that does task after task, and the desk at which others see what it is at.
//!
//! A task's results go into the walk when it ends. Until then they lie on the reader's desk, whose lock is its own
//! but for the one who looks after the readers: an attribute costs no lock that another reader wants, and no look at
//! the clock. Who holds the walk may lock a desk, never the other way round.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::super::raw::Reading;
use super::files::{self, BUFFER};
use super::plan::{Class, DirId, Open, Task, Walk};
use super::{Shared, WORTH_A_READER, lock};
use crate::fabric::Fault;

/// Readers are numbered as they start.
pub(super) type ReaderId = usize;

/// A reader, as the one who looks after it knows it.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) desk: Arc<Desk>,
    /// The step it was at when it was last looked at,
    pub(super) seen: u64,
    /// and when it was first seen there.
    pub(super) since: Instant,
    /// Somebody else goes on in its place.
    pub(super) slow: bool,
}

/// What a reader is at.
#[derive(Debug, Default)]
pub(super) struct Desk(pub(super) Mutex<Work>);

#[derive(Debug, Default)]
pub(super) struct Work {
    /// Changes with every system call that may block.
    pub(super) step: u64,
    pub(super) at: At,
    /// The directory whose attributes it reads.
    pub(super) open: Option<Arc<Open>>,
    /// Those that it has not begun to read.
    pub(super) rest: u32,
    /// Those that it has read.
    pub(super) readings: Vec<(&'static str, Reading)>,
    /// Nobody waits for it any more.
    pub(super) given_up: bool,
}

/// What may block just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum At {
    /// Nothing.
    #[default]
    Rest,
    Multipath,
    Class(Class),
    Enter(DirId),
    Read(&'static str),
}

/// The reader has been given up: what it found is for nobody.
struct GivenUp;

impl Work {
    fn next(&mut self, at: At) {
        self.step += 1;
        self.at = at;
    }

    /// What another reader can do in place of one that is slow.
    pub(super) fn hand_over(&mut self) -> Option<Task> {
        let rest = std::mem::take(&mut self.rest);
        let open = self.open.as_ref().filter(|_| rest != 0)?;
        let open = Arc::clone(open);
        Some(Task::Rest { open, rest })
    }
}

impl Shared {
    /// A reader's life: task after task, until there is none or it was given up.
    pub(super) fn read_on(self: &Arc<Self>, reader: ReaderId, desk: &Desk) {
        let mut buffer = Vec::with_capacity(BUFFER);
        while let Some(task) = self.next_task(reader, desk) {
            if self.perform(task, reader, desk, &mut buffer).is_err() {
                return;
            }
        }
        self.progress.notify_one();
    }

    fn next_task(self: &Arc<Self>, reader: ReaderId, desk: &Desk) -> Option<Task> {
        let mut walk = lock(&self.walk);
        let Some(task) = walk.stack.pop() else {
            walk.quick -= 1;
            walk.readers.remove(&reader);
            return None;
        };
        walk.busy += 1;
        lock(&desk.0).next(match &task {
            Task::Multipath => At::Multipath,
            Task::Class(class) => At::Class(*class),
            Task::Visit { dir, .. } => At::Enter(*dir),
            Task::Rest { .. } => At::Rest,
        });
        if walk.quick < self.side_by_side && walk.stack.len() >= WORTH_A_READER {
            // Without another one this reader does it all, as it would on one processor.
            _ = self.start_reader(&mut walk);
        }
        Some(task)
    }

    fn perform(
        &self,
        task: Task,
        reader: ReaderId,
        desk: &Desk,
        buffer: &mut Vec<u8>,
    ) -> Result<(), GivenUp> {
        match task {
            Task::Multipath => {
                let path = "module/nvme_core/parameters/multipath";
                let reading = files::read_attribute(&self.root, path, buffer);
                self.report(reader, desk, |walk| {
                    walk.multipath(reading);
                    walk.ended();
                })
            }
            Task::Class(class) => {
                let listed = files::list(&self.root, class.path(), buffer);
                self.report(reader, desk, |walk| {
                    walk.listed(class, listed);
                    walk.ended();
                })
            }
            Task::Visit { dir, at, name } => {
                let kind = name.kind();
                let entered = files::enter(&at, &name.object(), kind, self.detail, buffer);
                // Its last holder closes it, which should not be somebody who holds the walk.
                let kept = at;
                let opened = self.report(reader, desk, |walk| {
                    let opened = walk.entered(dir, entered);
                    if opened.is_none() {
                        walk.ended();
                    }
                    opened
                })?;
                drop(kept);
                match opened {
                    Some((open, rest)) => self.read(&Arc::new(open), rest, reader, desk, buffer),
                    None => Ok(()),
                }
            }
            Task::Rest { open, rest } => self.read(&open, rest, reader, desk, buffer),
        }
    }

    /// Reads attributes of a directory: the last part of a task.
    fn read(
        &self,
        open: &Arc<Open>,
        rest: u32,
        reader: ReaderId,
        desk: &Desk,
        buffer: &mut Vec<u8>,
    ) -> Result<(), GivenUp> {
        {
            let mut work = lock(&desk.0);
            work.open = Some(Arc::clone(open));
            work.rest = rest;
            work.readings.reserve_exact(rest.count_ones() as usize);
        }
        let attributes = open.kind.attributes();
        let mut last: Option<(&'static str, Reading)> = None;
        loop {
            let mut work = lock(&desk.0);
            if work.given_up {
                if let Some((attribute, _)) = last {
                    self.stuck.remove(&(open.inode, attribute));
                }
                return Err(GivenUp);
            }
            work.readings.extend(last.take());
            let bit = work.rest.trailing_zeros();
            // Takes the lowest bit away.
            work.rest &= work.rest.wrapping_sub(1);
            let Some(attribute) = attributes.get(bit as usize).copied() else {
                work.next(At::Rest);
                break;
            };
            work.next(At::Read(attribute));
            drop(work);
            let hangs = self.hanging.contains(&(open.inode, attribute));
            let reading = if hangs {
                Err(Fault::TimedOut)
            } else {
                files::read_attribute(&open.handle, attribute, buffer)
            };
            last = Some((attribute, reading));
        }
        self.report(reader, desk, |walk| {
            let readings = std::mem::take(&mut lock(&desk.0).readings);
            walk.read(open.dir, readings);
            walk.ended();
        })
    }

    /// Puts what was found into the walk, unless the reader was given up meanwhile.
    fn report<T>(
        &self,
        reader: ReaderId,
        desk: &Desk,
        record: impl FnOnce(&mut Walk) -> T,
    ) -> Result<T, GivenUp> {
        let mut walk = lock(&self.walk);
        let known = walk.readers.get_mut(&reader).ok_or(GivenUp)?;
        if std::mem::take(&mut known.slow) {
            walk.quick += 1;
        }
        {
            let mut work = lock(&desk.0);
            work.next(At::Rest);
            work.open = None;
        }
        Ok(record(&mut walk))
    }
}
