//! What Identify says of namespaces: one of them (CNS 00h, 08h), its identities (03h), and which there are (02h).

use super::IDENTIFY;
use crate::target::ana::AnaState;
use crate::target::ids::Nsid;
use crate::target::subsystem::Namespace;
use crate::target::wire::bytes::put;

/// NMIC: the namespace may be attached to more than one controller.
const SHARED: u8 = 1;

/// Identify Namespace. Where its group does not serve, nothing is said of the capacity in use
/// (base specification, Asymmetric Namespace Access reporting).
pub(crate) fn page(namespace: &Namespace, state: AnaState) -> Vec<u8> {
    let mut page = vec![0; IDENTIFY];
    let blocks = namespace.blocks.to_le_bytes();
    put(&mut page, 0, &blocks);
    put(&mut page, 8, &blocks);
    if state.refusal().is_none() {
        put(&mut page, 16, &blocks);
    }
    page[30] = SHARED;
    put(&mut page, 92, &namespace.group.0.to_le_bytes());
    // NGUID (104) and EUI64 (120) stay zero: the UUID in the descriptors is the identity.
    // LBAF0: no metadata, blocks of 2^LBADS bytes. NLBAF (25) and FLBAS (26) are 0: this is the only format, and in use.
    page[130] = block_shift(namespace);
    page
}

/// Identify Namespace, independent of the command set.
pub(crate) fn independent_page(namespace: &Namespace) -> Vec<u8> {
    let mut page = vec![0; IDENTIFY];
    page[1] = SHARED;
    put(&mut page, 4, &namespace.group.0.to_le_bytes());
    // NSTAT: ready.
    page[14] = 1;
    page
}

/// The namespace's identities: the UUID (type 3) and the command set (type 4: NVM, 0).
pub(crate) fn descriptors(namespace: &Namespace) -> Vec<u8> {
    let mut page = vec![0; IDENTIFY];
    put(&mut page, 0, &[3, 16, 0, 0]);
    put(&mut page, 4, &namespace.uuid.0);
    put(&mut page, 20, &[4, 1, 0, 0, 0]);
    page
}

/// The numbers above `after`, in order, as many as fit.
pub(crate) fn list(nsids: impl Iterator<Item = Nsid>, after: Nsid) -> Vec<u8> {
    let mut page = vec![0; IDENTIFY];
    for (place, nsid) in page
        .chunks_exact_mut(4)
        .zip(nsids.filter(|nsid| *nsid > after))
    {
        place.copy_from_slice(&nsid.0.to_le_bytes());
    }
    page
}

fn block_shift(namespace: &Namespace) -> u8 {
    u8::try_from(namespace.block.trailing_zeros()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::plan::{NamespacePlan, SubsystemPlan};
    use crate::target::subsystem::Subsystem;
    use std::sync::Arc;

    fn namespace() -> Arc<Namespace> {
        let mut plan = NamespacePlan::new(2).in_group(5).sized(0x30_0000);
        plan.uuid = Some("00112233-4455-6677-8899-aabbccddeeff".parse().unwrap());
        let subsystem = Subsystem::new(&SubsystemPlan::new("nqn.a").namespace(plan)).unwrap();
        subsystem.namespace(Nsid(2)).unwrap()
    }

    #[test]
    fn identify_namespace_has_its_fields_at_their_offsets() {
        let served = page(&namespace(), AnaState::NonOptimized);
        for (name, at, expected) in [
            ("NSZE", 0, &[0, 0x18, 0, 0, 0, 0, 0, 0][..]),
            ("NCAP", 8, &[0, 0x18, 0, 0, 0, 0, 0, 0]),
            ("NUSE", 16, &[0, 0x18, 0, 0, 0, 0, 0, 0]),
            ("NSFEAT, NLBAF, FLBAS", 24, &[0, 0, 0]),
            ("NMIC", 30, &[1]),
            ("ANAGRPID", 92, &[5, 0, 0, 0]),
            ("NGUID, EUI64", 104, &[0; 24]),
            ("LBAF0", 128, &[0, 0, 9, 0]),
        ] {
            assert_eq!(served[at..at + expected.len()], *expected, "{name}");
        }
        let parked = page(&namespace(), AnaState::Inaccessible);
        assert_eq!(
            parked[16..24],
            [0; 8],
            "NUSE of a namespace that is not served"
        );
        assert_eq!(parked[..16], served[..16]);
        let independent = independent_page(&namespace());
        assert_eq!(
            independent[..15],
            [0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        );
    }

    #[test]
    fn the_descriptors_are_the_uuid_then_the_command_set_then_an_end() {
        let page = descriptors(&namespace());
        assert_eq!(page[..4], [3, 16, 0, 0]);
        assert_eq!(
            page[4..20],
            [
                0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
                0xee, 0xff
            ]
        );
        assert_eq!(page[20..30], [4, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_list_begins_after_the_number_asked_for_and_ends_with_the_page() {
        let page = list([1, 2, 7].map(Nsid).into_iter(), Nsid(1));
        assert_eq!(page[..12], [2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        let page = list((1..=2000).map(Nsid), Nsid(0));
        assert_eq!(page[4092..], 1024_u32.to_le_bytes());
    }
}
