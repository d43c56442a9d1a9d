use super::*;
use crate::target::order::Reply;

fn done(target: &mut Target, line: &str) {
    let reply = target.obey_line(line);
    assert!(matches!(reply, Reply::Done), "{line}: {reply:?}");
}

#[test]
fn a_target_obeys_lines_of_json() {
    let mut target = healthy();
    let (mut association, mut queue) = live(&target, 0);
    let parked = association.park().unwrap();
    let ana = format!(
        r#"{{"order": "ana", "port": 0, "subsystem": "{NQN}", "group": 1, "state": "inaccessible"}}"#
    );
    done(&mut target, &ana);
    assert_eq!(
        association.event(parked, SILENCE * 10).unwrap(),
        0x000c_0302
    );
    assert_eq!(read_block(&mut queue).status, 0x302);
    done(
        &mut target,
        r#"{"order": "behave", "port": 0, "behaviour": {"rules": [{"on": "io", "act": {"fail": 768}}]}}"#,
    );
    assert_eq!(read_block(&mut queue).status, 0x300);
    let Reply::Report(report) = target.obey_line(r#"{"order": "report", "port": 0}"#) else {
        panic!()
    };
    let report = serde_json::to_value(&report).unwrap();
    assert_eq!(report["counters"]["failed"]["read"], 2);
    assert_eq!(report["entries"][0]["what"], "accepted");
    done(&mut target, r#"{"order": "vanish", "port": 0}"#);
    assert!(Queue::dial(target.port(0).address()).is_err());
}

#[test]
fn what_is_no_order_is_answered_with_the_reason() {
    let mut target = healthy();
    for (line, reason) in [
        ("vanish", "not an order"),
        (r#"{"order": "vanish", "port": 9}"#, "there is no port 9"),
        (r#"{"order": "explode"}"#, "explode"),
        (
            r#"{"order": "withdraw", "port": 0, "nqn": "x"}"#,
            "subsystem",
        ),
    ] {
        let Reply::Error(error) = target.obey_line(line) else {
            panic!("{line}")
        };
        assert!(error.contains(reason), "{line}: {error}");
    }
}
