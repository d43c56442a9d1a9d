//! Submission and completion queue entries (base specification 3.3.3; fabrics commands' layout included).

use super::bytes::{le16, le32, le64, put};
use crate::target::ids::{Nsid, QueueId};
use crate::target::status::Status;

/// A submission queue entry as it came.
#[derive(Debug, Clone)]
pub(crate) struct Entry([u8; Entry::SIZE]);

/// Where a command's data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataPointer {
    /// In the capsule, from this offset of its data, this long.
    InCapsule { offset: u64, length: u32 },
    /// Carried by data PDUs of the transport, this long.
    Transport { length: u32 },
    /// Anything else: the descriptor's type byte.
    Unknown(u8),
}

impl Entry {
    pub(crate) const SIZE: usize = 64;

    pub(crate) fn new(bytes: [u8; Self::SIZE]) -> Self {
        Self(bytes)
    }

    pub(crate) fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// The command identifier: the host's own, given back as it came.
    pub(crate) fn cid(&self) -> u16 {
        le16(&self.0, 2)
    }

    pub(crate) fn nsid(&self) -> Nsid {
        Nsid(le32(&self.0, 4))
    }

    /// The type of a fabrics command.
    pub(crate) fn fabrics_type(&self) -> u8 {
        self.0[4]
    }

    /// Command dword 10 to 15.
    pub(crate) fn dword(&self, number: usize) -> u32 {
        le32(&self.0, 4 * number)
    }

    /// One byte by its offset in the entry.
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.0[at]
    }

    /// Two bytes by their offset in the entry.
    pub(crate) fn half(&self, at: usize) -> u16 {
        le16(&self.0, at)
    }

    /// Eight bytes by their offset in the entry.
    pub(crate) fn quad(&self, at: usize) -> u64 {
        le64(&self.0, at)
    }

    /// The first SGL descriptor, bytes 24 to 39 (base specification, SGL Descriptor Format).
    pub(crate) fn data_pointer(&self) -> DataPointer {
        let length = le32(&self.0, 32);
        match self.0[39] {
            0x01 => DataPointer::InCapsule {
                offset: le64(&self.0, 24),
                length,
            },
            0x5a => DataPointer::Transport { length },
            // A command without data may leave the descriptor zero.
            0x00 if length == 0 => DataPointer::Transport { length },
            other => DataPointer::Unknown(other),
        }
    }

    /// Whether data goes from the host to the controller: the lowest two bits of the opcode, or of the type of a
    /// fabrics command (opcode 7f).
    pub(crate) fn is_host_to_controller(&self) -> bool {
        let direction = if self.opcode() == 0x7f {
            self.fabrics_type()
        } else {
            self.opcode()
        };
        direction & 0x3 == 0x1
    }
}

/// A completion queue entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Completion {
    pub(crate) result: u64,
    /// How far the submission queue was read; `ffff` where the host switched flow control off.
    pub(crate) head: u16,
    pub(crate) queue: QueueId,
    pub(crate) cid: u16,
    pub(crate) status: Status,
}

impl Completion {
    pub(crate) fn bytes(&self) -> [u8; 16] {
        let mut entry = [0; 16];
        put(&mut entry, 0, &self.result.to_le_bytes());
        put(&mut entry, 8, &self.head.to_le_bytes());
        put(&mut entry, 10, &self.queue.0.to_le_bytes());
        put(&mut entry, 12, &self.cid.to_le_bytes());
        // Bit 0 is the phase tag, which fabrics do not use.
        put(&mut entry, 14, &(self.status.0 << 1).to_le_bytes());
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(set: &[(usize, u8)]) -> Entry {
        let mut bytes = [0; Entry::SIZE];
        for (at, byte) in set {
            bytes[*at] = *byte;
        }
        Entry::new(bytes)
    }

    #[test]
    fn the_data_pointer_says_where_the_data_is() {
        let inside = entry(&[(24, 8), (33, 0x10), (39, 0x01)]);
        assert_eq!(
            inside.data_pointer(),
            DataPointer::InCapsule {
                offset: 8,
                length: 4096
            }
        );
        let transport = entry(&[(33, 0x20), (39, 0x5a)]);
        assert_eq!(
            transport.data_pointer(),
            DataPointer::Transport { length: 8192 }
        );
        assert_eq!(
            entry(&[]).data_pointer(),
            DataPointer::Transport { length: 0 }
        );
        assert_eq!(
            entry(&[(39, 0x40)]).data_pointer(),
            DataPointer::Unknown(0x40)
        );
    }

    #[test]
    fn the_direction_of_a_fabrics_command_is_in_its_type() {
        assert!(
            entry(&[(0, 0x7f), (4, 0x01)]).is_host_to_controller(),
            "connect"
        );
        assert!(
            !entry(&[(0, 0x7f), (4, 0x04)]).is_host_to_controller(),
            "property get"
        );
        assert!(entry(&[(0, 0x01)]).is_host_to_controller(), "write");
        assert!(!entry(&[(0, 0x02)]).is_host_to_controller(), "read");
    }

    #[test]
    fn a_completion_has_its_status_above_the_phase_bit() {
        let completion = Completion {
            result: 0x0000_0000_000c_0302,
            head: 7,
            queue: QueueId(2),
            cid: 0x1234,
            status: Status::CONNECT_INVALID_PARAMETERS.do_not_retry(),
        };
        let expected = [
            2, 3, 0x0c, 0, 0, 0, 0, 0, 7, 0, 2, 0, 0x34, 0x12, 0x04, 0x83,
        ];
        assert_eq!(completion.bytes(), expected);
    }
}
