//! Submission queue entries as a host writes them.

/// An entry, without its command identifier and data pointer: those are the queue's to fill in.
#[derive(Debug, Clone, Copy)]
pub struct Submission(pub(super) [u8; 64]);

impl Submission {
    /// A command by its opcode.
    pub fn new(opcode: u8) -> Self {
        let mut bytes = [0; 64];
        bytes[0] = opcode;
        Self(bytes)
    }

    /// A fabrics command by its type.
    pub fn fabrics(kind: u8) -> Self {
        Self::new(0x7f).set(4, &[kind])
    }

    /// The same with bytes at an offset.
    ///
    /// # Panics
    /// If they go beyond the entry's 64.
    pub fn set(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// The same for a namespace.
    pub fn namespace(self, nsid: u32) -> Self {
        self.set(4, &nsid.to_le_bytes())
    }

    /// The same with one of the command dwords 10 to 15.
    pub fn dword(self, number: usize, value: u32) -> Self {
        self.set(4 * number, &value.to_le_bytes())
    }

    /// Connect for a queue of 32 entries.
    pub fn connect(queue: u16) -> Self {
        Self::fabrics(0x01)
            .set(42, &queue.to_le_bytes())
            .set(44, &31_u16.to_le_bytes())
    }

    /// Property get of 4 or 8 bytes.
    pub fn property_get(offset: u32, eight_bytes: bool) -> Self {
        Self::fabrics(0x04)
            .dword(10, eight_bytes.into())
            .dword(11, offset)
    }

    /// Property set of 4 bytes.
    pub fn property_set(offset: u32, value: u32) -> Self {
        Self::fabrics(0x00).dword(11, offset).dword(12, value)
    }

    /// Identify.
    pub fn identify(cns: u8, nsid: u32) -> Self {
        Self::new(0x06).namespace(nsid).dword(10, cns.into())
    }

    /// Get log page: so many bytes, a multiple of four, from an offset.
    pub fn log(log: u8, bytes: u32, offset: u64) -> Self {
        let dwords = bytes / 4 - 1;
        Self::new(0x02)
            .namespace(u32::MAX)
            .dword(10, u32::from(log) | dwords << 16)
            .dword(11, dwords >> 16)
            .set(48, &offset.to_le_bytes())
    }

    /// Set features.
    pub fn set_feature(feature: u8, value: u32) -> Self {
        Self::new(0x09).dword(10, feature.into()).dword(11, value)
    }

    /// Get features.
    pub fn get_feature(feature: u8) -> Self {
        Self::new(0x0a).dword(10, feature.into())
    }

    /// Asynchronous event request.
    pub fn event_request() -> Self {
        Self::new(0x0c)
    }

    /// Keep alive.
    pub fn keep_alive() -> Self {
        Self::new(0x18)
    }

    /// Read so many blocks.
    pub fn read(nsid: u32, first: u64, blocks: u32) -> Self {
        Self::new(0x02).blocks(nsid, first, blocks)
    }

    /// Write so many blocks.
    pub fn write(nsid: u32, first: u64, blocks: u32) -> Self {
        Self::new(0x01).blocks(nsid, first, blocks)
    }

    /// Flush.
    pub fn flush(nsid: u32) -> Self {
        Self::new(0x00).namespace(nsid)
    }

    /// Write zeroes to so many blocks.
    pub fn write_zeroes(nsid: u32, first: u64, blocks: u32) -> Self {
        Self::new(0x08).blocks(nsid, first, blocks)
    }

    fn blocks(self, nsid: u32, first: u64, blocks: u32) -> Self {
        self.namespace(nsid)
            .set(40, &first.to_le_bytes())
            .dword(12, blocks - 1)
    }
}
