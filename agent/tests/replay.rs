//! Traces and what they come to: the known cases, and each of them told otherwise (other names, a watcher that starts in
//! the middle, a wall clock that steps), where the answer must be the same.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test a failure is the report"
)]

use std::{fs, io::Cursor, path::Path};

use pathwarden::{
    config::Config,
    engine::{Replayed, replay},
    event::{
        ControllerId, Envelope, Event, Source,
        trace::{self, Header, Reader, Writer},
    },
    fabric::{BootNs, ControllerName, Generation, UnixNs},
    watch::{Above, Bounds, CauseKind, Change, Class, Severity, Watch, Window, merged},
};

const MS: u64 = 1_000_000;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/traces");
    fs::read_to_string(folder.join(name).with_extension("jsonl")).unwrap()
}

fn run(text: &str) -> Replayed {
    let mut reader = Reader::open(Cursor::new(text)).unwrap();
    replay(&mut reader, &Config::default(), None, None).unwrap()
}

fn events(text: &str) -> (Header, Vec<Envelope>) {
    let mut reader = Reader::open(Cursor::new(text)).unwrap();
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        events.push(event);
    }
    (reader.header().clone(), events)
}

fn written(header: &Header, events: &[Envelope]) -> String {
    let mut bytes = Vec::new();
    let mut writer = Writer::create(&mut bytes, header).unwrap();
    events.iter().for_each(|event| writer.write(event).unwrap());
    String::from_utf8(bytes).unwrap()
}

fn lengths_ms(windows: &[Window]) -> Vec<Option<u64>> {
    let ms = |window: &Window| window.duration_ns.map(|it| it / MS);
    windows.iter().map(ms).collect()
}

/// One trace told otherwise.
fn twins(text: &str) -> Vec<(&'static str, String)> {
    let (header, events) = events(text);
    let renamed = text
        .replace("\"nvme0\"", "\"nvme12\"")
        .replace("\"nvme1\"", "\"nvme3\"")
        .replace("\"gen\":100", "\"gen\":9001");
    let stepped: Vec<Envelope> = events
        .iter()
        .enumerate()
        .flat_map(|(at, event)| {
            let hour = 3_600_000_000_000_i64;
            let unix_ns = if at % 2 == 0 { hour } else { -hour };
            let wall = Envelope {
                time: event.time,
                error_ns: 0,
                source: Source::Bpf,
                event: Event::Wall {
                    unix_ns: UnixNs(1_800_000_000_000_000_000 + unix_ns),
                },
            };
            [wall, event.clone()]
        })
        .collect();
    let lowered = text.replace("10.0.0.1:4426", "[::ffff:10.0.0.1]:4426");
    let beside: Vec<Envelope> = events
        .iter()
        .flat_map(|event| {
            let noise = Envelope {
                event: Event::Link {
                    ifname: "eth7".to_owned(),
                    up: event.time.0 % 2 == 0,
                },
                ..event.clone()
            };
            [noise, event.clone()]
        })
        .collect();
    vec![
        ("as it is", text.to_owned()),
        ("other names and generations", renamed),
        (
            "the wall clock steps by an hour",
            written(&header, &stepped),
        ),
        ("another spelling of an address", lowered),
        ("written and read again", written(&header, &events)),
        ("things happen elsewhere", written(&header, &beside)),
    ]
}

#[test]
fn a_clean_cutover_is_one_window_by_ana_within_its_design() {
    for (twin, text) in twins(&fixture("one-cutover")) {
        let replayed = run(&text);
        let [window] = &replayed.windows[..] else {
            panic!("{twin}: {:?}", replayed.windows);
        };
        assert_eq!(window.duration_ns, Some(2000 * MS), "{twin}");
        assert_eq!(window.above, None, "{twin}: a bound is exclusive");
        assert_eq!(window.class, Class::Cutover, "{twin}");
        assert_eq!(window.severity, Severity::Queued, "{twin}");
        assert_eq!(window.cause_begin.kind, CauseKind::AnaLog, "{twin}");
        let end = window.cause_end.as_ref().unwrap();
        assert_eq!(
            end.endpoint.as_deref(),
            Some("tcp://10.0.0.2:4426"),
            "{twin}"
        );
        let [freeze] = &replayed.freezes[..] else {
            panic!("{twin}: {:?}", replayed.freezes);
        };
        assert_eq!(freeze.windows, std::slice::from_ref(&window.id), "{twin}");
        assert!(
            replayed.findings.is_empty(),
            "{twin}: {:?}",
            replayed.findings
        );
    }
}

