use super::*;
use crate::target::Counters;
use crate::target::ana::{AnaState, Announce};
use crate::target::ids::{Cntlid, GroupId, Nsid};
use crate::target::initiator::Failure;
use crate::target::script::{Act, Behaviour, On, Rule};
use crate::target::status::Status;

const SOON: Duration = Duration::from_secs(2);

fn begin(target: &Target) -> Result<Association, u16> {
    let begun = Association::begin(target.port(0).address(), NQN).unwrap();
    begun.map_err(|done| done.status)
}

#[test]
fn connect_is_rejected_as_often_as_told_with_or_without_do_not_retry() {
    let target = healthy();
    let port = target.port(0);
    port.behave(Rule::reject(Status::CONNECT_INVALID_PARAMETERS).times(2));
    assert_eq!(begin(&target).unwrap_err(), 0x182);
    assert_eq!(begin(&target).unwrap_err(), 0x182);
    begin(&target).unwrap();
    port.behave(Rule::reject(Status::CONNECT_INVALID_HOST.do_not_retry()));
    assert_eq!(begin(&target).unwrap_err(), 0x4184);
    port.heal();
    begin(&target).unwrap();
    assert_eq!(port.transcript().snapshot().connects().len(), 5);
}

#[test]
fn a_rejected_connect_blames_the_subsystem_as_real_targets_do() {
    let target = healthy();
    target
        .port(0)
        .behave(Rule::reject(Status::CONNECT_INVALID_PARAMETERS));
    let refused = Association::begin(target.port(0).address(), NQN)
        .unwrap()
        .unwrap_err();
    assert_eq!(refused.result, 0x1_0100);
}

#[test]
fn only_io_queues_are_rejected() {
    let target = healthy();
    target
        .port(0)
        .behave(Rule::new(On::IoConnect, Act::Fail(Status::CONNECT_BUSY)));
    let association = Association::live(target.port(0).address(), NQN).unwrap();
    assert_eq!(association.queue(1).unwrap().unwrap_err().status, 0x181);
}

#[test]
fn the_connection_is_dropped_after_the_handshake() {
    let target = healthy();
    target
        .port(0)
        .behave(Rule::drop_after(On::Handshake, Duration::ZERO));
    let mut queue = Queue::open(target.port(0).address()).unwrap();
    assert_eq!(queue.end(), Failure::Closed);
}

#[test]
fn the_connection_is_dropped_instead_of_the_handshake() {
    let target = healthy();
    target.port(0).behave(Rule::new(On::Handshake, Act::Drop));
    assert_eq!(
        Queue::open(target.port(0).address()).unwrap_err(),
        Failure::Closed
    );
}

#[test]
fn the_association_is_dropped_after_connect_once() {
    let target = healthy();
    target
        .port(0)
        .behave(Rule::drop_after(On::AdminConnect, Duration::ZERO).times(1));
    let mut association = begin(&target).unwrap();
    assert_eq!(association.admin.end(), Failure::Closed);
    live(&target, 0);
}

#[test]
fn the_association_is_dropped_a_while_after_it_went_live() {
    let target = healthy();
    let delay = Duration::from_millis(600);
    target.port(0).behave(Rule::drop_after(On::Live, delay));
    let start = Instant::now();
    let (mut association, mut queue) = live(&target, 0);
    assert_eq!(read_block(&mut queue).status, 0, "until then it serves");
    assert_eq!(association.admin.end(), Failure::Closed);
    assert!(start.elapsed() >= delay);
    assert_eq!(queue.end(), Failure::Closed, "all its connections");
}

#[test]
fn a_silent_port_accepts_and_says_nothing() {
    let target = healthy();
    target.port(0).behave(Rule::silent());
    let mut queue = Queue::dial(target.port(0).address()).unwrap();
    queue.patience(SILENCE).unwrap();
    assert_eq!(queue.handshake(0, 0), Err(Failure::Silence));
    target.port(0).heal();
    let data = queue.end();
    // The handshake withheld is answered when the port heals: the test host takes it for a wrong PDU here.
    assert!(
        matches!(&data, Failure::Wrong(what) if what.contains("0x01")),
        "{data:?}"
    );
}

#[test]
fn a_port_that_falls_silent_answers_nothing_and_catches_up_when_healed() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    target.port(0).behave(Rule::silent());
    let keep_alive = association
        .admin
        .submit(Submission::keep_alive(), Outgoing::Room(0))
        .unwrap();
    let read = queue
        .submit(Submission::read(1, 0, 1), Outgoing::Room(512))
        .unwrap();
    let data = [5; 16 << 10];
    let write = queue
        .submit(Submission::write(1, 8, 32), Outgoing::OnRequest(&data))
        .unwrap();
    association.admin.patience(SILENCE).unwrap();
    queue.patience(SILENCE).unwrap();
    assert_eq!(
        association.admin.completion(keep_alive),
        Err(Failure::Silence)
    );
    assert_eq!(queue.completion(read), Err(Failure::Silence));
    assert_eq!(queue.r2ts, 0, "not even data is asked for");
    assert_eq!(target.port(0).transcript().counters().withheld, 3);
    target.port(0).heal();
    assert_eq!(association.admin.completion(keep_alive).unwrap().status, 0);
    assert_eq!(queue.completion(read).unwrap().status, 0);
    assert_eq!(queue.completion(write).unwrap().status, 0);
}

