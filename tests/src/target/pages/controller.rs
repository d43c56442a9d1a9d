//! Identify Controller (CNS 01h).

use super::{FIRMWARE, IDENTIFY, VERSION};
use crate::target::ids::Cntlid;
use crate::target::limits;
use crate::target::wire::Entry;
use crate::target::wire::bytes::{put, put_text};

/// Asynchronous events that can be switched on (OAES; the same bits in feature 0bh): namespace attributes and ANA.
pub(crate) const EVENTS: u32 = EVENT_NAMESPACE | EVENT_ANA;
/// Namespace Attribute Notices.
pub(crate) const EVENT_NAMESPACE: u32 = 1 << 8;
/// Asymmetric Namespace Access Change Notices.
pub(crate) const EVENT_ANA: u32 = 1 << 11;

/// The whole page.
pub(crate) fn page(nqn: &str, serial: &str, cntlid: Cntlid) -> Vec<u8> {
    let mut page = vec![0; IDENTIFY];
    let mut byte = |at: usize, value: u8| page[at] = value;
    // CMIC: more than one port (0), more than one controller (1), ANA reporting (3).
    byte(76, 0b1011);
    byte(77, limits::MDTS);
    // CNTRLTYPE: an I/O controller.
    byte(111, 1);
    // NVMSR: an NVM storage device.
    byte(253, 1);
    // ACL: four aborts at a time, 0's based. AERL likewise.
    byte(258, 3);
    byte(259, parked_events());
    // FRMW: one slot (3:1), which is read only (0).
    byte(260, 0b0011);
    // LPA: the commands' effects log (1), lengths and offsets of 32 bits (2).
    byte(261, 0b0110);
    byte(342, limits::ANA_TRANSITION_SECONDS);
    // ANACAP: all five states (4:0); a namespace's group does not change while it is attached (6).
    byte(343, 0b0101_1111);
    // SQES and CQES: 64 and 16 bytes, required and most.
    byte(512, 0x66);
    byte(513, 0x44);
    // VWC: there is a write cache (0), to be flushed by namespace only (2:1 = 10b).
    byte(525, 0b101);
    // MSDBD: one data descriptor a command.
    byte(1803, 1);

    put_text(&mut page, 4, 20, serial, b' ');
    put_text(&mut page, 24, 40, "Pathwarden scripted target", b' ');
    put_text(&mut page, 64, 8, FIRMWARE, b' ');
    put(&mut page, 78, &cntlid.0.to_le_bytes());
    put(&mut page, 80, &VERSION.to_le_bytes());
    put(&mut page, 92, &EVENTS.to_le_bytes());
    // CTRATT: 128-bit host identifier.
    put(&mut page, 96, &1_u32.to_le_bytes());
    put(
        &mut page,
        320,
        &limits::KEEP_ALIVE_GRANULARITY.to_le_bytes(),
    );
    put(&mut page, 344, &limits::ANA_GROUPS.to_le_bytes());
    put(&mut page, 348, &limits::ANA_GROUPS.to_le_bytes());
    put(&mut page, 514, &limits::QUEUE_ENTRIES.to_le_bytes());
    put(&mut page, 516, &limits::NAMESPACES.to_le_bytes());
    // ONCS: write zeroes.
    put(&mut page, 520, &(1_u16 << 3).to_le_bytes());
    // SGLS: supported (1:0), offsets in the capsule (20), the transport's own descriptor (21).
    put(&mut page, 536, &(1_u32 | 1 << 20 | 1 << 21).to_le_bytes());
    put(&mut page, 540, &limits::NAMESPACES.to_le_bytes());
    put_text(&mut page, 768, 256, nqn, 0);
    // IOCCSZ and IORCSZ count 16 bytes. ICDOFF (1800) is 0: data follows the entry. FCATT (1802) is 0: dynamic model.
    put(&mut page, 1792, &(command_capsule() / 16).to_le_bytes());
    put(&mut page, 1796, &1_u32.to_le_bytes());
    // Power state 0: 25 W.
    put(&mut page, 2048, &2500_u16.to_le_bytes());
    page
}

fn command_capsule() -> u32 {
    u32::try_from(Entry::SIZE).unwrap_or_default() + limits::IN_CAPSULE
}

fn parked_events() -> u8 {
    u8::try_from(limits::PARKED_EVENTS - 1).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's fields that a Linux host decides by, at its offsets.
    #[test]
    fn every_field_is_where_the_specification_has_it() {
        let page = page("nqn.a:1", "SER1", Cntlid(0x0203));
        assert_eq!(page.len(), 4096);
        for (name, at, expected) in [
            ("SN", 4, &b"SER1                "[..]),
            ("MN", 24, b"Pathwarden scripted target              "),
            ("FR", 64, b"scripted"),
            ("CMIC", 76, &[0x0b]),
            ("MDTS", 77, &[8]),
            ("CNTLID", 78, &[3, 2]),
            ("VER", 80, &[0, 4, 1, 0]),
            ("OAES", 92, &[0, 0x09, 0, 0]),
            ("CTRATT", 96, &[1, 0, 0, 0]),
            ("CNTRLTYPE", 111, &[1]),
            ("NVMSR", 253, &[1]),
            ("OACS", 256, &[0, 0]),
            ("AERL", 259, &[3]),
            ("LPA", 261, &[6]),
            ("KAS", 320, &[10, 0]),
            ("ANATT", 342, &[10]),
            ("ANACAP", 343, &[0x5f]),
            ("ANAGRPMAX", 344, &[32, 0, 0, 0]),
            ("NANAGRPID", 348, &[32, 0, 0, 0]),
            ("SQES, CQES", 512, &[0x66, 0x44]),
            ("MAXCMD", 514, &[128, 0]),
            ("NN", 516, &[0, 4, 0, 0]),
            ("ONCS", 520, &[8, 0]),
            ("VWC", 525, &[5]),
            ("SGLS", 536, &[1, 0, 0x30, 0]),
            ("MNAN", 540, &[0, 4, 0, 0]),
            ("SUBNQN", 768, b"nqn.a:1\0"),
            // (64 + 8192) / 16 = 516.
            ("IOCCSZ", 1792, &[4, 2, 0, 0]),
            ("IORCSZ", 1796, &[1, 0, 0, 0]),
            ("ICDOFF", 1800, &[0, 0]),
            ("FCATT, MSDBD", 1802, &[0, 1]),
            ("PSD0.MP", 2048, &[0xc4, 0x09]),
        ] {
            assert_eq!(page[at..at + expected.len()], *expected, "{name}");
        }
    }

    #[test]
    fn long_names_are_cut_to_their_fields() {
        let page = page(&"n".repeat(300), &"s".repeat(30), Cntlid(1));
        assert_eq!(page[23..25], *b"sP");
        assert_eq!(page[1023], b'n');
        assert_eq!(page[1024], 0);
    }
}