#[test]
fn the_bounds_of_a_cutover_are_exclusive() {
    let cases = [
        (3000, None),
        (3001, Some(Above::Design)),
        (4000, Some(Above::Design)),
        (4001, Some(Above::Warn)),
        (6000, Some(Above::Warn)),
        (6001, Some(Above::Critical)),
    ];
    for (end_ms, above) in cases {
        let end = format!("\"t\":{}", end_ms * MS);
        let text = fixture("one-cutover").replace("\"t\":3000000000", &end);
        let replayed = run(&text);
        assert_eq!(replayed.windows[0].above, above, "{end_ms}");
    }
}

#[test]
fn two_dips_and_a_loss_are_three_windows_of_which_the_last_stays_open() {
    for (twin, text) in twins(&fixture("two-dips-then-gone")) {
        let replayed = run(&text);
        assert_eq!(
            lengths_ms(&replayed.windows),
            [Some(1300), Some(200), None],
            "{twin}"
        );
        let counts: Vec<usize> = replayed.freezes.iter().map(|freeze| freeze.count).collect();
        assert_eq!(counts, [1, 2], "{twin}: the second within the span");
        let last = &replayed.windows[2];
        assert!(last.open, "{twin}");
        assert_eq!(last.severity, Severity::Lost, "{twin}");
        assert_eq!(last.cause_begin.kind, CauseKind::LegRemoved, "{twin}");
        let endpoint = last.cause_begin.endpoint.as_deref();
        assert_eq!(endpoint, Some("tcp://10.0.0.1:4426"), "{twin}");
        assert_eq!(replayed.subsystems.len(), 3, "{twin}");
    }
}

#[test]
fn a_watcher_that_starts_in_the_middle_never_gives_a_part_for_the_whole() {
    for name in ["one-cutover", "two-dips-then-gone"] {
        let text = fixture(name);
        let (header, all) = events(&text);
        let whole = run(&text).windows;
        for cut in 1..all.len() {
            let (before, after) = all.split_at(cut);
            let mut first = Watch::new("b", Bounds::default());
            for event in before {
                first.apply(event).clear();
            }
            let look = Envelope {
                time: first.now(),
                error_ns: 0,
                source: Source::Bpf,
                event: Event::Snapshot {
                    host: Box::new(first.host()),
                    began: None,
                },
            };
            let dark = first.open().count();
            let mut rest = vec![look];
            rest.extend(after.iter().cloned());
            let seen = run(&written(&header, &rest)).windows;
            for window in &seen {
                let true_one = whole.iter().find(|it| it.begin_ns == window.begin_ns);
                let is_whole = true_one.is_some_and(|it| it.duration_ns == window.duration_ns);
                assert!(
                    is_whole || (window.truncated_begin && window.duration_ns.is_none()),
                    "{name}, started at event {cut}: {window:?}"
                );
            }
            let first_open = seen.iter().filter(|it| it.truncated_begin).count();
            assert_eq!(first_open, dark, "{name}, started at event {cut}");
        }
    }
}

#[test]
fn a_prefix_and_then_the_rest_is_the_whole() {
    let (_, all) = events(&fixture("two-dips-then-gone"));
    let fold = |parts: [&[Envelope]; 2]| {
        let mut watch = Watch::new("b", Bounds::default());
        let mut changes: Vec<Change> = Vec::new();
        for part in parts {
            for event in part {
                changes.extend(watch.apply(event));
            }
        }
        changes.extend(watch.end());
        changes
    };
    let whole = fold([&all, &[]]);
    for cut in 0..=all.len() {
        let (a, b) = all.split_at(cut);
        assert_eq!(fold([a, b]), whole, "cut at {cut}");
    }
}

#[test]
fn windows_of_several_namespaces_are_merged_by_subsystem() {
    let text = fixture("one-cutover").replace(
        "{\"t\":1000000000",
        "{\"t\":0,\"type\":\"leg-added\",\"controller\":{\"name\":\"nvme0\",\"gen\":100},\"nqn\":\"nqn.2023-02.io.simplyblock:t:a\",\"nsid\":2,\"ana\":\"optimized\",\"group\":2}\n\
         {\"t\":500000000,\"type\":\"ana\",\"controller\":{\"name\":\"nvme0\",\"gen\":100},\"group\":2,\"state\":\"change\",\"nsids\":[2]}\n\
         {\"t\":1000000000",
    );
    let replayed = run(&text);
    assert_eq!(replayed.windows.len(), 2);
    let [merged_one] = &merged(&replayed.windows)[..] else {
        panic!("{:?}", replayed.subsystems);
    };
    assert_eq!(merged_one.begin_ns, BootNs(500 * MS));
    assert_eq!(merged_one.end_ns, None, "one namespace is dark still");
    assert_eq!(merged_one.windows.len(), 2);
}

