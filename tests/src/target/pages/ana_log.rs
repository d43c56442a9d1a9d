//! The ANA log (log page 0ch).

use crate::target::ana::AnaState;
use crate::target::ids::{GroupId, Nsid};
use crate::target::wire::bytes::put;

const HEADER: usize = 16;
const DESCRIPTOR: usize = 32;

/// One group as the log tells of it.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) id: GroupId,
    pub(crate) state: AnaState,
    /// How often the state changed here.
    pub(crate) changes: u64,
    /// Its namespaces that are attached, in order.
    pub(crate) nsids: Vec<Nsid>,
}

/// The whole log; `groups_only` leaves the namespaces out (RGO).
pub(crate) fn page(changes: u64, groups: &[Group], groups_only: bool) -> Vec<u8> {
    let mut page = vec![0; HEADER];
    put(&mut page, 0, &changes.to_le_bytes());
    put(
        &mut page,
        8,
        &u16::try_from(groups.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    );
    for group in groups {
        let nsids = if groups_only { &[][..] } else { &group.nsids };
        let mut descriptor = [0; DESCRIPTOR];
        put(&mut descriptor, 0, &group.id.0.to_le_bytes());
        put(
            &mut descriptor,
            4,
            &u32::try_from(nsids.len()).unwrap_or(u32::MAX).to_le_bytes(),
        );
        put(&mut descriptor, 8, &group.changes.to_le_bytes());
        descriptor[16] = group.state.code();
        page.extend_from_slice(&descriptor);
        for nsid in nsids {
            page.extend_from_slice(&nsid.0.to_le_bytes());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> [Group; 2] {
        let group = |id, state, changes, nsids: &[u32]| Group {
            id: GroupId(id),
            state,
            changes,
            nsids: nsids.iter().copied().map(Nsid).collect(),
        };
        [
            group(1, AnaState::Optimized, 0x0102, &[1, 3]),
            group(2, AnaState::Change, 1, &[2]),
        ]
    }

    #[test]
    fn descriptors_follow_each_other_with_their_namespaces() {
        let page = page(0x0304, &groups(), false);
        assert_eq!(page.len(), 16 + 32 + 8 + 32 + 4);
        assert_eq!(page[..16], [4, 3, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(page[16..24], [1, 0, 0, 0, 2, 0, 0, 0], "group and count");
        assert_eq!(page[24..32], [2, 1, 0, 0, 0, 0, 0, 0], "changes");
        assert_eq!(
            page[32..48],
            [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            "state"
        );
        assert_eq!(page[48..56], [1, 0, 0, 0, 3, 0, 0, 0], "namespaces");
        assert_eq!(page[56..64], [2, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(page[72], 0x0f);
        assert_eq!(page[88..], [2, 0, 0, 0]);
    }

    #[test]
    fn groups_only_leaves_the_namespaces_out() {
        let page = page(0, &groups(), true);
        assert_eq!(page.len(), 16 + 32 + 32);
        assert_eq!(page[20..24], [0; 4]);
        assert_eq!(page[48..52], [2, 0, 0, 0]);
    }

    #[test]
    fn every_state_has_the_specifications_value() {
        let codes = [
            AnaState::Optimized,
            AnaState::NonOptimized,
            AnaState::Inaccessible,
            AnaState::PersistentLoss,
            AnaState::Change,
        ]
        .map(AnaState::code);
        assert_eq!(codes, [0x01, 0x02, 0x03, 0x04, 0x0f]);
    }
}
