use super::*;
use crate::target::ana::{AnaState, Announce};
use crate::target::ids::{GroupId, Nsid};
use crate::target::initiator::Failure;

const SOON: Duration = Duration::from_secs(2);
const ANA_CHANGED: u64 = 0x000c_0302;
const NAMESPACES_CHANGED: u64 = 0x0004_0002;

#[test]
fn an_ana_change_is_told_and_the_log_says_what() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    let parked = association.park().unwrap();
    target
        .port(0)
        .ana(NQN, GroupId(1), AnaState::Inaccessible, Announce::Event)
        .unwrap();
    assert_eq!(association.event(parked, SOON).unwrap(), ANA_CHANGED);
    let states: Vec<_> = association
        .ana()
        .unwrap()
        .iter()
        .map(|seen| seen.state)
        .collect();
    assert_eq!(states, [3, 1]);
    assert_eq!(read_block(&mut queue).status, 0x302, "retry elsewhere");
    let other = queue
        .run(Submission::read(2, 0, 1), Outgoing::Room(512))
        .unwrap();
    assert_eq!(other.status, 0, "group 2 is not concerned");
}

#[test]
fn an_ana_change_on_one_port_is_no_news_on_the_other() {
    let target = healthy();
    let (mut other, mut queue) = live(&target, 1);
    let parked = other.park().unwrap();
    target
        .port(0)
        .ana(NQN, GroupId(1), AnaState::PersistentLoss, Announce::Event)
        .unwrap();
    assert_eq!(other.event(parked, SILENCE), Err(Failure::Silence));
    assert_eq!(read_block(&mut queue).status, 0);
}

#[test]
fn a_silent_ana_change_is_found_by_an_io_error_only() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    let parked = association.park().unwrap();
    target
        .port(0)
        .ana(NQN, GroupId(1), AnaState::Change, Announce::Silently)
        .unwrap();
    assert_eq!(read_block(&mut queue).status, 0x303);
    assert_eq!(association.event(parked, SILENCE), Err(Failure::Silence));
}

#[test]
fn an_event_without_a_request_waits_for_the_next() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    for state in [AnaState::Inaccessible, AnaState::NonOptimized] {
        target
            .port(0)
            .ana(NQN, GroupId(2), state, Announce::Event)
            .unwrap();
    }
    let parked = association.park().unwrap();
    assert_eq!(association.event(parked, SOON).unwrap(), ANA_CHANGED);
    let log = association.log(0x0c, 128, 0).unwrap();
    assert_eq!(log[..8], 2_u64.to_le_bytes(), "both changes are counted");
    let parked = association.park().unwrap();
    assert_eq!(
        association.event(parked, SILENCE),
        Err(Failure::Silence),
        "told once"
    );
}

#[test]
fn namespaces_come_and_go_with_an_event_and_a_list() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    let parked = association.park().unwrap();
    target
        .port(0)
        .detach(NQN, Nsid(1), Announce::Event)
        .unwrap();
    assert_eq!(association.event(parked, SOON).unwrap(), NAMESPACES_CHANGED);
    assert_eq!(
        association.log(0x04, 4096, 0).unwrap()[..8],
        [1, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        association.log(0x04, 4096, 0).unwrap()[..4],
        [0; 4],
        "read once"
    );
    assert_eq!(association.namespaces().unwrap(), [2]);
    assert_eq!(
        read_block(&mut queue).status,
        0x300,
        "a path error: other paths may serve"
    );

    target
        .add_namespace(NQN, &NamespacePlan::new(7).sized(4096))
        .unwrap();
    let parked = association.park().unwrap();
    target
        .port(0)
        .attach(NQN, Nsid(7), Announce::Event)
        .unwrap();
    assert_eq!(association.event(parked, SOON).unwrap(), NAMESPACES_CHANGED);
    assert_eq!(association.namespaces().unwrap(), [2, 7]);
}

#[test]
fn a_silent_removal_is_in_the_list_and_nowhere_else() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    let parked = association.park().unwrap();
    target
        .port(0)
        .detach(NQN, Nsid(1), Announce::Silently)
        .unwrap();
    assert_eq!(association.event(parked, SILENCE), Err(Failure::Silence));
    assert_eq!(association.namespaces().unwrap(), [2]);
}

#[test]
fn a_husk_is_a_live_controller_without_namespaces() {
    let target = two_ports(ExportPlan::new(NQN).only(&[]));
    let (mut serving, _queue) = live(&target, 0);
    let (mut husk, _queue) = live(&target, 1);
    assert_eq!(serving.namespaces().unwrap(), [1, 2]);
    assert!(husk.namespaces().unwrap().is_empty());
    assert!(husk.ana().unwrap().is_empty());
    assert_ne!(serving.cntlid, husk.cntlid);
}

#[test]
fn only_so_many_requests_are_parked() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    for _ in 0..4 {
        association.park().unwrap();
    }
    let fifth = association
        .admin
        .run(Submission::event_request(), Outgoing::Room(0))
        .unwrap();
    assert_eq!(fifth.status, 0x4105);
}

#[test]
fn what_a_port_does_not_serve_cannot_be_changed() {
    let target = healthy();
    let port = target.port(0);
    assert!(
        port.ana("nqn.none", GroupId(1), AnaState::Optimized, Announce::Event)
            .is_err()
    );
    assert!(port.attach(NQN, Nsid(9), Announce::Event).is_err());
}
