//! Records to events, and the count of what did not come through.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::event::{Envelope, Event, Source};
use crate::fabric::BootNs;

use super::{
    decode::{Malformed, decode},
    translate::{BPF_ERROR_NS, Translate},
};

/// What a reader of records keeps.
#[derive(Debug, Default)]
pub struct Decoder {
    sequences: HashMap<u32, u64>,
    gaps: Arc<AtomicU64>,
    translate: Translate,
}

impl Decoder {
    /// Appends what a record comes to; before it, what is missing in its CPU's numbers.
    pub fn record(&mut self, bytes: &[u8], events: &mut Vec<Envelope>) -> Result<(), Malformed> {
        let record = decode(bytes)?;
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
        Ok(())
    }

    /// How many records are missing in the numbers that came through.
    #[must_use]
    pub fn gaps(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.gaps)
    }
}

/// Takes in the next number of a CPU; how many are missing before it.
fn gap(sequences: &mut HashMap<u32, u64>, cpu: u32, sequence: u64) -> Option<u64> {
    let last = sequences.insert(cpu, sequence).unwrap_or(0);
    Some(sequence.saturating_sub(last + 1)).filter(|missing| *missing > 0)
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
