//! The scripted target as a process of its own: plan in, orders in, replies out, connections over the loopback.

#![allow(
    clippy::unwrap_used,
    reason = "in a test a failed unwrap is the report"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use pathwarden_tests::target::initiator::{Association, Failure, Outgoing, Queue, Submission};
use pathwarden_tests::target::{ExportPlan, NamespacePlan, Plan, PortPlan, SubsystemPlan};
use serde_json::Value;

const NQN: &str = "nqn.2026-01.example:vol:a";

struct Process {
    child: Child,
    orders: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

impl Process {
    fn start(plan: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan.json");
        std::fs::write(&file, plan).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-target"))
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            orders,
            replies,
            folder,
        }
    }

    fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn order(&mut self, line: &str) -> Value {
        writeln!(self.orders.as_mut().unwrap(), "{line}").unwrap();
        self.reply()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Gone already, where the test went well.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn plan() -> String {
    let subsystem = SubsystemPlan::new(NQN).namespace(NamespacePlan::new(1).sized(1 << 20));
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let port = PortPlan::new(listen).export(ExportPlan::new(NQN));
    serde_json::to_string(&Plan::new().subsystem(subsystem).port(port)).unwrap()
}

#[test]
fn target_process_serves_obeys_and_ends_with_its_input() {
    let mut process = Process::start(&plan());
    let address = process.reply()["ports"][0]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let mut association = Association::live(address, NQN).unwrap();
    let mut queue = association.queue(1).unwrap().unwrap();
    let read = Submission::read(1, 0, 1);
    assert_eq!(queue.run(read, Outgoing::Room(512)).unwrap().status, 0);

    let failing = r#"{"order": "behave", "port": 0, "behaviour": {"rules": [{"on": "read", "act": {"fail": 770}}]}}"#;
    assert_eq!(process.order(failing), "done");
    assert_eq!(queue.run(read, Outgoing::Room(512)).unwrap().status, 0x302);
    let report = process.order(r#"{"order": "report", "port": 0}"#);
    assert_eq!(report["report"]["counters"]["commands"]["read"], 2);
    assert!(
        process.order("nonsense")["error"]
            .as_str()
            .unwrap()
            .starts_with("not an order")
    );

    process.orders = None;
    assert!(process.child.wait().unwrap().success());
    assert_eq!(association.admin.end(), Failure::Closed);
}

#[test]
fn target_process_that_is_killed_takes_its_connections_with_it() {
    let mut process = Process::start(&plan());
    let address = process.reply()["ports"][0]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let mut association = Association::live(address, NQN).unwrap();
    process.child.kill().unwrap();
    assert_eq!(association.admin.end(), Failure::Closed);
    process.child.wait().unwrap();
    assert!(Queue::dial(address).is_err());
}

#[test]
fn target_process_names_what_is_wrong_with_a_plan() {
    let mut process = Process::start(r#"{"subsystems": [], "ports": [], "speed": 11}"#);
    assert!(!process.child.wait().unwrap().success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut process.child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(
        said.contains("plan.json is no plan") && said.contains("speed"),
        "{said}"
    );
    assert!(process.folder.path().exists());
}
