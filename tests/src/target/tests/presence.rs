use std::net::TcpStream;

use super::*;
use crate::target::initiator::Failure;
use crate::target::script::Rule;
use crate::target::status::Status;

#[test]
fn a_port_that_vanished_refuses_and_comes_back_at_its_address() {
    let target = healthy();
    let port = target.port(0);
    let (mut association, mut queue) = live(&target, 0);
    queue
        .run(Submission::write(1, 0, 1), Outgoing::InCapsule(&[3; 512]))
        .unwrap();
    for _ in 0..3 {
        port.vanish();
        assert_eq!(association.admin.end(), Failure::Closed);
        assert_eq!(queue.end(), Failure::Closed);
        let refused = TcpStream::connect(port.address()).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        port.come_back().unwrap();
        port.come_back().unwrap();
        (association, queue) = live(&target, 0);
        assert_eq!(
            read_block(&mut queue).data,
            [3; 512],
            "what was written is still there"
        );
    }
}

#[test]
fn a_rebooted_target_rejects_for_a_while_and_then_serves() {
    let target = healthy();
    let port = target.port(0);
    port.vanish();
    port.behave(Rule::reject(Status::CONNECT_INVALID_PARAMETERS).times(2));
    port.come_back().unwrap();
    let statuses: Vec<u16> = (0..3)
        .map(|_| {
            Association::begin(port.address(), NQN)
                .unwrap()
                .map_or_else(|done| done.status, |_| 0)
        })
        .collect();
    assert_eq!(statuses, [0x182, 0x182, 0]);
}

#[test]
fn one_port_going_is_nothing_to_the_other() {
    let target = healthy();
    let (_association, mut queue) = live(&target, 1);
    target.port(0).vanish();
    assert_eq!(read_block(&mut queue).status, 0);
}

#[test]
fn dropped_connections_can_be_made_again_at_once() {
    let target = healthy();
    let (mut association, _queue) = live(&target, 0);
    target.port(0).drop_connections();
    assert_eq!(association.admin.end(), Failure::Closed);
    live(&target, 0);
}

#[test]
fn a_withdrawn_subsystem_is_rejected_for_good_until_it_is_exported_again() {
    let target = healthy();
    let port = target.port(0);
    let (mut association, _queue) = live(&target, 0);
    port.withdraw(NQN);
    assert_eq!(association.admin.end(), Failure::Closed);
    let refused = Association::begin(port.address(), NQN)
        .unwrap()
        .unwrap_err();
    assert_eq!(refused.status, 0x4182);
    port.export(&ExportPlan::new(NQN).only(&[2])).unwrap();
    let (mut association, _queue) = live(&target, 0);
    assert_eq!(association.namespaces().unwrap(), [2]);
}

#[test]
fn a_dropped_target_leaves_nothing_behind() {
    let target = healthy();
    let address = target.port(0).address();
    let (mut association, _queue) = live(&target, 0);
    drop(target);
    assert_eq!(association.admin.end(), Failure::Closed);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn forty_subsystems_on_two_ports_are_eighty_controllers() {
    let name = |number: usize| format!("{NQN}:{number}");
    let mut plan = Plan::new();
    let (mut first, mut second) = (PortPlan::new(anywhere()), PortPlan::new(anywhere()));
    for number in 0..40 {
        let nqn = name(number);
        let small = NamespacePlan::new(1).sized(4096);
        plan = plan.subsystem(SubsystemPlan::new(&nqn).namespace(small));
        first = first.export(ExportPlan::new(&nqn));
        second = second.export(ExportPlan::new(&nqn));
    }
    let target = Target::start(&plan.port(first).port(second)).unwrap();
    let mut live = Vec::new();
    for port in target.ports() {
        for number in 0..40 {
            live.push(Association::live(port.address(), &name(number)).unwrap());
        }
    }
    for association in &mut live {
        assert_eq!(association.namespaces().unwrap(), [1]);
    }
}
