//! Looks at sysfs beside events: what they may correct, and what they may not.

use super::*;
use crate::fabric::{
    Attr, Controller, DiskName, Head, HeadCounters, Host, Layout, Leg, LegCounters, Multipath,
    Namespace, Sectors, Subsystem, SubsystemKind, SubsystemName, Transport,
};

/// The host of `before_cutover`, with these ANA states and the head.
fn host(states: [AnaState; 2]) -> Host {
    let owner = SubsystemName::from_instance(0);
    let nqn = Nqn::new("nqn.2023-02.io.simplyblock:a");
    let legs = states.iter().zip(0..).map(|(ana, instance)| Leg {
        name: DiskName::leg(0, instance, 1),
        controller: ControllerName::from_instance(instance),
        layout: Layout::Multipath,
        ana: Attr::Value(*ana),
        group: Some(AnaGroup(1)),
        size: Attr::Value(Sectors(8)),
        counters: LegCounters::default(),
    });
    let controllers = (0..2).map(|instance| Controller {
        generation: Some(Generation(u64::from(instance) + 100)),
        subsystem: Some(owner),
        subsysnqn: Attr::Value(nqn.clone()),
        transport: Attr::Value(Transport::new("tcp")),
        state: Live,
        ..Controller::unknown(ControllerName::from_instance(instance))
    });
    Host {
        multipath: Some(Multipath::On),
        subsystems: vec![Subsystem {
            name: owner,
            nqn: Attr::Value(nqn.clone()),
            kind: Attr::Value(SubsystemKind::Nvm),
            model: None,
            serial: None,
            firmware: None,
            iopolicy: None,
            namespaces: vec![Namespace {
                instance: 1,
                nsid: Some(Nsid(1)),
                uuid: None,
                head: Some(Head {
                    name: DiskName::disk(0, 1),
                    size: Attr::Value(Sectors(8)),
                    delayed_removal: None,
                    counters: HeadCounters::default(),
                }),
                legs: legs.collect(),
            }],
        }],
        controllers: controllers.collect(),
        ..Host::default()
    }
}

fn look(story: &mut Story, began_ms: u64, ended_ms: u64, states: [AnaState; 2]) {
    let event = Event::Snapshot {
        host: Box::new(host(states)),
        began: Some(BootNs(began_ms * 1_000_000)),
    };
    story.at(ended_ms, event);
}

fn drifts(story: &Story) -> usize {
    let drift = |change: &&Change| matches!(change, Change::Drifted(_));
    story.changes.iter().filter(drift).count()
}

/// The first look is taken, and agrees.
fn looked_at() -> Story {
    let mut story = before_cutover();
    look(&mut story, 100, 110, [Optimized, Inaccessible]);
    story
}

#[test]
fn a_look_that_agrees_changes_nothing() {
    let mut story = looked_at();
    look(&mut story, 500, 510, [Optimized, Inaccessible]);
    assert!(story.changes.is_empty(), "{:?}", story.changes);
}

#[test]
fn a_look_that_disagrees_is_told_and_followed_and_gives_no_length() {
    let mut story = looked_at();
    look(&mut story, 500, 510, [Inaccessible, Inaccessible]);
    assert_eq!(drifts(&story), 1);
    story.ana(900, 1, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert!(window.truncated_begin);
    assert_eq!(
        (window.duration_ns, length_of_least(window)),
        (None, Some(390))
    );
}

fn length_of_least(window: &Window) -> Option<u64> {
    window.at_least_ns.map(|it| it / 1_000_000)
}

#[test]
fn a_subsystem_in_which_something_happened_meanwhile_is_left_alone() {
    let mut story = looked_at();
    story.ana(505, 0, 1, Inaccessible);
    // It read the leg before the event.
    look(&mut story, 500, 510, [Optimized, Inaccessible]);
    assert!(story.watch.unsettled());
    assert_eq!(drifts(&story), 0);
    assert_eq!(story.open().len(), 1);
    look(&mut story, 700, 710, [Inaccessible, Inaccessible]);
    assert!(!story.watch.unsettled());
    assert_eq!((drifts(&story), story.open().len()), (0, 1));
}

#[test]
fn what_a_look_cannot_see_stays_as_it_was() {
    let mut story = looked_at();
    story.pending(300, 0, 1);
    // sysfs says optimized until the log has been read.
    look(&mut story, 600, 610, [Optimized, Inaccessible]);
    assert_eq!(drifts(&story), 0);
    assert_eq!(story.open().len(), 1, "pending is not to be seen");
}

#[test]
fn after_a_loss_a_look_is_no_drift() {
    let mut story = looked_at();
    story.at(400, Event::Lost { count: 1 });
    look(&mut story, 500, 510, [Inaccessible, Inaccessible]);
    assert_eq!(drifts(&story), 0);
    let [window] = story.open()[..] else {
        panic!("{:?}", story.changes)
    };
    assert!(window.truncated_begin);
}

#[test]
fn the_host_that_events_add_up_to_is_the_one_that_is_seen() {
    let mut story = looked_at();
    story
        .ana(1000, 0, 1, Inaccessible)
        .ana(2000, 1, 1, Optimized);
    assert_eq!(story.watch.host(), host([Inaccessible, Optimized]));
}

#[test]
fn dark_with_a_head_at_the_first_look_has_begun_before() {
    let mut story = Story::new();
    look(&mut story, 100, 110, [Inaccessible, Inaccessible]);
    let [window] = story.open()[..] else {
        panic!("{:?}", story.changes)
    };
    assert!(window.truncated_begin);
}
