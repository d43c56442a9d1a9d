//! The thread that waits for the ring.
//!
//! A thread of its own: the ring is read when the kernel says so, whatever the agent's loop is doing.

use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use crate::event::Envelope;

use super::Ring;

/// How many batches may wait for the loop; then the ring fills, and what it loses is counted.
const BATCHES: usize = 64;
/// How often the thread looks whether anyone still listens.
const IDLE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Events as they come, batch by batch, roughly in the order of their times.
#[derive(Debug)]
pub struct Reader {
    batches: mpsc::Receiver<Vec<Envelope>>,
}

impl Reader {
    /// Starts the thread. It ends when the reader is dropped.
    pub fn start(mut ring: Ring) -> io::Result<Self> {
        let (send, batches) = mpsc::channel(BATCHES);
        thread::Builder::new()
            .name("probe-ring".to_owned())
            .spawn(move || {
                while !send.is_closed() {
                    if let Err(error) = wait(&ring) {
                        tracing::error!(%error, "cannot wait for the probes' events");
                        break;
                    }
                    let mut events = Vec::new();
                    ring.drain(&mut events);
                    if !events.is_empty() && send.blocking_send(events).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self { batches })
    }

    /// The next batch; none when the thread has ended.
    pub async fn next(&mut self) -> Option<Vec<Envelope>> {
        self.batches.recv().await
    }

    /// A batch that is there already.
    pub fn try_next(&mut self) -> Option<Vec<Envelope>> {
        self.batches.try_recv().ok()
    }
}

fn wait(ring: &Ring) -> io::Result<()> {
    match poll(&mut [PollFd::new(ring, PollFlags::IN)], Some(&IDLE)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
