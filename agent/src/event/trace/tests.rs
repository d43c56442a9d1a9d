//! What a trace keeps, and what it says of one that is not right.

use std::{io::Cursor, time::Duration};

use super::*;
use crate::{
    event::{ControllerId, Deleter, Envelope, Event, LegState, NamespaceId, Outcome, Source},
    fabric::{
        AnaGroup, AnaState, BootNs, Cntlid, ControllerName, ControllerState, DiskName, Endpoint,
        Generation, Host, Nqn, Nsid, UnixNs, Uuid,
    },
};

const HEADER: &str =
    r#"{"trace":1,"boot_id":"b","kernel":"6.12.1","multipath":"on","clock":"boot"}"#;

fn read(text: &str) -> Result<Vec<Envelope>, TraceError> {
    let mut reader = Reader::open(Cursor::new(text))?;
    let mut all = Vec::new();
    while let Some(envelope) = reader.next_event()? {
        all.push(envelope);
    }
    Ok(all)
}

fn one(line: &str) -> Event {
    let mut events = read(&format!("{HEADER}\n{line}\n")).unwrap();
    assert_eq!(events.len(), 1, "{line}");
    events.remove(0).event
}

fn nvme(instance: u32) -> ControllerId {
    ControllerId {
        name: ControllerName::from_instance(instance),
        generation: Generation(2),
    }
}

fn endpoint(text: &str) -> Endpoint {
    text.parse().unwrap()
}

/// One of each, with every key set to something that is not its default.
fn every_event() -> Vec<Event> {
    let controller = nvme(3);
    let nsid = Nsid(1);
    let namespace = NamespaceId {
        nqn: Nqn::new("nqn.a"),
        nsid,
        uuid: Some(Uuid::from_bytes([7; 16])),
    };
    let state = LegState {
        ana: Some(AnaState::NonOptimized),
        pending: true,
        ready: false,
    };
    vec![
        Event::Snapshot {
            host: Box::new(Host {
                kernel: Some("6.1.0".to_owned()),
                ..Host::default()
            }),
            began: Some(BootNs(5)),
        },
        Event::ControllerAdded {
            controller,
            nqn: Nqn::new("nqn.a"),
            endpoint: Some(endpoint("tcp://10.0.0.1:4420")),
            hostnqn: Some(Nqn::new("nqn.host")),
            cntlid: Some(Cntlid(9)),
            state: ControllerState::DeletingNoIo,
            interface: Some("eth0".to_owned()),
        },
        Event::ControllerRemoved { controller },
        Event::ControllerState {
            controller,
            old: ControllerState::Live,
            new: ControllerState::Resetting,
        },
        Event::Delete {
            controller,
            by: Deleter::Command("nvme".to_owned()),
        },
        Event::Delete {
            controller,
            by: Deleter::Kernel,
        },
        Event::Recovery { controller },
        Event::KeepAliveFailed { controller },
        Event::FailfastExpired { controller },
        Event::Connect {
            controller,
            attempt: 4,
            result: Outcome::Status(0x4182),
        },
        Event::Reconnect {
            controller,
            attempt: 4,
            result: Some(Outcome::Errno(111)),
        },
        Event::Ana {
            controller,
            group: AnaGroup(3),
            state: AnaState::PersistentLoss,
            nsids: vec![nsid, Nsid(9)],
            more: true,
        },
        Event::AnaPending { controller, nsid },
        Event::LegAdded {
            controller,
            nsid,
            nqn: Some(Nqn::new("nqn.a")),
            uuid: Some(Uuid::from_bytes([7; 16])),
            name: Some(DiskName::leg(0, 3, 1)),
            group: Some(AnaGroup(3)),
            state,
        },
        Event::LegWords {
            controller,
            nsid,
            state,
        },
        Event::LegReady {
            controller,
            nsid,
            ready: false,
        },
        Event::LegRemoved { controller, nsid },
        Event::HeadAdded {
            namespace: namespace.clone(),
        },
        Event::HeadRemoved {
            namespace: namespace.clone(),
            held: Some(true),
        },
        Event::Failover {
            controller,
            nsid,
            status: 0x2302,
            count: 17,
            oldest: Some(BootNs(4)),
        },
        Event::Requeued {
            namespace: namespace.clone(),
            count: 3,
            exact: true,
        },
        Event::Failed {
            namespace,
            count: 4,
            exact: false,
        },
        Event::Link {
            ifname: "eth0".to_owned(),
            up: false,
        },
        Event::Desired {
            nqn: Nqn::new("nqn.a"),
            published: vec![endpoint("tcp://[2001:db8::1]:4428")],
            superseded: vec![endpoint("tcp://10.0.0.9:4420")],
            fetched_at: UnixNs(12),
            max_age: Duration::from_secs(600),
        },
        Event::Migration {
            id: "m-1".to_owned(),
            phase: "Running".to_owned(),
            nqn: Nqn::new("nqn.a"),
            targets: vec![endpoint("tcp://10.0.0.2:4420")],
        },
        Event::Lost { count: 5 },
        Event::Wall {
            unix_ns: UnixNs(99),
        },
    ]
}

