use super::*;
use crate::target::Verb;
use crate::target::ids::QueueId;
use crate::target::initiator::{Failure, HostName};
use crate::target::status::Status;
use crate::target::transcript::Note;

#[test]
fn a_host_gets_to_live_and_two_ports_are_two_controllers() {
    let target = healthy();
    let (first, _queue) = live(&target, 0);
    let (second, _queue) = live(&target, 1);
    assert_eq!((first.cntlid, second.cntlid), (1, 2));
    let counters = target.port(0).transcript().counters();
    assert_eq!(counters.commands(Verb::CONNECT), 2);
    assert_eq!((counters.accepted, counters.statuses.len()), (2, 0));
}

#[test]
fn the_number_of_a_controller_that_went_is_free_again() {
    let target = healthy();
    drop(live(&target, 0));
    // The target notices in its own time.
    eventually("a controller gets number 1 again", || {
        live(&target, 0).0.cntlid == 1
    });
}

/// Status and result of a refused Connect: 0x4182 and the parameter to blame.
#[test]
fn a_connect_for_what_is_not_there_names_the_parameter() {
    let target = healthy();
    let address = target.port(0).address();
    let refused = Association::begin(address, "nqn.none")
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (refused.status, refused.result),
        (0x4182, 0x1_0100),
        "subsystem, in the data"
    );
    let nameless = HostName {
        nqn: "",
        ..HostName::default()
    };
    let refused = Association::begin_as(nameless, address, NQN)
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (refused.status, refused.result),
        (0x4182, 0x1_0200),
        "host, in the data"
    );

    let (association, _queue) = live(&target, 0);
    let refused = association.queue(17).unwrap().unwrap_err();
    assert_eq!(
        (refused.status, refused.result),
        (0x4182, 42),
        "queue number, in the entry"
    );
    let refused = association.queue(1).unwrap().unwrap_err();
    assert_eq!(refused.status, 0x400c, "queue 1 is connected already");
}

#[test]
fn an_io_queue_belongs_to_a_controller_of_its_own_port_and_host() {
    let target = healthy();
    let (first, _queue) = live(&target, 0);
    let mut stranger = Queue::open(target.port(1).address()).unwrap();
    let mut data = vec![0; 1024];
    data[16..18].copy_from_slice(&first.cntlid.to_le_bytes());
    data[256..256 + NQN.len()].copy_from_slice(NQN.as_bytes());
    data[512..516].copy_from_slice(b"nqn.");
    let refused = stranger
        .run(Submission::connect(1), Outgoing::InCapsule(&data))
        .unwrap();
    assert_eq!(
        (refused.status, refused.result),
        (0x4182, 0x1_0010),
        "controller, in the data"
    );
}

#[test]
fn nothing_but_connect_comes_before_connect_and_enable_before_the_rest() {
    let target = healthy();
    let address = target.port(0).address();
    let mut queue = Queue::open(address).unwrap();
    let early = queue
        .run(Submission::identify(1, 0), Outgoing::Room(4096))
        .unwrap();
    assert_eq!((early.status, early.data.len()), (0x400c, 0));
    let mut association = Association::begin(address, NQN).unwrap().unwrap();
    let early = association
        .admin
        .run(Submission::identify(1, 0), Outgoing::Room(4096))
        .unwrap();
    assert_eq!(early.status, 0x400c);
    association.enable().unwrap();
    association.identify(1, 0).unwrap();
}

#[test]
fn a_connects_data_can_be_asked_for_too() {
    let target = healthy();
    let mut queue = Queue::open(target.port(0).address()).unwrap();
    let mut data = vec![0; 1024];
    data[16..18].fill(0xff);
    data[256..256 + NQN.len()].copy_from_slice(NQN.as_bytes());
    data[512..516].copy_from_slice(b"nqn.");
    let done = queue
        .run(Submission::connect(0), Outgoing::OnRequest(&data))
        .unwrap();
    assert_eq!((done.status, done.result, queue.r2ts), (0, 1, 1));
}

#[test]
fn the_admin_queue_takes_its_io_queues_with_it() {
    let target = healthy();
    let (association, mut queue) = live(&target, 0);
    drop(association);
    assert_eq!(queue.end(), Failure::Closed);
}

#[test]
fn the_transcript_has_every_connect_with_time_and_status() {
    let target = healthy();
    let _live = live(&target, 0);
    Association::begin(target.port(0).address(), "nqn.none")
        .unwrap()
        .unwrap_err();
    let seen = target.port(0).transcript().snapshot();
    let refused = Status::CONNECT_INVALID_PARAMETERS.do_not_retry();
    let statuses: Vec<_> = seen
        .connects()
        .into_iter()
        .map(|(_, status)| status)
        .collect();
    assert_eq!(statuses, [Status::SUCCESS, refused]);
    assert!(seen.entries.is_sorted_by_key(|entry| entry.at));
    let io_queue = seen.entries.iter().any(|entry| {
        matches!(&entry.note, Note::Connect { queue: QueueId(1), subsystem, cntlid: Some(_), .. } if subsystem == NQN)
    });
    assert!(io_queue, "{seen:?}");
}
