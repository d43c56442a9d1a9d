//! The controller's properties: capabilities, version, configuration and status (base specification, 3.1.3).

use crate::target::limits::QUEUE_ENTRIES;
use crate::target::pages::VERSION;
use crate::target::status::Status;

const CAP: u32 = 0x00;
const VS: u32 = 0x08;
const CC: u32 = 0x14;
const CSTS: u32 = 0x1c;

/// Enabled; ready.
const EN: u32 = 1;
const RDY: u32 = 1;
/// Shutdown notification, bits 15:14.
const SHN: u32 = 0b11 << 14;
/// Shutdown complete, bits 3:2.
const SHUTDOWN_COMPLETE: u32 = 0b10 << 2;

/// Configuration as the host wrote it. Every change takes effect at once.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    configuration: u32,
}

impl Registers {
    /// Reads a property of 4 or 8 bytes.
    pub(crate) fn get(&self, offset: u32, eight_bytes: bool) -> Result<u64, Status> {
        match (offset, eight_bytes) {
            (CAP, true) => Ok(capabilities()),
            (VS, false) => Ok(VERSION.into()),
            (CC, false) => Ok(self.configuration.into()),
            (CSTS, false) => Ok(self.status().into()),
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        }
    }

    /// Writes a property; the configuration is the only one that can be.
    pub(crate) fn set(&mut self, offset: u32, eight_bytes: bool, value: u64) -> Result<(), Status> {
        match (offset, eight_bytes, u32::try_from(value)) {
            (CC, false, Ok(value)) => self.configuration = value,
            _ => return Err(Status::INVALID_FIELD.do_not_retry()),
        }
        Ok(())
    }

    /// Whether commands other than those of fabrics are taken.
    pub(crate) fn is_enabled(&self) -> bool {
        self.configuration & EN != 0
    }

    fn status(&self) -> u32 {
        let ready = if self.is_enabled() { RDY } else { 0 };
        let shutdown = if self.configuration & SHN != 0 {
            SHUTDOWN_COMPLETE
        } else {
            0
        };
        ready | shutdown
    }
}

/// CAP: queue entries 0's based (15:0), contiguous queues (16), 15 s to get ready (31:24, 500 ms each), NVM command
/// set (37). Pages of 4 KiB only (MPSMIN, MPSMAX 0).
fn capabilities() -> u64 {
    u64::from(QUEUE_ENTRIES - 1) | 1 << 16 | 30 << 24 | 1 << 37
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ready_when_enabled_and_shut_down_when_told() {
        let mut registers = Registers::default();
        assert_eq!(registers.get(CSTS, false), Ok(0));
        registers.set(CC, false, 0x0046_0001).unwrap();
        assert_eq!(registers.get(CSTS, false), Ok(1));
        registers.set(CC, false, 0x0046_4001).unwrap();
        assert_eq!(registers.get(CSTS, false), Ok(0b1001));
        registers.set(CC, false, 0x0046_0000).unwrap();
        assert_eq!(registers.get(CSTS, false), Ok(0));
    }

    #[test]
    fn properties_have_one_size_and_most_cannot_be_written() {
        let mut registers = Registers::default();
        assert_eq!(registers.get(CAP, true), Ok(0x0000_0020_1e01_007f));
        assert_eq!(registers.get(VS, false), Ok(0x0001_0400));
        let refused = Status::INVALID_FIELD.do_not_retry();
        assert_eq!(registers.get(CAP, false), Err(refused));
        assert_eq!(registers.get(0x20, false), Err(refused));
        assert_eq!(registers.set(CSTS, false, 1), Err(refused));
        assert_eq!(registers.set(CC, true, 1), Err(refused));
    }
}