fn nvme(instance: u32) -> String {
    let id = ControllerId {
        name: ControllerName::from_instance(instance),
        generation: Generation(u64::from(instance) + 100),
    };
    serde_json::to_string(&id).unwrap()
}

/// nvme0 serves; nvme1 loses its target and is answered `status` again and again, every two seconds from 1 s on.
fn rejected(status: u16, attempts: u32, extra: &[String]) -> String {
    let mut text: Vec<String> = fixture("one-cutover")
        .lines()
        .filter(|line| !line.contains("\"type\":\"ana\""))
        .map(str::to_owned)
        .collect();
    let state = |t: u64, old: &str, new: &str| {
        format!(
            "{{\"t\":{},\"type\":\"controller-state\",\"controller\":{},\"old\":\"{old}\",\"new\":\"{new}\"}}",
            t * MS,
            nvme(1)
        )
    };
    text.push(state(1000, "live", "resetting"));
    text.push(state(1001, "resetting", "connecting"));
    for attempt in 1..=attempts {
        for kind in ["connect", "reconnect"] {
            text.push(format!(
                "{{\"t\":{},\"type\":\"{kind}\",\"controller\":{},\"attempt\":{attempt},\"result\":{{\"status\":{status}}}}}",
                (1000 + u64::from(attempt) * 2000) * MS,
                nvme(1)
            ));
        }
    }
    text.extend(extra.iter().cloned());
    let end = extra
        .iter()
        .filter_map(|line| line.split(&[':', ','][..]).nth(1)?.parse().ok());
    let last: u64 = end
        .max()
        .unwrap_or(0)
        .max((2000 + u64::from(attempts) * 2000) * MS);
    text.push(format!(
        "{{\"t\":{last},\"type\":\"wall\",\"unix_ns\":1800000000000000000}}"
    ));
    let mut lines = text;
    // Sorted by time, the header first: what is put in belongs where its time says.
    let header = lines.remove(0);
    lines.sort_by_key(|line| {
        line.split(&[':', ','][..])
            .nth(1)
            .and_then(|t| t.parse::<u64>().ok())
    });
    lines.insert(0, header);
    lines.join("\n") + "\n"
}

fn desired(published: &str) -> String {
    format!(
        "{{\"t\":0,\"type\":\"desired\",\"nqn\":\"nqn.2023-02.io.simplyblock:t:a\",\"published\":[\"{published}\"],\"superseded\":[],\"fetched_at\":1800000000000000000,\"max_age\":600000000000}}"
    )
}

/// The verdict on nvme1 and the conditions that were not met; none without the finding.
fn abandoned(text: &str) -> Option<(String, Vec<String>)> {
    let findings = serde_json::to_value(run(text).findings).unwrap();
    let finding = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["kind"] == "abandoned-connecting")?
        .clone();
    let lines = finding["evidence"].as_array().unwrap().iter();
    let unmet = lines.filter_map(|line| Some(line.as_str()?.strip_prefix("not met: ")?.to_owned()));
    let verdict = &finding["verdict"];
    let word = verdict["type"].as_str().unwrap();
    let why = verdict["action"].as_str().or(verdict["reason"].as_str());
    Some((format!("{word} {}", why.unwrap_or("-")), unmet.collect()))
}

#[test]
fn a_controller_that_is_rejected_for_ever_and_not_published_is_abandoned() {
    for status in [0x182, 0x4182, 0x184, 0x2184] {
        let text = rejected(status, 70, &[desired("tcp://10.0.0.1:4426")]);
        let (verdict, unmet) = abandoned(&text).unwrap();
        assert_eq!(
            (verdict.as_str(), unmet.len()),
            ("propose release", 0),
            "{status:#x}: {unmet:?}"
        );
    }
}

