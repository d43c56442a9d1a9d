//! The logs besides ANA: errors (01h), health (02h), firmware (03h), changed namespaces (04h), effects (05h) and which
//! there are (00h).

use std::collections::BTreeSet;

use super::FIRMWARE;
use crate::target::ids::Nsid;
use crate::target::wire::bytes::{put, put_text};

/// Log page identifiers.
pub(crate) mod id {
    pub(crate) const SUPPORTED: u8 = 0x00;
    pub(crate) const ERRORS: u8 = 0x01;
    pub(crate) const HEALTH: u8 = 0x02;
    pub(crate) const FIRMWARE: u8 = 0x03;
    pub(crate) const CHANGED_NAMESPACES: u8 = 0x04;
    pub(crate) const EFFECTS: u8 = 0x05;
    pub(crate) const ANA: u8 = 0x0c;
}

/// Most namespaces that the changed namespace list holds; more are told as "look at all".
const CHANGED: usize = 1024;

/// Which logs there are.
pub(crate) fn supported() -> Vec<u8> {
    let mut page = vec![0; 1024];
    for log in [
        id::SUPPORTED,
        id::ERRORS,
        id::HEALTH,
        id::FIRMWARE,
        id::CHANGED_NAMESPACES,
        id::EFFECTS,
        id::ANA,
    ] {
        page[4 * usize::from(log)] = 1;
    }
    page
}

/// One entry, never used: errors are in the target's own transcript.
pub(crate) fn errors() -> Vec<u8> {
    vec![0; 64]
}

/// In good health at 300 K.
pub(crate) fn health() -> Vec<u8> {
    let mut page = vec![0; 512];
    put(&mut page, 1, &300_u16.to_le_bytes());
    // Spare capacity and the threshold below which it would be a warning, per cent.
    page[3] = 100;
    page[4] = 10;
    page
}

/// The one slot, active.
pub(crate) fn firmware() -> Vec<u8> {
    let mut page = vec![0; 512];
    page[0] = 1;
    put_text(&mut page, 8, 8, FIRMWARE, b' ');
    page
}

/// The namespaces that changed since the list was last read.
pub(crate) fn changed_namespaces(changed: &BTreeSet<Nsid>) -> Vec<u8> {
    let mut page = vec![0; 4 * CHANGED];
    if changed.len() > CHANGED {
        put(&mut page, 0, &u32::MAX.to_le_bytes());
    } else {
        for (place, nsid) in page.chunks_exact_mut(4).zip(changed) {
            place.copy_from_slice(&nsid.0.to_le_bytes());
        }
    }
    page
}

/// Which commands there are, and that writes change blocks (bit 1).
pub(crate) fn effects() -> Vec<u8> {
    const ADMIN: usize = 0;
    const IO: usize = 1024;
    let mut page = vec![0; 4096];
    for opcode in [0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18] {
        page[ADMIN + 4 * opcode] = 0b01;
    }
    for (opcode, effects) in [(0x00, 0b01), (0x01, 0b11), (0x02, 0b01), (0x08, 0b11)] {
        page[IO + 4 * opcode] = effects;
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logs_have_their_sizes() {
        let sizes = [supported(), errors(), health(), firmware(), effects()].map(|page| page.len());
        assert_eq!(sizes, [1024, 64, 512, 512, 4096]);
        assert_eq!(changed_namespaces(&BTreeSet::new()).len(), 4096);
    }

    #[test]
    fn too_many_changed_namespaces_are_told_as_all() {
        let some = changed_namespaces(&BTreeSet::from([Nsid(3), Nsid(2)]));
        assert_eq!(some[..12], [2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        let all = changed_namespaces(&(1..=1025).map(Nsid).collect());
        assert_eq!(all[..8], [255, 255, 255, 255, 0, 0, 0, 0]);
    }

    #[test]
    fn effects_name_the_commands_that_are_served() {
        let page = effects();
        assert_eq!(
            (page[4 * 0x06], page[4 * 0x10]),
            (1, 0),
            "identify, firmware commit"
        );
        assert_eq!(
            (page[1024 + 4], page[1024 + 4 * 9]),
            (3, 0),
            "write, dataset management"
        );
    }
}
