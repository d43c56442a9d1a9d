//! Windows on their way to the disk, on a thread of their own.
//!
//! The disk may be the very volume that has no path now: a write to it lasts as long as the window. The loop that
//! measures waits until a window that has ended is written, so that what is told is also kept, but not for longer than
//! [`PATIENCE`]. It does not wait for open ones: a target that dies opens hundreds at once, and a write takes
//! milliseconds. Those that wait together are written together.

use std::{
    convert::Infallible,
    path::Path,
    sync::mpsc::{
        Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel,
        sync_channel,
    },
    time::Duration,
};

use crate::{
    fabric::BootNs,
    host::{boot, clock},
    watch::Window,
};

use super::{Store, StoreError};

/// How long a write is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many windows wait for a slow disk; more are not recorded.
const WAITING: usize = 1024;
/// How many are written together.
const TOGETHER: usize = 64;
/// Old windows are dropped at the start and after so many writes.
const PRUNE_EVERY: usize = 256;

/// How many windows are kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// So many that have ended.
    pub keep: u32,
    /// Since they began.
    pub max_age: Duration,
}

/// Records windows. Where that does not work it says so and the rest goes on.
#[derive(Debug)]
pub struct Recorder {
    orders: Option<SyncSender<Order>>,
    /// Ends with the thread.
    ended: Receiver<Infallible>,
    /// A write that was not waited for to its end.
    slow: Option<Receiver<Infallible>>,
}

/// One window to record.
#[derive(Debug)]
struct Order {
    window: Box<Window>,
    /// Goes when it is on the disk, or cannot be.
    _done: Sender<Infallible>,
}

impl Recorder {
    /// Opens the store of a folder. Windows that an earlier agent left open there are closed.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(folder: &Path, retention: Retention) -> std::io::Result<Self> {
        let (orders, received) = sync_channel(WAITING);
        let (alive, ended) = channel();
        let (folder, since) = (folder.to_owned(), clock::boot());
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                // Moved in, so that it goes when the thread does.
                let _alive: Sender<Infallible> = alive;
                record(&folder, since, retention, &received);
            })?;
        Ok(Self {
            orders: Some(orders),
            ended,
            slow: None,
        })
    }

    /// Records a window as it is now. One that has ended is on the disk on return, unless that takes too long.
    pub fn put(&mut self, window: &Window) {
        let Some(orders) = &self.orders else {
            return;
        };
        let (done, written) = channel();
        let order = Order {
            window: Box::new(window.clone()),
            _done: done,
        };
        match orders.try_send(order) {
            Ok(()) if window.open => {}
            Ok(()) => self.wait(written),
            Err(TrySendError::Full(_)) => {
                tracing::warn!(window = %window.id, "not recorded: the disk does not keep up");
            }
            // It has said why.
            Err(TrySendError::Disconnected(_)) => self.orders = None,
        }
    }

    fn wait(&mut self, written: Receiver<Infallible>) {
        let behind = |slow: &Receiver<Infallible>| slow.try_recv() == Err(TryRecvError::Empty);
        if self.slow.as_ref().is_some_and(behind) {
            // This one comes after it.
            self.slow = Some(written);
            return;
        }
        self.slow = None;
        if written.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("recording takes longer than {PATIENCE:?} and is not waited for");
            self.slow = Some(written);
        }
    }
}

impl Drop for Recorder {
    /// Lets the database be closed, if that goes as fast as a write should.
    fn drop(&mut self) {
        self.orders = None;
        if self.ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the store was not closed in time; its log is read at the next start");
        }
    }
}

fn record(folder: &Path, since: BootNs, retention: Retention, orders: &Receiver<Order>) {
    let mut store = match open(folder, since, retention) {
        Ok(store) => store,
        Err(error) => {
            let reason = crate::error_chain(&error);
            tracing::warn!("no store: {reason}; windows are printed and not kept");
            return;
        }
    };
    let mut since_pruned = 0;
    for first in orders {
        let more = orders.try_iter().take(TOGETHER - 1);
        let batch: Vec<Order> = std::iter::once(first).chain(more).collect();
        if let Err(error) = store.put_windows(batch.iter().map(|order| &*order.window)) {
            let reason = crate::error_chain(&error);
            tracing::warn!(windows = batch.len(), "not recorded: {reason}");
        }
        since_pruned += batch.len();
        // Who waits for them may go on.
        drop(batch);
        if since_pruned >= PRUNE_EVERY {
            since_pruned = 0;
            prune(&store, retention);
        }
    }
}

fn open(folder: &Path, since: BootNs, retention: Retention) -> Result<Store, StoreError> {
    let mut store = Store::open(folder)?;
    let abandoned = store.close_abandoned(&boot::id(), since)?;
    if abandoned > 0 {
        tracing::info!(
            abandoned,
            "windows that an earlier agent left open are cut off where it last saw them"
        );
    }
    prune(&store, retention);
    Ok(store)
}

/// Drops what is not to be kept. Where that fails the file grows, which is better than not to record.
fn prune(store: &Store, retention: Retention) {
    let age = i64::try_from(retention.max_age.as_millis()).unwrap_or(i64::MAX);
    let oldest = clock::wall().millis().saturating_sub(age);
    if let Err(error) = store.prune(retention.keep, oldest) {
        tracing::warn!("{}", crate::error_chain(&error));
    }
}