#[test]
fn every_event_reads_back_as_it_was_written() {
    let sources = [Source::Bpf, Source::Uevent, Source::Poll];
    let events = every_event().into_iter().zip(1_u64..);
    let written: Vec<Envelope> = events
        .map(|(event, at)| Envelope {
            time: BootNs(at),
            error_ns: at % 3,
            source: sources[usize::try_from(at % 3).unwrap()],
            event,
        })
        .collect();
    let header = Header::new(Some("b".to_owned()), None, None);
    let mut bytes = Vec::new();
    let mut writer = Writer::create(&mut bytes, &header).unwrap();
    written
        .iter()
        .for_each(|envelope| writer.write(envelope).unwrap());
    writer.flush().unwrap();
    assert_eq!(read(std::str::from_utf8(&bytes).unwrap()).unwrap(), written);
}

#[test]
fn what_a_line_does_not_say_is_what_it_usually_is() {
    let Event::ControllerAdded { state, .. } = one(
        r#"{"t":1,"type":"controller-added","controller":{"name":"nvme3","gen":2},"subsysnqn":"n"}"#,
    ) else {
        panic!("another event");
    };
    assert_eq!(state, ControllerState::New);
    let leg = r#"{"t":1,"type":"leg-added","controller":{"name":"nvme3","gen":2},"nqn":"n","nsid":1,"ana":"optimized","group":1,"size":SIZE}"#;
    for (size, is_ready) in [("204800", true), ("0", false)] {
        let Event::LegAdded { state, .. } = one(&leg.replace("SIZE", size)) else {
            panic!("another event");
        };
        assert_eq!((state.ready, state.pending), (is_ready, false), "{size}");
    }
}

#[test]
fn a_newer_trace_is_refused_by_its_version() {
    let error = read("{\"trace\":2,\"clock\":\"boot\",\"new\":{}}\n").unwrap_err();
    assert!(matches!(error, TraceError::Newer(2)), "{error}");
    assert!(error.to_string().contains("trace version 2"), "{error}");
}

#[test]
fn unknown_keys_are_left_alone_and_unknown_events_told() {
    let text = format!(
        "{HEADER}\n{}\n\n{}\n",
        r#"{"t":1,"type":"lost","count":2,"mood":"grey","deep":{"a":[1]}}"#,
        r#"{"t":2,"type":"moon-phase","phase":"full"}"#
    );
    let mut reader = Reader::open(Cursor::new(text)).unwrap();
    let first = reader.next_event().unwrap().unwrap();
    assert_eq!(first.event, Event::Lost { count: 2 });
    assert_eq!(reader.next_event().unwrap(), None);
    let told = [(4, "unknown event \"moon-phase\"".to_owned())];
    assert_eq!(reader.passed_over(), told);
}

#[test]
fn a_last_line_that_was_cut_off_is_told_and_passed_over() {
    let text = format!("{HEADER}\n{{\"t\":1,\"type\":\"lost\"}}\n{{\"t\":2,\"ty");
    let mut reader = Reader::open(Cursor::new(text)).unwrap();
    assert!(reader.next_event().unwrap().is_some());
    assert!(reader.next_event().unwrap().is_none());
    assert_eq!(reader.passed_over(), [(3, "cut off".to_owned())]);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let broken = [
        ("", "it is empty"),
        ("{}\n", "no trace header"),
        ("not json\n", "no trace header"),
        (
            "{\"trace\":1,\"clock\":\"wall\"}\n",
            "its clock is \"wall\"",
        ),
        ("{\"trace\":1}\n{oh}\n", "line 2"),
        (
            "{\"trace\":1}\n{\"t\":\"soon\",\"type\":\"lost\"}\n",
            "line 2",
        ),
        (
            "{\"trace\":1}\n{\"type\":\"lost\"}\n",
            "line 2: an event \"lost\" needs \"t\"",
        ),
        (
            "{\"trace\":1}\n{\"t\":1,\"type\":\"ana\",\"controller\":{\"name\":\"nvme0\",\"gen\":1},\"group\":1,\"nsids\":[]}\n",
            "line 2: an event \"ana\" needs \"state\"",
        ),
    ];
    for (text, expected) in broken {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let mut text = format!("{HEADER}\n").into_bytes();
        text.extend(bytes);
        if let Ok(mut reader) = Reader::open(Cursor::new(text)) {
            while let Ok(Some(_)) = reader.next_event() {}
        }
    }
}
