//! What is not well without being a window, and what stands beside one.

use super::*;

fn failover(count: u64, status: u16, oldest_ms: u64) -> Event {
    Event::Failover {
        controller: controller(0),
        nsid: Nsid(1),
        status,
        count,
        oldest: Some(BootNs(oldest_ms * 1_000_000)),
    }
}

#[test]
fn a_usable_leg_whose_io_keeps_failing_over_bounces() {
    let bouncing = |each: u64, lasting_ms: u64| {
        let mut story = before_cutover();
        for at in (0..=lasting_ms).step_by(100) {
            story.at(1000 + at, failover(each, 0x300, 900 + at));
        }
        story.watch.bouncing().len()
    };
    assert_eq!(bouncing(20, 1500), 1);
    assert_eq!(bouncing(20, 500), 0, "not for long enough");
    assert_eq!(bouncing(3, 1500), 0, "not often enough");
}

#[test]
fn a_leg_that_cannot_be_used_does_not_bounce() {
    let mut story = before_cutover();
    story.ana(500, 0, 1, Inaccessible);
    for at in (0..2000).step_by(100) {
        story.at(1000 + at, failover(20, 0x302, 900));
    }
    assert!(story.watch.bouncing().is_empty());
}

#[test]
fn more_ana_changes_than_the_bound_are_flapping() {
    let flapping = |changes: u64| {
        let mut story = before_cutover();
        for at in 0..changes {
            let state = if at % 2 == 0 { Inaccessible } else { Optimized };
            story.ana(1000 + at * 100, 0, 1, state);
        }
        story.watch.flapping().len()
    };
    assert_eq!((flapping(10), flapping(11)), (0, 1));
    let mut same = before_cutover();
    for at in 0..20 {
        same.ana(1000 + at, 0, 1, Optimized);
    }
    assert!(same.watch.flapping().is_empty(), "nothing changed");
}

#[test]
fn the_oldest_request_says_how_long_before_the_trouble_began() {
    let mut story = before_cutover();
    story
        .at(1000, failover(1, 0x370, 400))
        .state(1001, 0, Live, Resetting)
        .at(1002, failover(5, 0x371, 350))
        .at(1500, failover(5, 0x371, 1400));
    let [window] = story.open()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(window.trouble_ns, Some(BootNs(350_000_000)));
}

#[test]
fn an_interface_that_is_down_is_named_beside_the_cause() {
    let nearby = |up_ms: Option<u64>| {
        let mut story = before_cutover();
        story.at(
            10,
            Event::ControllerAdded {
                controller: controller(0),
                nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
                endpoint: None,
                hostnqn: None,
                cntlid: None,
                state: Live,
                interface: Some("eth1".to_owned()),
            },
        );
        let link = |up| Event::Link {
            ifname: "eth1".to_owned(),
            up,
        };
        story.at(1000, link(false));
        if let Some(up_ms) = up_ms {
            story.at(up_ms, link(true));
        }
        story.state(90_000, 0, Live, Resetting);
        let window = story.open()[0];
        window.cause_begin.nearby.as_ref().map(|it| it.down_ns)
    };
    assert_eq!(nearby(None), Some(BootNs(1_000_000_000)));
    assert_eq!(
        nearby(Some(89_000)),
        Some(BootNs(1_000_000_000)),
        "shortly before"
    );
    assert_eq!(nearby(Some(2_000)), None, "long over");
}

#[test]
fn source_and_target_of_a_migration_that_both_serve_are_told() {
    let mut story = before_cutover();
    story.at(
        100,
        Event::ControllerAdded {
            controller: controller(1),
            nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
            endpoint: "tcp://10.0.0.2:4420".parse().ok(),
            hostnqn: None,
            cntlid: None,
            state: Live,
            interface: None,
        },
    );
    story.at(
        100,
        Event::ControllerAdded {
            controller: controller(0),
            nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
            endpoint: "tcp://10.0.0.1:4420".parse().ok(),
            hostnqn: None,
            cntlid: None,
            state: Live,
            interface: None,
        },
    );
    story.ana(200, 1, 1, Optimized);
    assert!(story.changes.is_empty(), "no migration is known");
    let migration = Event::Migration {
        id: "m".to_owned(),
        phase: "Running".to_owned(),
        nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
        targets: vec!["tcp://10.0.0.2:4420".parse().unwrap()],
    };
    story.at(300, migration).ana(900, 0, 1, Inaccessible);
    let spans: Vec<_> = story
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::DoubleOptimized(span) => Some((span.begin_ns.0, span.end_ns.map(|it| it.0))),
            _ => None,
        })
        .collect();
    assert_eq!(
        spans,
        [(300_000_000, None), (300_000_000, Some(900_000_000))]
    );
}

#[test]
fn what_was_held_and_failed_is_counted_also_right_after_the_end() {
    let namespace = crate::event::NamespaceId {
        nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
        nsid: Nsid(1),
        uuid: None,
    };
    let requeued = |count| Event::Requeued {
        namespace: namespace.clone(),
        count,
        exact: true,
    };
    let mut story = before_cutover();
    story
        .ana(1000, 0, 1, Inaccessible)
        .at(1500, requeued(3))
        .ana(2000, 1, 1, Optimized)
        .at(2010, requeued(4));
    let Some(Change::Amended(window)) = story.changes.last() else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(
        (window.requeued, window.failed, window.exact),
        (Some(7), None, true)
    );
    let told = story.changes.len();
    story.at(9000, requeued(1));
    assert!(
        !story.changes[told..]
            .iter()
            .any(|it| matches!(it, Change::Amended(_))),
        "too late to be of that window"
    );
}

#[test]
fn a_loss_right_after_the_end_makes_it_a_lower_bound() {
    let mut story = before_cutover();
    story
        .ana(1000, 0, 1, Inaccessible)
        .ana(2000, 1, 1, Optimized)
        .at(2000, Event::Lost { count: 1 });
    let amended = story.changes.iter().find_map(|change| match change {
        Change::Amended(window) => Some(window),
        _ => None,
    });
    let window = amended.unwrap();
    assert!(window.truncated_begin);
    assert_eq!(
        (window.duration_ns, window.at_least_ns),
        (None, Some(1_000_000_000))
    );
}

#[test]
fn a_change_takes_in_only_what_is_of_its_own_window() {
    let two = |nsid| {
        let mut story = before_cutover();
        story
            .leg(0, 0, nsid, Optimized)
            .ana(1000, 0, nsid, Inaccessible)
            .ana(2000, 0, nsid, Optimized);
        story.closed()[0].clone()
    };
    let (one, other) = (two(2), two(3));
    let mut change = Change::Closed(one.clone());
    assert!(!change.take_in(&Change::Amended(other)));
    assert_eq!(change, Change::Closed(one.clone()));
    let mut amended = one;
    amended.requeued = Some(5);
    assert!(change.take_in(&Change::Amended(amended.clone())));
    assert_eq!(change, Change::Closed(amended));
}
