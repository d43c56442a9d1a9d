use super::*;
use crate::target::initiator::Failure;

fn dialled(target: &Target) -> Queue {
    Queue::dial(target.port(0).address()).unwrap()
}

#[test]
fn digests_are_not_given_to_who_asks_for_them() {
    let target = healthy();
    let icresp = dialled(&target).handshake(0, 0b11).unwrap();
    assert_eq!(icresp[11], 0);
    let maximum = u32::from_le_bytes([icresp[12], icresp[13], icresp[14], icresp[15]]);
    assert!(maximum >= 4096 && maximum.is_multiple_of(4), "{maximum}");
}

#[test]
fn a_handshake_of_another_version_is_told_so() {
    let target = healthy();
    let mut queue = dialled(&target);
    let mut icreq = [0; 128];
    (icreq[2], icreq[4], icreq[8]) = (128, 128, 1);
    queue.raw(&icreq).unwrap();
    assert_eq!(queue.end(), Failure::Terminated(0x06, 8));
}

#[test]
fn a_broken_header_ends_the_connection_with_a_reason() {
    let target = healthy();
    let mut queue = Queue::open(target.port(0).address()).unwrap();
    queue.raw(&[0x05, 0, 24, 0, 24, 0, 0, 0]).unwrap();
    assert_eq!(queue.end(), Failure::Terminated(0x02, 0));
    assert_eq!(queue.end(), Failure::Closed);
    let counters = target.port(0).transcript().counters();
    assert_eq!(counters.protocol_errors, 1);
}

#[test]
fn a_command_in_single_bytes_is_answered_like_any_other() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    // Keep alive with identifier 0x7777.
    let mut pdu = vec![0x04, 0, 72, 0, 72, 0, 0, 0, 0x18, 0x40, 0x77, 0x77];
    pdu.resize(72, 0);
    for byte in pdu {
        association.admin.raw(&[byte]).unwrap();
    }
    assert_eq!(association.admin.completion(0x7777).unwrap().status, 0);
}

#[test]
fn commands_in_one_segment_are_all_answered() {
    let target = healthy();
    let (_association, mut queue) = live(&target, 0);
    let mut segment = Vec::new();
    for cid in 1..=20_u8 {
        let mut pdu = vec![
            0x04, 0, 72, 0, 72, 0, 0, 0, 0x00, 0x40, cid, 0x50, 1, 0, 0, 0,
        ];
        pdu.resize(72, 0);
        segment.extend(pdu);
    }
    queue.raw(&segment).unwrap();
    let heads: Vec<u16> = (1..=20)
        .map(|cid| queue.completion(0x5000 + cid).unwrap().head)
        .collect();
    // Connect was the first entry of a queue of 32.
    assert_eq!(heads, (2..=21).collect::<Vec<u16>>());
}

#[test]
fn data_is_aligned_as_the_host_asks() {
    let target = healthy();
    let mut queue = dialled(&target);
    queue.handshake(31, 0).unwrap();
    let mut data = vec![0; 1024];
    data[16..18].fill(0xff);
    data[256..256 + NQN.len()].copy_from_slice(NQN.as_bytes());
    data[512..516].copy_from_slice(b"nqn.");
    queue
        .run(Submission::connect(0), Outgoing::InCapsule(&data))
        .unwrap();
    queue
        .run(
            Submission::property_set(0x14, 0x0046_0001),
            Outgoing::Room(0),
        )
        .unwrap();
    let done = queue
        .run(Submission::identify(0x02, 0), Outgoing::Room(4096))
        .unwrap();
    assert_eq!(done.data[..12], [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn data_pointers_that_fit_nothing_are_refused_command_by_command() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    let small = association
        .admin
        .run(Submission::identify(1, 0), Outgoing::Room(512))
        .unwrap();
    assert_eq!((small.status, small.data.len()), (0x400f, 0), "no room");
    let short = queue
        .run(Submission::write(1, 0, 2), Outgoing::InCapsule(&[0; 512]))
        .unwrap();
    assert_eq!(short.status, 0x400f, "two blocks announced, one sent");
    let huge = queue
        .run(Submission::write(1, 0, 1), Outgoing::Room(2 << 20))
        .unwrap();
    assert_eq!(huge.status, 0x4002, "beyond the transfer limit");
    assert_eq!(read_block(&mut queue).status, 0, "the queue lives on");
}

#[test]
fn a_host_that_terminates_is_written_down() {
    let target = healthy();
    let mut queue = Queue::open(target.port(0).address()).unwrap();
    let mut term = vec![0x02, 0, 24, 0, 24, 0, 0, 0, 0x05, 0];
    term.resize(24, 0);
    queue.raw(&term).unwrap();
    assert_eq!(queue.end(), Failure::Closed);
    assert_eq!(target.port(0).transcript().counters().protocol_errors, 1);
}

/// Streams that a seeded generator makes up: some begin as they should, none goes on so.
#[test]
fn nonsense_hurts_nobody_but_the_connection_it_comes_on() {
    let target = healthy();
    let (_association, mut queue) = live(&target, 0);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..300 {
        let length = usize::try_from(random() % 400).unwrap();
        let mut bytes: Vec<u8> = (0..length).map(|_| random().to_le_bytes()[0]).collect();
        let mut nonsense = dialled(&target);
        if round % 2 == 0 {
            nonsense.handshake(0, 0).unwrap();
            if let Some(header) = bytes.get_mut(..8) {
                // A command or data PDU whose header is right as far as it can be checked.
                let (kind, hlen) = if round % 4 == 0 { (4, 72) } else { (6, 24) };
                header.copy_from_slice(&[kind, 0, hlen, hlen, 200, 0, 0, 0]);
            }
        }
        // The target may have hung up before all of it was sent.
        nonsense.raw(&bytes).ok();
    }
    assert_eq!(read_block(&mut queue).status, 0);
}
