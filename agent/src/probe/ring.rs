//! The ring between kernel and agent, and the count of what did not get through it.

use std::{
    collections::HashMap,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use aya::maps::{MapData, RingBuf};

use crate::event::{Envelope, Event, Source};
use crate::fabric::BootNs;

use super::{
    debug_lines::DebugLines,
    decode::decode,
    translate::{BPF_ERROR_NS, Translate},
};

/// Reads records, counts gaps, hands out events (not yet in the order of their times).
pub struct Ring {
    ring: RingBuf<MapData>,
    sequences: HashMap<u32, u64>,
    gaps: Arc<AtomicU64>,
    translate: Translate,
    debug_lines: DebugLines,
}

impl Ring {
    pub(super) fn new(ring: RingBuf<MapData>, debug_lines: DebugLines) -> Self {
        let (sequences, translate) = (HashMap::new(), Translate::default());
        Self {
            ring,
            sequences,
            gaps: Arc::default(),
            translate,
            debug_lines,
        }
    }

    /// How many records are missing in the numbers that came through.
    #[must_use]
    pub fn gaps(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.gaps)
    }

    /// Takes all that is in the ring now.
    pub fn drain(&mut self, events: &mut Vec<Envelope>) {
        self.debug_lines.flush();
        while let Some(item) = self.ring.next() {
            let record = match decode(&item) {
                Ok(record) => record,
                Err(error) => {
                    tracing::error!(%error, "the probes and this agent do not fit");
                    continue;
                }
            };
            let header = record.header;
            if let Some(count) = gap(&mut self.sequences, header.cpu, header.sequence) {
                self.gaps.fetch_add(count, Ordering::Relaxed);
                events.push(Envelope {
                    time: BootNs(header.boot_ns),
                    error_ns: BPF_ERROR_NS,
                    source: Source::Bpf,
                    event: Event::Lost { count },
                });
            }
            self.translate.record(&record, events);
        }
    }
}

/// Takes in the next number of a CPU; how many are missing before it.
fn gap(sequences: &mut HashMap<u32, u64>, cpu: u32, sequence: u64) -> Option<u64> {
    let last = sequences.insert(cpu, sequence).unwrap_or(0);
    Some(sequence.saturating_sub(last + 1)).filter(|missing| *missing > 0)
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("sequences", &self.sequences)
            .finish_non_exhaustive()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_one_cpus_numbers_is_a_loss() {
        let mut sequences = HashMap::new();
        assert_eq!(gap(&mut sequences, 0, 1), None);
        assert_eq!(gap(&mut sequences, 1, 1), None);
        assert_eq!(gap(&mut sequences, 0, 2), None);
        assert_eq!(gap(&mut sequences, 0, 6), Some(3));
        assert_eq!(gap(&mut sequences, 1, 2), None);
        assert_eq!(
            gap(&mut sequences, 2, 3),
            Some(2),
            "a CPU's first numbers can be lost too"
        );
    }
}
