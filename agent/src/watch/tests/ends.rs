//! How a window ends when its volume does not simply come back.

use super::*;
use crate::event::{Deleter, NamespaceId};

fn namespace() -> NamespaceId {
    NamespaceId {
        nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
        nsid: Nsid(1),
        uuid: None,
    }
}

fn delete(instance: u32, by: &str) -> Event {
    Event::Delete {
        controller: controller(instance),
        by: Deleter::new(by),
    }
}

fn removed(instance: u32) -> Event {
    Event::LegRemoved {
        controller: controller(instance),
        nsid: Nsid(1),
    }
}

fn head_gone(held: Option<bool>) -> Event {
    Event::HeadRemoved {
        namespace: namespace(),
        held,
    }
}

/// Both paths are deleted, source last; the head goes with the last.
fn taken_away(by: &str, held: Option<bool>, meanwhile: Option<Event>) -> Story {
    let mut story = before_cutover();
    story.at(500, delete(1, by)).at(600, removed(1));
    story
        .at(1000, delete(0, by))
        .state(1000, 0, Live, Deleting)
        .state(1010, 0, Deleting, DeletingNoIo);
    if let Some(event) = meanwhile {
        story.at(1015, event);
    }
    story.at(1020, removed(0)).at(1025, head_gone(held));
    story
}

#[test]
fn a_volume_that_a_process_took_away_and_nobody_used_is_removed() {
    for held in [Some(false), None] {
        let story = taken_away("nvme", held, None);
        let [window] = story.closed()[..] else {
            panic!("{held:?}: {:?}", story.changes)
        };
        let end = window.cause_end.as_ref().map(|cause| cause.kind);
        assert_eq!(end, Some(CauseKind::Removed), "{held:?}");
        assert_eq!(length_ms(window), Some(15), "{held:?}");
        assert!(story.open().is_empty());
        let froze = |change: &Change| matches!(change, Change::Froze(_));
        assert!(!story.changes.iter().any(froze), "nobody felt it");
    }
}

#[test]
fn what_was_held_missed_or_taken_by_the_kernel_is_lost_not_removed() {
    let failed = Event::Failed {
        namespace: namespace(),
        count: 3,
        exact: true,
    };
    let requeued = Event::Requeued {
        namespace: namespace(),
        count: 1,
        exact: false,
    };
    let stories = [
        ("it was held open", taken_away("nvme", Some(true), None)),
        ("I/O failed", taken_away("nvme", Some(false), Some(failed))),
        (
            "I/O waited, and nobody knows of holders",
            taken_away("nvme", None, Some(requeued)),
        ),
        (
            "the kernel gave up",
            taken_away("kernel", Some(false), None),
        ),
    ];
    for (why, story) in stories {
        let [window] = story.open()[..] else {
            panic!("{why}: {:?}", story.changes)
        };
        assert_eq!(window.severity, Severity::Lost, "{why}");
    }
}

#[test]
fn a_lost_volume_that_comes_back_ends_its_window() {
    let mut story = taken_away("kernel", Some(false), None);
    story.controller(5000, 7).leg(5000, 7, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(length_ms(window), Some(3990));
    assert_eq!(window.severity, Severity::Lost);
}

#[test]
fn a_lost_volume_is_given_up_after_a_while() {
    let mut story = taken_away("kernel", Some(false), None);
    let hour = 3_600_000;
    story.at(hour, Event::Wall { unix_ns: UnixNs(0) });
    assert_eq!(story.open().len(), 1, "not yet");
    story.at(hour + 1_100, Event::Wall { unix_ns: UnixNs(0) });
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert!(window.truncated_end);
    assert_eq!(window.duration_ns, None);
}

#[test]
fn windows_less_than_the_gap_apart_are_one_freeze() {
    let freezes = |gap_ms: u64| {
        let mut story = before_cutover();
        story
            .ana(1000, 0, 1, Inaccessible)
            .ana(1500, 1, 1, Optimized)
            .ana(1500 + gap_ms, 1, 1, Inaccessible)
            .ana(1700 + gap_ms, 0, 1, Optimized);
        story.changes.extend(story.watch.end());
        let froze = |change: &Change| match change {
            Change::Froze(freeze) => Some((freeze.windows.len(), freeze.count)),
            _ => None,
        };
        story.changes.iter().filter_map(froze).collect::<Vec<_>>()
    };
    assert_eq!(freezes(99), [(2, 1)]);
    assert_eq!(freezes(100), [(1, 1), (1, 2)]);
}

#[test]
fn a_short_window_is_no_freeze() {
    for (length_ms, is_freeze) in [(99, false), (100, true)] {
        let mut story = before_cutover();
        story
            .ana(1000, 0, 1, Inaccessible)
            .ana(1000 + length_ms, 1, 1, Optimized);
        story.changes.extend(story.watch.end());
        let froze = |change: &Change| matches!(change, Change::Froze(_));
        assert_eq!(story.changes.iter().any(froze), is_freeze, "{length_ms}");
        assert_eq!(story.closed().len(), 1);
    }
}

#[test]
fn what_lies_in_a_known_migration_is_a_cutover_and_counts_with_it() {
    let migration = |phase: &str| Event::Migration {
        id: "m-1".to_owned(),
        phase: phase.to_owned(),
        nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
        targets: vec!["tcp://10.0.0.2:4420".parse().unwrap()],
    };
    let mut story = before_cutover();
    story
        .at(500, migration("Running"))
        .state(1000, 0, Live, Resetting)
        .ana(1700, 1, 1, Optimized)
        .at(2000, migration("Completed"))
        .state(3000, 1, Live, Resetting);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(
        (window.class, window.migration.as_deref()),
        (Class::Cutover, Some("m-1"))
    );
    let [after] = story.open()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(
        (after.class, after.migration.as_deref()),
        (Class::Outage, None)
    );
}

#[test]
fn an_event_that_comes_late_widens_the_error_and_never_turns_time_back() {
    let mut story = before_cutover();
    story
        .ana(1000, 0, 1, Inaccessible)
        .at(
            3000,
            Event::Link {
                ifname: "eth0".to_owned(),
                up: true,
            },
        )
        .ana(2990, 1, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(length_ms(window), Some(2000));
    assert_eq!(window.error_ns, 10_000_000 + 1_000);
}
