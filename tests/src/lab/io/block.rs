//! A block of memory that direct I/O accepts.

/// One block, aligned to its own size, stamped so that a read of something else is noticed.
pub(super) struct Block {
    memory: Vec<u8>,
    start: usize,
}

impl Block {
    /// Its size.
    pub(super) const BYTES: u64 = 4096;
    const LENGTH: usize = 4096;

    /// A zeroed block.
    pub(super) fn new() -> Self {
        // Twice the length holds an aligned block whatever the allocation's own alignment is.
        let memory = vec![0; 2 * Self::LENGTH];
        let start = memory.as_ptr().align_offset(Self::LENGTH);
        Self { memory, start }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + Self::LENGTH]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + Self::LENGTH]
    }

    /// Fills it with `stamp`.
    pub(super) fn stamp(&mut self, stamp: u64) {
        for word in self.bytes_mut().chunks_exact_mut(8) {
            word.copy_from_slice(&stamp.to_le_bytes());
        }
    }

    /// Whether all of it is `stamp`.
    pub(super) fn is_stamped(&self, stamp: u64) -> bool {
        self.bytes()
            .chunks_exact(8)
            .all(|word| word == stamp.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_aligned_and_whole() {
        let block = Block::new();
        assert_eq!(block.bytes().as_ptr().align_offset(Block::LENGTH), 0);
        assert_eq!(block.bytes().len(), Block::LENGTH);
    }

    #[test]
    fn a_byte_changed_anywhere_is_noticed() {
        let mut block = Block::new();
        block.stamp(7);
        assert!(block.is_stamped(7));
        block.bytes_mut()[Block::LENGTH - 1] ^= 1;
        assert!(!block.is_stamped(7));
    }
}