#[test]
fn each_missing_condition_is_named_and_leaves_it_reported_only() {
    let published = || desired("tcp://10.0.0.1:4426");
    let t = |ms: u64| ms * MS;
    let elsewhere_gone = format!(
        "{{\"t\":{},\"type\":\"ana\",\"controller\":{},\"group\":1,\"state\":\"inaccessible\",\"nsids\":[1]}}",
        t(130_000),
        nvme(0)
    );
    let lost = format!("{{\"t\":{},\"type\":\"lost\",\"count\":1}}", t(60_500));
    let refused = format!(
        "{{\"t\":{},\"type\":\"reconnect\",\"controller\":{},\"attempt\":71,\"result\":{{\"errno\":111}}}}",
        t(143_500),
        nvme(1)
    );
    let busy = refused.replace("{\"errno\":111}", "{\"status\":385}");
    let unknown = refused.replace(",\"result\":{\"errno\":111}", "");
    let cases: Vec<(&str, Vec<String>, &str)> = vec![
        (
            "nothing is published",
            vec![],
            "published endpoints are not known",
        ),
        (
            "a namespace is dark",
            vec![published(), elsewhere_gone],
            "usable leg on a live controller elsewhere",
        ),
        (
            "an event was lost",
            vec![published(), lost],
            "without a gap",
        ),
        (
            "the last attempt found nobody",
            vec![published(), refused],
            "answered and rejected",
        ),
        (
            "the last attempt found it busy",
            vec![published(), busy],
            "answered and rejected",
        ),
        (
            "nobody knows of the last attempt",
            vec![published(), unknown],
            "answered and rejected",
        ),
    ];
    for (case, extra, missing) in cases {
        let (verdict, unmet) = abandoned(&rejected(0x182, 70, &extra)).unwrap();
        assert_eq!(verdict, "report-only -", "{case}: {unmet:?}");
        assert!(
            unmet.iter().any(|line| line.contains(missing)),
            "{case}: {unmet:?}"
        );
    }
}

#[test]
fn an_ordinary_reconnect_is_not_abandoned() {
    let published = desired("tcp://10.0.0.1:4426");
    let young = rejected(0x182, 50, std::slice::from_ref(&published));
    assert_eq!(abandoned(&young), None, "not long enough");
    let wanted = published.replace("4426\"]", "4426\",\"tcp://10.0.0.2:4426\"]");
    assert_eq!(
        abandoned(&rejected(0x182, 70, &[wanted])),
        None,
        "it is published"
    );
    let back = format!(
        "{{\"t\":{},\"type\":\"controller-state\",\"controller\":{},\"old\":\"connecting\",\"new\":\"live\"}}",
        141_500 * MS,
        nvme(1)
    );
    assert_eq!(
        abandoned(&rejected(0x182, 70, &[published.clone(), back])),
        None,
        "it came back"
    );
    let migration = "{\"t\":0,\"type\":\"migration\",\"id\":\"m\",\"phase\":\"Running\",\"nqn\":\"nqn.2023-02.io.simplyblock:t:a\",\"targets\":[\"tcp://10.0.0.2:4426\"]}".to_owned();
    assert_eq!(
        abandoned(&rejected(0x182, 70, &[published, migration])),
        None,
        "a migration is on its way there"
    );
}

#[test]
fn a_trace_line_is_what_the_writer_writes() {
    let (_, all) = events(&fixture("one-cutover"));
    for event in &all {
        let line = trace::line(event).unwrap();
        let header = "{\"trace\":1}\n";
        let read = events_of(&format!("{header}{line}\n"));
        assert_eq!(read, std::slice::from_ref(event));
    }
}

fn events_of(text: &str) -> Vec<Envelope> {
    events(text).1
}

mod any_order {
    use pathwarden::{
        event::LegState,
        fabric::{AnaGroup, AnaState, ControllerState, Nqn, Nsid},
    };
    use proptest::prelude::*;

    use super::*;

    fn id(instance: u32) -> ControllerId {
        ControllerId {
            name: ControllerName::from_instance(instance),
            generation: Generation(7),
        }
    }

    fn ana() -> impl Strategy<Value = AnaState> {
        proptest::sample::select(&AnaState::ALL[..])
    }

    fn state() -> impl Strategy<Value = ControllerState> {
        proptest::sample::select(&ControllerState::ALL[..])
    }

    fn leg_state() -> impl Strategy<Value = LegState> {
        (proptest::option::of(ana()), any::<bool>(), any::<bool>()).prop_map(
            |(ana, pending, ready)| LegState {
                ana,
                pending,
                ready,
            },
        )
    }

