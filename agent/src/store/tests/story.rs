//! Real windows, from events, and the sample of each schema version that is made of them.

use crate::{
    event::{ControllerId, Envelope, Event, LegState, Source},
    fabric::{
        AnaGroup, AnaState, BootNs, ControllerName, ControllerState, Generation, Nqn, Nsid, UnixNs,
    },
    watch::{Bounds, Change, Watch, Window},
};

use super::*;

fn controller(instance: u32) -> ControllerId {
    ControllerId {
        name: ControllerName::from_instance(instance),
        generation: Generation(u64::from(instance) + 100),
    }
}

fn ana(instance: u32, state: AnaState) -> Event {
    Event::Ana {
        controller: controller(instance),
        group: AnaGroup(1),
        state,
        nsids: vec![Nsid(1)],
        more: false,
    }
}

/// A cutover of 2.018 s, an outage that was cut off after 1.2 s, and one that begins.
pub(super) fn changes() -> Vec<Change> {
    let mut watch = Watch::new("0a1b2c3d-0000-4000-8000-000000000001", Bounds::default());
    let mut changes = Vec::new();
    let mut at = |watch: &mut Watch, ms: u64, event| {
        let told = watch.apply(&Envelope {
            time: BootNs(ms * 1_000_000),
            error_ns: 1_000,
            source: Source::Bpf,
            event,
        });
        changes.extend(told.into_iter().filter(is_of_a_window));
    };
    let tell = |watch: &mut Watch, at: &mut dyn FnMut(&mut Watch, u64, Event), unix_s: i64| {
        let unix_ns = UnixNs(unix_s * 1_000_000_000);
        at(watch, 0, Event::Wall { unix_ns });
        for (instance, ana) in [(0, AnaState::Optimized), (1, AnaState::Inaccessible)] {
            let added = Event::ControllerAdded {
                controller: controller(instance),
                nqn: Nqn::new("nqn.2023-02.io.simplyblock:pool:lvol:1"),
                endpoint: format!("tcp://10.0.0.{}:4426", instance + 1).parse().ok(),
                hostnqn: None,
                cntlid: None,
                state: ControllerState::Live,
                interface: None,
            };
            at(watch, 0, added);
            let leg = Event::LegAdded {
                controller: controller(instance),
                nsid: Nsid(1),
                nqn: None,
                uuid: "00000001-0000-4000-8000-000000000001".parse().ok(),
                name: None,
                group: Some(AnaGroup(1)),
                state: LegState {
                    ana: Some(ana),
                    pending: false,
                    ready: true,
                },
            };
            at(watch, 0, leg);
        }
    };
    // 2026-11-30T18:00:00Z, and ten minutes later.
    tell(&mut watch, &mut at, 1_796_061_600);
    at(&mut watch, 10_000, ana(0, AnaState::Inaccessible));
    at(&mut watch, 12_018, ana(1, AnaState::Optimized));
    let resetting = Event::ControllerState {
        controller: controller(1),
        old: ControllerState::Live,
        new: ControllerState::Resetting,
    };
    at(&mut watch, 20_000, resetting);
    let cut_off = watch.stop(BootNs(21_200_000_000));
    let mut next = Watch::new("0a1b2c3d-0000-4000-8000-000000000002", Bounds::default());
    tell(&mut next, &mut at, 1_796_062_200);
    at(&mut next, 10_500, ana(0, AnaState::Inaccessible));
    changes.splice(3..3, cut_off.into_iter().filter(is_of_a_window));
    changes
}

fn is_of_a_window(change: &Change) -> bool {
    matches!(change, Change::Opened(_) | Change::Closed(_))
}

pub(super) fn window(change: &Change) -> &Window {
    match change {
        Change::Opened(window) | Change::Closed(window) => window,
        other => panic!("of no window: {other:?}"),
    }
}

fn sample(version: i64) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/store");
    fixtures.join(format!("v{version}.db"))
}

#[test]
fn a_window_comes_back_as_the_watch_told_it() {
    let (_folder, store) = new_store();
    let changes = changes();
    for change in &changes {
        store.put_window(window(change)).unwrap();
    }
    let listing = all(&store);
    let told = [&changes[1], &changes[3], &changes[4]];
    let told = told.map(|change| serde_json::to_value(window(change)).unwrap());
    let kept = listing.windows.iter().map(|it| it.document.clone());
    assert_eq!(kept.collect::<Vec<_>>(), told);
    let cutover = &listing.windows[0];
    assert_eq!(cutover.class, "cutover");
    assert_eq!(cutover.duration_ns, Some(2_018_000_000));
    assert_eq!(listing.windows[1].at_least_ns, Some(1_200_000_000));
    assert!(listing.windows[2].open);
}

#[test]
fn the_sample_of_every_version_is_brought_up_to_date_and_read() {
    for version in 1..=schema::VERSION {
        let folder = TempDir::new().unwrap();
        fs::copy(sample(version), folder.path().join(FILE)).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let listing = all(&store);
        let [cutover, cut_off, open] = &listing.windows[..] else {
            panic!("{listing:?}");
        };
        assert_eq!(cutover.duration_ns, Some(2_018_000_000));
        assert_eq!(cut_off.at_least_ns, Some(1_200_000_000));
        assert_eq!((open.open, open.at_least_ns), (true, Some(3_200_000_000)));
        let (_folder, empty) = new_store();
        assert_eq!(tables(&store), tables(&empty));
    }
}

fn tables(store: &Store) -> Vec<String> {
    let mut tables = store
        .connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    let rows = tables.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
#[ignore = "writes the sample of a new schema version, once: cargo test -p pathwarden -- --ignored sample"]
fn write_the_sample() {
    let (folder, store) = new_store();
    let changes = changes();
    let (last, ended) = changes.split_last().unwrap();
    for change in ended {
        store.put_window(window(change)).unwrap();
    }
    let mut open = serde_json::to_value(window(last)).unwrap();
    open["at_least_ns"] = json!(3_200_000_000_u64);
    put(&store, &open);
    drop(store);
    let sample = sample(schema::VERSION);
    assert!(!sample.exists(), "{} is there", sample.display());
    fs::create_dir_all(sample.parent().unwrap()).unwrap();
    fs::copy(folder.path().join(FILE), sample).unwrap();
}