#[test]
fn only_io_falls_silent() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    target.port(0).behave(Rule::new(On::Io, Act::Withhold));
    queue.patience(SILENCE).unwrap();
    let read = queue
        .submit(Submission::read(1, 0, 1), Outgoing::Room(512))
        .unwrap();
    assert_eq!(queue.completion(read), Err(Failure::Silence));
    association
        .good(Submission::keep_alive(), Outgoing::Room(0))
        .unwrap();
}

#[test]
fn the_ana_log_hangs_while_everything_else_is_answered() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    let parked = association.park().unwrap();
    target.port(0).behave(Rule::new(On::AnaLog, Act::Withhold));
    target
        .port(0)
        .ana(NQN, GroupId(1), AnaState::NonOptimized, Announce::Event)
        .unwrap();
    assert_eq!(association.event(parked, SOON).unwrap(), 0x000c_0302);
    let log = association
        .admin
        .submit(Submission::log(0x0c, 128, 0), Outgoing::Room(128))
        .unwrap();
    association
        .good(Submission::keep_alive(), Outgoing::Room(0))
        .unwrap();
    association.log(0x02, 512, 0).unwrap();
    assert_eq!(read_block(&mut queue).status, 0);
    association.admin.patience(SILENCE).unwrap();
    assert_eq!(association.admin.completion(log), Err(Failure::Silence));
    target.port(0).heal();
    assert_eq!(
        association.admin.completion(log).unwrap().data[32],
        2,
        "as it is when answered"
    );
}

#[test]
fn the_ana_log_comes_late_or_not_at_all() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    let delay = Duration::from_millis(600);
    target
        .port(0)
        .behave(Rule::new(On::AnaLog, Act::Delay(delay)));
    let start = Instant::now();
    let log = association
        .admin
        .submit(Submission::log(0x0c, 128, 0), Outgoing::Room(128))
        .unwrap();
    association
        .good(Submission::keep_alive(), Outgoing::Room(0))
        .unwrap();
    assert!(start.elapsed() < delay, "others are not held up");
    assert_eq!(association.admin.completion(log).unwrap().status, 0);
    assert!(start.elapsed() >= delay);
    target
        .port(0)
        .behave(Rule::new(On::AnaLog, Act::Fail(Status::INTERNAL)));
    let done = association
        .admin
        .run(Submission::log(0x0c, 128, 0), Outgoing::Room(128))
        .unwrap();
    assert_eq!((done.status, done.data.len()), (0x006, 0));
}

#[test]
fn an_event_is_withheld_until_the_script_lets_it_go() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    let parked = association.park().unwrap();
    target
        .port(0)
        .behave(Rule::new(On::AsyncEvent, Act::Withhold));
    target
        .port(0)
        .ana(NQN, GroupId(1), AnaState::Inaccessible, Announce::Event)
        .unwrap();
    assert_eq!(association.event(parked, SILENCE), Err(Failure::Silence));
    target.port(0).heal();
    assert_eq!(association.event(parked, SOON).unwrap(), 0x000c_0302);
}

#[test]
fn io_fails_with_a_status_before_the_log_says_anything() {
    let target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    let inaccessible = Rule::new(On::Io, Act::Fail(Status::ANA_INACCESSIBLE));
    target
        .port(0)
        .behave(inaccessible.for_namespace(Nsid(1)).times(2));
    assert_eq!(read_block(&mut queue).status, 0x302);
    let data = [1; 16 << 10];
    let done = queue
        .run(Submission::write(1, 0, 32), Outgoing::OnRequest(&data))
        .unwrap();
    assert_eq!((done.status, queue.r2ts), (0x302, 0));
    let other = queue
        .run(Submission::read(2, 0, 1), Outgoing::Room(512))
        .unwrap();
    assert_eq!(other.status, 0, "the other namespace serves");
    assert!(
        association
            .ana()
            .unwrap()
            .iter()
            .all(|seen| seen.state == 1)
    );
    assert_eq!(
        read_block(&mut queue).data,
        [0; 512],
        "twice was enough, and nothing was written"
    );
    target
        .port(0)
        .behave(Rule::new(On::Read, Act::Fail(Status::INTERNAL_PATH_ERROR)));
    assert_eq!(read_block(&mut queue).status, 0x300);
}

#[test]
fn two_controllers_of_one_subsystem_have_one_number() {
    let target = healthy();
    let repeated = [(NQN.to_owned(), Cntlid(1))].into();
    target.port(1).behave(Behaviour {
        repeated_cntlid: repeated,
        ..Behaviour::default()
    });
    let (mut first, _queue) = live(&target, 0);
    let (mut second, mut queue) = live(&target, 1);
    assert_eq!((first.cntlid, second.cntlid), (1, 1));
    let numbers = [&mut first, &mut second].map(|host| host.identify(1, 0).unwrap()[78]);
    assert_eq!(numbers, [1, 1]);
    assert_eq!(read_block(&mut queue).status, 0);
    drop(second);
    let gone = |counters: &Counters| counters.closed == 2;
    target
        .port(1)
        .transcript()
        .wait("the second to go", SOON, gone)
        .unwrap();
    std::thread::sleep(SILENCE);
    let (third, _queue) = live(&target, 0);
    assert_eq!(third.cntlid, 2, "number 1 is still the first one's");
}

#[test]
fn rules_count_down_where_they_can_be_seen() {
    let target = healthy();
    target
        .port(0)
        .behave(Rule::reject(Status::CONNECT_BUSY).times(5));
    begin(&target).unwrap_err();
    assert_eq!(target.port(0).behaviour().rules[0].times, Some(4));
}
