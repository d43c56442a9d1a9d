//! The prober: direct reads and writes on a thread of its own, each completion with its moment on the boot clock.
//!
//! What an application would see of a window: a stall, or errors. It knows nothing of paths.

mod block;
mod record;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::fs::OFlags;

use super::clock::BootNs;
use super::host::Head;
use super::wait::{self, Look};
use block::Block;
pub use record::{Completion, Record};

/// Between two operations.
const PERIOD: Duration = Duration::from_millis(2);
/// Blocks that the prober goes round in.
const BLOCKS: u64 = 256;

/// A prober at work.
#[derive(Debug)]
pub struct Io {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    stopped: AtomicBool,
    /// Held by whoever has the next operation: the prober, or a scenario that wants none under way.
    turn: Mutex<()>,
    record: Mutex<Record>,
}

impl Shared {
    /// A prober that panicked leaves its record whole: completions are only ever added.
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Io {
    /// Starts on the device of a head and waits for the first good completions.
    pub fn start(head: &Head) -> Result<Self> {
        let device = open(&head.device)?;
        let shared = Arc::new(Shared::default());
        let worker = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("prober".to_owned())
            .spawn(move || {
                probe(&device, &worker);
                drop(device);
                worker.stopped.store(true, Ordering::Release);
            })
            .context("start the prober's thread")?;
        let io = Self { shared };
        io.flowing_since(BootNs::now())?;
        Ok(io)
    }

    /// Waits until operations begun after `moment` complete well again.
    pub fn flowing_since(&self, moment: BootNs) -> Result<()> {
        /// Enough to be sure that a path serves, not that one operation slipped through.
        const ENOUGH: usize = 10;
        wait::until("I/O to complete", Duration::from_secs(15), || {
            let good = self.shared.record().good_since(moment);
            Ok(if good >= ENOUGH {
                Look::Seen(())
            } else {
                Look::NotYet(format!("{good} done"))
            })
        })
    }

    /// Waits until an operation begun after `moment` fails.
    pub fn failing_since(&self, moment: BootNs) -> Result<()> {
        wait::until("I/O to fail", Duration::from_secs(15), || {
            let failed = self.shared.record().failed_since(moment);
            Ok(if failed {
                Look::Seen(())
            } else {
                Look::NotYet("none failed".to_owned())
            })
        })
    }

    /// Does something between two operations. One that is under way when its path goes may still complete well, a few
    /// milliseconds into the window: the answer was there already. Such a completion says nothing about the window.
    pub fn between_operations<T>(&self, what: impl FnOnce() -> T) -> T {
        let _turn = self
            .shared
            .turn
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        what()
    }

    /// Stops and hands over what was recorded.
    pub fn stop(self) -> Result<Record> {
        self.shared.stop.store(true, Ordering::Release);
        wait::until(
            "the prober's last operation",
            Duration::from_secs(15),
            || {
                Ok(if self.shared.stopped.load(Ordering::Acquire) {
                    Look::Seen(())
                } else {
                    Look::NotYet("still in the kernel".to_owned())
                })
            },
        )?;
        Ok(std::mem::take(&mut *self.shared.record()))
    }
}

impl Drop for Io {
    /// Not waited for: held I/O ends only when the scenario's controllers are gone.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
    }
}

fn open(device: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::DIRECT.bits().cast_signed())
        .open(device)
        .with_context(|| format!("open {} for direct I/O", device.display()))
}

/// Writes a block, reads it back, goes on to the next.
fn probe(device: &File, shared: &Shared) {
    let mut block = Block::new();
    for round in 0_u64.. {
        let offset = round % BLOCKS * Block::BYTES;
        block.stamp(round);
        for reading in [false, true] {
            if shared.stop.load(Ordering::Acquire) {
                return;
            }
            let turn = shared.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let begun = BootNs::now();
            let done = if reading {
                // So that a read which brings nothing is not taken for good.
                block.stamp(!round);
                device.read_exact_at(block.bytes_mut(), offset)
            } else {
                device.write_all_at(block.bytes(), offset)
            };
            let at = BootNs::now();
            let error = match done {
                Ok(()) if block.is_stamped(round) => None,
                Ok(()) => Some(format!("block {offset} holds other data than was written")),
                Err(error) => Some(error.to_string()),
            };
            drop(turn);
            shared.record().push(Completion { begun, at, error });
            wait::pause(PERIOD);
        }
    }
}
