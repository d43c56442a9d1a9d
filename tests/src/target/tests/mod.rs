//! The whole target over real sockets, driven by the test host. What needs a kernel is a lab scenario.

mod connect;
mod events;
mod faults;
mod io;
mod orders;
mod pages;
mod presence;
mod protocol;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::initiator::{Association, Completion, Outgoing, Queue, Submission};
use super::plan::{ExportPlan, NamespacePlan, Plan, PortPlan, SubsystemPlan};
use super::running::Target;

const NQN: &str = "nqn.2026-01.example:vol:a";

/// Long enough to be sure that no answer will come.
const SILENCE: Duration = Duration::from_millis(200);

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A subsystem with namespace 1 in group 1 and 2 in group 2, served by two ports; the second serves only what
/// `second` says.
fn two_ports(second: ExportPlan) -> Target {
    let small = |nsid| NamespacePlan::new(nsid).sized(1 << 20).in_group(nsid);
    let plan = Plan::new()
        .subsystem(
            SubsystemPlan::new(NQN)
                .namespace(small(1))
                .namespace(small(2)),
        )
        .port(PortPlan::new(anywhere()).export(ExportPlan::new(NQN)))
        .port(PortPlan::new(anywhere()).export(second));
    Target::start(&plan).unwrap()
}

fn healthy() -> Target {
    two_ports(ExportPlan::new(NQN))
}

/// A live controller of a port and its I/O queue 1.
fn live(target: &Target, port: usize) -> (Association, Queue) {
    let association = Association::live(target.port(port).address(), NQN).unwrap();
    let queue = association.queue(1).unwrap().unwrap();
    (association, queue)
}

fn read_block(queue: &mut Queue) -> Completion {
    queue
        .run(Submission::read(1, 0, 1), Outgoing::Room(512))
        .unwrap()
}

/// Looks until something holds, for a few seconds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not so");
        std::thread::sleep(Duration::from_millis(10));
    }
}
