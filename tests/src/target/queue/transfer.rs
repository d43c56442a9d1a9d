//! Writes whose data was asked for by R2T and is still coming in.

use std::collections::BTreeMap;

use crate::target::command::Command;
use crate::target::wire::{FatalError, HostData};

/// A connection's transfers by their tags.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    open: BTreeMap<u16, Transfer>,
    last_tag: u16,
}

#[derive(Debug)]
struct Transfer {
    command: Command,
    expected: u32,
}

impl Transfers {
    /// Expects `length` bytes for a command; the tag to ask for them by.
    pub(super) fn begin(&mut self, mut command: Command, length: u32) -> u16 {
        // A queue has 128 entries: a free tag is near.
        loop {
            self.last_tag = self.last_tag.wrapping_add(1);
            if !self.open.contains_key(&self.last_tag) {
                break;
            }
        }
        command.data = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        self.open.insert(
            self.last_tag,
            Transfer {
                command,
                expected: length,
            },
        );
        self.last_tag
    }

    /// Takes one PDU's data; the command once it has all. An error is what to tell the host and which field was wrong.
    pub(super) fn fill(&mut self, part: &HostData) -> Result<Option<Command>, (FatalError, u32)> {
        let Some(transfer) = self.open.get_mut(&part.tag) else {
            return Err((FatalError::InvalidHeaderField, 10));
        };
        if transfer.command.entry.cid() != part.cid {
            return Err((FatalError::InvalidHeaderField, 8));
        }
        // In order and without gaps: the transport specification asks for it within one R2T.
        let so_far = transfer.command.data.len();
        if usize::try_from(part.offset) != Ok(so_far) {
            return Err((FatalError::OutOfRange, 12));
        }
        let now = u32::try_from(so_far + part.data.len()).unwrap_or(u32::MAX);
        if now > transfer.expected {
            return Err((FatalError::OutOfRange, 16));
        }
        if part.last != (now == transfer.expected) {
            return Err((FatalError::InvalidHeaderField, 1));
        }
        transfer.command.data.extend_from_slice(&part.data);
        let done = part.last.then(|| self.open.remove(&part.tag)).flatten();
        Ok(done.map(|transfer| transfer.command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::wire::Entry;

    fn transfers() -> (Transfers, u16) {
        let mut transfers = Transfers::default();
        let command = Command::new(Entry::new([0; Entry::SIZE]), Vec::new());
        let tag = transfers.begin(command, 8);
        (transfers, tag)
    }

    fn part(tag: u16, offset: u32, data: &[u8], last: bool) -> HostData {
        HostData {
            cid: 0,
            tag,
            offset,
            last,
            data: data.to_vec(),
        }
    }

    #[test]
    fn data_in_parts_is_put_together() {
        let (mut transfers, tag) = transfers();
        assert!(
            transfers
                .fill(&part(tag, 0, b"abc", false))
                .unwrap()
                .is_none()
        );
        let command = transfers
            .fill(&part(tag, 3, b"defgh", true))
            .unwrap()
            .unwrap();
        assert_eq!(command.data, b"abcdefgh");
        let again = transfers.fill(&part(tag, 0, b"abc", false));
        assert_eq!(
            again.unwrap_err(),
            (FatalError::InvalidHeaderField, 10),
            "the tag is free again"
        );
    }

    #[test]
    fn data_that_was_not_asked_for_is_refused() {
        let wrong = |wrong: fn(u16) -> HostData| {
            let (mut transfers, tag) = transfers();
            transfers.fill(&wrong(tag)).unwrap_err()
        };
        assert_eq!(
            wrong(|tag| part(tag, 4, b"a", false)),
            (FatalError::OutOfRange, 12)
        );
        assert_eq!(
            wrong(|tag| part(tag, 0, b"abcdefghi", true)),
            (FatalError::OutOfRange, 16)
        );
        assert_eq!(
            wrong(|tag| part(tag, 0, b"abc", true)),
            (FatalError::InvalidHeaderField, 1)
        );
        assert_eq!(
            wrong(|tag| part(tag, 0, b"abcdefgh", false)),
            (FatalError::InvalidHeaderField, 1)
        );
        let other = wrong(|tag| HostData {
            cid: 9,
            ..part(tag, 0, b"abc", false)
        });
        assert_eq!(other, (FatalError::InvalidHeaderField, 8));
    }
}
