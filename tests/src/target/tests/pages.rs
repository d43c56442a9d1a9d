use super::*;
use crate::target::initiator::GroupSeen;

#[test]
fn identify_answers_what_the_kernels_ask() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 1);
    assert_eq!(association.namespaces().unwrap(), [1, 2]);
    let controller = association.identify(0x01, 0).unwrap();
    assert_eq!(controller[78..80], association.cntlid.to_le_bytes());
    assert_eq!(controller[768..768 + NQN.len()], *NQN.as_bytes());
    let namespace = association.identify(0x00, 2).unwrap();
    assert_eq!(namespace[..8], 2048_u64.to_le_bytes());
    assert_eq!(namespace[92..96], [2, 0, 0, 0]);
    assert_eq!(
        association.identify(0x00, 9).unwrap(),
        [0; 4096],
        "not attached"
    );
    assert_eq!(association.identify(0x03, 1).unwrap()[..2], [3, 16]);
    assert_eq!(association.identify(0x06, 0).unwrap(), [0; 4096]);
    for (cns, nsid, status) in [
        (0x03, 9, 0x400b),
        (0x00, u32::MAX, 0x400b),
        (0x44, 0, 0x4002),
    ] {
        let done = association
            .admin
            .run(Submission::identify(cns, nsid), Outgoing::Room(4096))
            .unwrap();
        assert_eq!(done.status, status, "CNS {cns:#x}, namespace {nsid}");
    }
}

#[test]
fn both_controllers_show_one_namespace_under_one_identity() {
    let target = healthy();
    let (mut first, _queue) = live(&target, 0);
    let (mut second, _queue) = live(&target, 1);
    let identity = first.identify(0x03, 1).unwrap();
    assert_eq!(identity, second.identify(0x03, 1).unwrap());
    assert_ne!(identity, first.identify(0x03, 2).unwrap());
    let serial = |page: Vec<u8>| page[4..24].to_vec();
    let serials = [&mut first, &mut second].map(|host| serial(host.identify(1, 0).unwrap()));
    assert_eq!(serials[0], serials[1]);
}

#[test]
fn the_ana_log_is_of_the_port() {
    let target = two_ports(
        ExportPlan::new(NQN)
            .only(&[2])
            .ana(2, super::super::AnaState::Inaccessible),
    );
    let seen = |group, state, nsids: &[u32]| GroupSeen {
        group,
        state,
        nsids: nsids.to_vec(),
    };
    let (mut first, _queue) = live(&target, 0);
    assert_eq!(first.ana().unwrap(), [seen(1, 1, &[1]), seen(2, 1, &[2])]);
    let (mut second, _queue) = live(&target, 1);
    assert_eq!(second.ana().unwrap(), [seen(2, 3, &[2])]);
}

#[test]
fn a_log_is_read_in_parts_and_padded_with_zeros() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    let whole = association.log(0x0c, 256, 0).unwrap();
    let mut parts = association.log(0x0c, 48, 0).unwrap();
    parts.extend(association.log(0x0c, 40, 48).unwrap());
    // Header, and two groups of one namespace each.
    assert_eq!(parts, whole[..88]);
    assert_eq!(whole[88..], [0; 168]);
    let groups_only = Submission::log(0x0c, 80, 0).set(41, &[1]);
    let done = association.good(groups_only, Outgoing::Room(80)).unwrap();
    assert_eq!(
        (done.data[20], done.data[48]),
        (0, 2),
        "no namespaces, so group 2 comes earlier"
    );
    for (log, offset, status) in [(0x0c, 4096, 0x4002), (0x0c, 2, 0x4002), (0x7f, 0, 0x4109)] {
        let done = association
            .admin
            .run(Submission::log(log, 16, offset), Outgoing::Room(16))
            .unwrap();
        assert_eq!(done.status, status, "log {log:#x} from {offset}");
    }
}

#[test]
fn features_are_set_and_read_back() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    let mut get = |feature| {
        association
            .good(Submission::get_feature(feature), Outgoing::Room(16))
            .unwrap()
    };
    assert_eq!(get(0x0b).result, 0x900, "events");
    assert_eq!(get(0x81).data, [0x11; 16], "host identifier");
    let many = Submission::set_feature(0x07, 0x00ff_0003);
    let done = association.good(many, Outgoing::Room(0)).unwrap();
    assert_eq!(
        done.result, 0x000f_0003,
        "queues: 16 granted of 256, 4 of 4"
    );
    association
        .good(Submission::set_feature(0x0f, 7000), Outgoing::Room(0))
        .unwrap();
    let done = association
        .good(Submission::get_feature(0x0f), Outgoing::Room(0))
        .unwrap();
    assert_eq!(done.result, 7000, "keep-alive timeout");
    let done = association
        .admin
        .run(Submission::get_feature(0x77), Outgoing::Room(0))
        .unwrap();
    assert_eq!(done.status, 0x4002);
}
