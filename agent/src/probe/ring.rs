//! The ring between kernel and agent.

use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, atomic::AtomicU64},
};

use aya::maps::{MapData, RingBuf};

use crate::event::Envelope;

use super::{Decoder, debug_lines::DebugLines};

/// Reads records and hands out events (not yet in the order of their times).
pub struct Ring {
    ring: RingBuf<MapData>,
    decoder: Decoder,
    debug_lines: DebugLines,
}

impl Ring {
    pub(super) fn new(ring: RingBuf<MapData>, debug_lines: DebugLines) -> Self {
        Self {
            ring,
            decoder: Decoder::default(),
            debug_lines,
        }
    }

    /// How many records are missing in the numbers that came through.
    #[must_use]
    pub fn gaps(&self) -> Arc<AtomicU64> {
        self.decoder.gaps()
    }

    /// Takes all that is in the ring now.
    pub fn drain(&mut self, events: &mut Vec<Envelope>) {
        self.debug_lines.flush();
        while let Some(item) = self.ring.next() {
            if let Err(error) = self.decoder.record(&item, events) {
                tracing::error!(%error, "the probes and this agent do not fit");
            }
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("decoder", &self.decoder)
            .finish_non_exhaustive()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}