    fn event() -> impl Strategy<Value = Event> {
        let on = (0..3_u32, 1..3_u32).prop_map(|(controller, nsid)| (id(controller), Nsid(nsid)));
        let nqn =
            |controller: ControllerId| Nqn::new(&format!("nqn.{}", controller.name.instance() / 2));
        prop_oneof![
            1 => (on.clone(), state()).prop_map(move |((controller, _), state)| Event::ControllerAdded {
                controller,
                nqn: nqn(controller),
                endpoint: None,
                hostnqn: None,
                cntlid: None,
                state,
                interface: None,
            }),
            1 => (on.clone(), leg_state()).prop_map(move |((controller, nsid), state)| Event::LegAdded {
                controller,
                nsid,
                nqn: Some(nqn(controller)),
                uuid: None,
                name: None,
                group: Some(AnaGroup(nsid.0)),
                state,
            }),
            3 => (on.clone(), ana()).prop_map(|((controller, nsid), state)| Event::Ana {
                controller,
                group: AnaGroup(nsid.0),
                state,
                nsids: vec![nsid],
                more: false,
            }),
            2 => (on.clone(), state(), state()).prop_map(|((controller, _), old, new)| Event::ControllerState {
                controller,
                old,
                new,
            }),
            1 => (on.clone(), leg_state()).prop_map(|((controller, nsid), state)| Event::LegWords {
                controller,
                nsid,
                state,
            }),
            1 => on.clone().prop_map(|(controller, nsid)| Event::AnaPending { controller, nsid }),
            1 => on.clone().prop_map(|(controller, nsid)| Event::LegRemoved { controller, nsid }),
            1 => on.clone().prop_map(|(controller, _)| Event::ControllerRemoved { controller }),
            1 => on.prop_map(|(controller, _)| Event::FailfastExpired { controller }),
            1 => Just(Event::Lost { count: 1 }),
        ]
    }

    fn story() -> impl Strategy<Value = Vec<Envelope>> {
        let timed = (0..400_u64, event()).prop_map(|(ms, event)| Envelope {
            time: BootNs(ms * MS),
            error_ns: 0,
            source: Source::Bpf,
            event,
        });
        proptest::collection::vec(timed, 0..60)
    }

    fn folded(events: &[Envelope]) -> (Vec<Window>, Vec<Window>) {
        let mut watch = Watch::new("b", Bounds::default());
        let mut closed: Vec<Window> = Vec::new();
        for change in events.iter().flat_map(|event| watch.apply(event)) {
            match change {
                Change::Closed(window) => closed.push(window),
                Change::Amended(window) => {
                    let known = closed.iter_mut().rev().find(|it| it.id == window.id);
                    *known.unwrap() = window;
                }
                _ => {}
            }
        }
        let open = watch.open().cloned().collect();
        (closed, open)
    }

    proptest! {
        #[test]
        fn windows_of_one_namespace_never_overlap(events in story()) {
            let (closed, open) = folded(&events);
            let mut all: Vec<&Window> = closed.iter().chain(&open).collect();
            all.sort_by(|a, b| (&a.nqn, a.nsid, a.begin_ns, a.end_ns.is_none()).cmp(&(&b.nqn, b.nsid, b.begin_ns, b.end_ns.is_none())));
            for pair in all.windows(2) {
                let same = (&pair[0].nqn, pair[0].nsid) == (&pair[1].nqn, pair[1].nsid);
                if same {
                    let end = pair[0].end_ns;
                    prop_assert!(end.is_some_and(|end| end <= pair[1].begin_ns), "{pair:#?}");
                }
            }
            for window in all {
                prop_assert!(window.end_ns.is_none_or(|end| end >= window.begin_ns));
                prop_assert_eq!(window.open, window.end_ns.is_none());
                let whole = !window.truncated_begin && !window.truncated_end && !window.open;
                prop_assert_eq!(window.duration_ns.is_some(), whole);
            }
        }

        #[test]
        fn a_trace_of_any_story_comes_to_the_same(events in story()) {
            let header = Header::new(Some("b".to_owned()), None, None);
            let text = written(&header, &events);
            let (_, read) = super::events(&text);
            prop_assert_eq!(&read, &events);
            let (mut closed, open) = folded(&events);
            closed.extend(open);
            closed.sort_by(|a, b| (a.begin_ns, &a.id).cmp(&(b.begin_ns, &b.id)));
            prop_assert_eq!(run(&text).windows, closed);
        }

        #[test]
        fn no_story_makes_the_diagnosis_propose_what_serves(events in story()) {
            let text = written(&Header::new(None, None, None), &events);
            prop_assert!(run(&text).plan.is_empty(), "nothing is expected, so nothing is wrong enough");
        }
    }
}
