use super::*;
use crate::target::Verb;

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0_u8..=250).cycle().skip(seed.into()).take(bytes).collect()
}

#[test]
fn what_is_written_through_one_controller_is_read_through_the_other() {
    let target = healthy();
    let (_first, mut writer) = live(&target, 0);
    let (_second, mut reader) = live(&target, 1);
    // In the capsule, and by R2T in several data PDUs.
    for (first, bytes, by_r2t) in [(0, 4096, false), (64, 128 << 10, true), (1000, 512, true)] {
        let data = pattern(bytes, 7);
        let blocks = u32::try_from(bytes / 512).unwrap();
        let way = if by_r2t {
            Outgoing::OnRequest(&data)
        } else {
            Outgoing::InCapsule(&data)
        };
        let done = writer
            .run(Submission::write(1, first, blocks), way)
            .unwrap();
        assert_eq!(done.status, 0);
        let room = Outgoing::Room(u32::try_from(bytes).unwrap());
        let done = reader
            .run(Submission::read(1, first, blocks), room)
            .unwrap();
        assert!(done.status == 0 && done.data == data, "{bytes} bytes");
    }
    assert_eq!(writer.r2ts, 2);
    let counters = target.port(0).transcript().counters();
    assert_eq!(
        (counters.commands(Verb::WRITE), counters.bytes_written),
        (3, 135_680)
    );
    assert_eq!(target.port(1).transcript().counters().bytes_read, 135_680);
}

#[test]
fn a_write_that_waits_for_data_holds_up_nothing() {
    let target = healthy();
    let (_association, mut queue) = live(&target, 0);
    let data = pattern(16 << 10, 1);
    let write = queue
        .submit(Submission::write(1, 0, 32), Outgoing::OnRequest(&data))
        .unwrap();
    let flush = queue
        .submit(Submission::flush(1), Outgoing::Room(0))
        .unwrap();
    assert_eq!(queue.completion(flush).unwrap().status, 0);
    assert_eq!(queue.completion(write).unwrap().status, 0);
    let done = queue
        .run(Submission::read(1, 0, 32), Outgoing::Room(16 << 10))
        .unwrap();
    assert_eq!(done.data, data);
}

#[test]
fn zeroes_are_written_without_data() {
    let target = healthy();
    let (_association, mut queue) = live(&target, 0);
    queue
        .run(Submission::write(1, 0, 2), Outgoing::InCapsule(&[9; 1024]))
        .unwrap();
    queue
        .run(Submission::write_zeroes(1, 1, 1), Outgoing::Room(0))
        .unwrap();
    let done = queue
        .run(Submission::read(1, 0, 2), Outgoing::Room(1024))
        .unwrap();
    assert_eq!((done.data[511], done.data[512]), (9, 0));
}

#[test]
fn what_is_out_of_range_or_unknown_is_refused_for_good() {
    let target = healthy();
    let (_association, mut queue) = live(&target, 0);
    let beyond = queue
        .run(Submission::read(1, 2047, 2), Outgoing::Room(1024))
        .unwrap();
    assert_eq!(beyond.status, 0x4080);
    let unknown = queue
        .run(Submission::new(0x09).namespace(1), Outgoing::Room(0))
        .unwrap();
    assert_eq!(unknown.status, 0x4001);
}
