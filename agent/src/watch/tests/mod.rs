//! Stories of one subsystem, told event by event.

mod ends;
mod looks;
mod signs;

use std::time::Duration;

use super::*;
use crate::{
    event::LegState,
    fabric::{AnaGroup, AnaState, ControllerName, ControllerState, Generation, Nqn, UnixNs},
};

use AnaState::{Inaccessible, NonOptimized, Optimized};
use ControllerState::{Connecting, Deleting, DeletingNoIo, Live, Resetting};

/// A host with one subsystem, told event by event, milliseconds apart.
struct Story {
    watch: Watch,
    now_ms: u64,
    changes: Vec<Change>,
}

fn controller(instance: u32) -> ControllerId {
    let name = ControllerName::from_instance(instance);
    ControllerId {
        name,
        generation: Generation(u64::from(instance) + 100),
    }
}

impl Story {
    fn new() -> Self {
        Self {
            watch: Watch::new("0a1b2c3d-boot", Bounds::default()),
            now_ms: 0,
            changes: Vec::new(),
        }
    }

    fn at(&mut self, ms: u64, event: Event) -> &mut Self {
        self.now_ms = ms;
        let envelope = Envelope {
            time: BootNs(ms * 1_000_000),
            error_ns: 1_000,
            source: Source::Bpf,
            event,
        };
        self.changes.extend(self.watch.apply(&envelope));
        self
    }

    fn controller(&mut self, ms: u64, instance: u32) -> &mut Self {
        self.at(
            ms,
            Event::ControllerAdded {
                controller: controller(instance),
                nqn: Nqn::new("nqn.2023-02.io.simplyblock:a"),
                endpoint: None,
                hostnqn: None,
                cntlid: None,
                state: Live,
                interface: None,
            },
        )
    }

    fn leg(&mut self, ms: u64, instance: u32, nsid: u32, ana: AnaState) -> &mut Self {
        self.at(
            ms,
            Event::LegAdded {
                controller: controller(instance),
                nsid: Nsid(nsid),
                nqn: None,
                uuid: None,
                name: None,
                group: Some(AnaGroup(nsid)),
                state: LegState {
                    ana: Some(ana),
                    pending: false,
                    ready: true,
                },
            },
        )
    }

    fn ana(&mut self, ms: u64, instance: u32, nsid: u32, state: AnaState) -> &mut Self {
        self.at(
            ms,
            Event::Ana {
                controller: controller(instance),
                group: AnaGroup(nsid),
                state,
                nsids: vec![Nsid(nsid)],
                more: false,
            },
        )
    }

    fn pending(&mut self, ms: u64, instance: u32, nsid: u32) -> &mut Self {
        let event = Event::AnaPending {
            controller: controller(instance),
            nsid: Nsid(nsid),
        };
        self.at(ms, event)
    }

    fn state(
        &mut self,
        ms: u64,
        instance: u32,
        old: ControllerState,
        new: ControllerState,
    ) -> &mut Self {
        self.at(
            ms,
            Event::ControllerState {
                controller: controller(instance),
                old,
                new,
            },
        )
    }

    fn closed(&self) -> Vec<&Window> {
        self.changes
            .iter()
            .filter_map(|change| match change {
                Change::Closed(window) => Some(window),
                _ => None,
            })
            .collect()
    }

    fn open(&self) -> Vec<&Window> {
        self.watch.open().collect()
    }
}

/// Source nvme0 serves, target nvme1 is parked.
fn before_cutover() -> Story {
    let mut story = Story::new();
    story
        .controller(0, 0)
        .controller(0, 1)
        .leg(0, 0, 1, Optimized)
        .leg(0, 1, 1, Inaccessible);
    story
}

fn length_ms(window: &Window) -> Option<u64> {
    window
        .duration_ns
        .map(|nanoseconds| nanoseconds / 1_000_000)
}

#[test]
fn a_clean_cutover_is_one_window_between_the_two_logs() {
    let mut story = before_cutover();
    story
        .ana(1000, 0, 1, Inaccessible)
        .ana(3000, 1, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(length_ms(window), Some(2000));
    assert_eq!(window.class, Class::Cutover);
    assert_eq!(window.severity, Severity::Queued);
    assert_eq!(window.cause_begin.kind, CauseKind::AnaLog);
    assert_eq!(window.cause_begin.controller, Some(controller(0)));
    assert_eq!(
        window.cause_end.as_ref().unwrap().controller,
        Some(controller(1))
    );
    let legs: Vec<_> = window
        .legs
        .iter()
        .map(|leg| (leg.leg.as_str(), leg.usable))
        .collect();
    assert_eq!(legs, [("nvme0 nsid 1", false), ("nvme1 nsid 1", true)]);
    assert!(story.open().is_empty());
}

#[test]
fn the_window_begins_at_the_failed_io_not_at_the_log_that_explains_it() {
    let mut story = before_cutover();
    story
        .pending(1000, 0, 1)
        .ana(1010, 0, 1, Inaccessible)
        .ana(3000, 1, 1, NonOptimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(window.begin_ns, BootNs(1_000_000_000));
    assert_eq!(window.cause_begin.kind, CauseKind::AnaError);
    assert_eq!(window.class, Class::Cutover);
}

#[test]
fn a_log_that_says_accessible_again_ends_what_was_pending() {
    let mut story = before_cutover();
    story.pending(1000, 0, 1).ana(1300, 0, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(length_ms(window), Some(300));
    assert_eq!(
        window.class,
        Class::Outage,
        "the same controller serves again: nothing was cut over"
    );
}

#[test]
fn a_lost_controller_is_a_window_by_its_state() {
    let mut story = before_cutover();
    story
        .state(1000, 0, Live, Resetting)
        .state(1001, 0, Resetting, Connecting)
        .state(2500, 0, Connecting, Live);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(length_ms(window), Some(1500));
    assert_eq!(window.cause_begin.kind, CauseKind::ControllerState);
    assert_eq!(
        (window.class, window.severity),
        (Class::Outage, Severity::Queued)
    );
}

#[test]
fn a_cutover_whose_source_dies_meanwhile_is_an_outage() {
    let mut story = before_cutover();
    story
        .ana(1000, 0, 1, Inaccessible)
        .state(1500, 0, Live, Resetting)
        .ana(3000, 1, 1, Optimized);
    assert_eq!(story.closed()[0].class, Class::Outage);
}

#[test]
fn io_would_fail_once_no_controller_is_left_to_wait_for() {
    let mut story = Story::new();
    story
        .controller(0, 0)
        .leg(0, 0, 1, Optimized)
        .state(1000, 0, Live, Resetting)
        .state(1001, 0, Resetting, Connecting)
        .at(
            3000,
            Event::FailfastExpired {
                controller: controller(0),
            },
        )
        .state(4000, 0, Connecting, Live);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(window.severity, Severity::Failing);
    assert_eq!(window.failing_since_ns, Some(BootNs(3_000_000_000)));
}

#[test]
fn a_parked_namespace_that_never_was_usable_has_no_window() {
    let mut story = Story::new();
    story
        .controller(0, 1)
        .leg(0, 1, 1, Inaccessible)
        .ana(500, 1, 1, Inaccessible);
    assert!(story.changes.is_empty() && story.open().is_empty());
    story.ana(600, 1, 1, Optimized).ana(700, 1, 1, Inaccessible);
    assert_eq!(story.open().len(), 1, "from its first use on it has");
}

#[test]
fn only_the_namespace_whose_group_changed_is_dark() {
    let mut story = before_cutover();
    story.leg(0, 0, 2, Optimized).ana(1000, 0, 1, Inaccessible);
    assert_eq!(
        story.open().iter().map(|it| it.nsid).collect::<Vec<_>>(),
        [Nsid(1)]
    );
    story.state(1200, 0, Live, Resetting);
    assert_eq!(story.open().len(), 2, "its controller takes both");
}

#[test]
fn one_usable_leg_keeps_a_namespace_out_of_the_dark() {
    let mut story = before_cutover();
    story
        .ana(500, 1, 1, NonOptimized)
        .ana(1000, 0, 1, Inaccessible);
    assert!(story.changes.is_empty());
    story.ana(1500, 1, 1, Inaccessible);
    assert_eq!(story.open()[0].begin_ns, BootNs(1_500_000_000));
}

#[test]
fn a_deleting_controller_serves_until_it_takes_no_io() {
    let mut story = before_cutover();
    story.state(1000, 0, Live, Deleting);
    assert!(story.open().is_empty());
    story.state(1100, 0, Deleting, DeletingNoIo);
    assert_eq!(story.open()[0].begin_ns, BootNs(1_100_000_000));
}

#[test]
fn a_namespace_without_any_leg_is_lost_until_a_leg_serves_it() {
    let mut story = Story::new();
    story.controller(0, 0).leg(0, 0, 1, Optimized);
    story.at(
        1000,
        Event::LegRemoved {
            controller: controller(0),
            nsid: Nsid(1),
        },
    );
    assert_eq!(story.open()[0].severity, Severity::Lost);
    story.at(
        1100,
        Event::ControllerRemoved {
            controller: controller(0),
        },
    );
    story.controller(2000, 0).leg(2100, 0, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(length_ms(window), Some(1100));
    assert_eq!(window.cause_begin.kind, CauseKind::LegRemoved);
    assert_eq!(window.cause_end.as_ref().unwrap().kind, CauseKind::LegAdded);
}

#[test]
fn a_reused_name_is_another_controller() {
    let mut story = before_cutover();
    let successor = ControllerId {
        generation: Generation(999),
        ..controller(0)
    };
    story.at(
        1000,
        Event::ControllerState {
            controller: successor,
            old: Live,
            new: Resetting,
        },
    );
    assert!(
        story.changes.is_empty(),
        "its predecessor's legs are not touched"
    );
}

#[test]
fn lost_events_make_an_open_window_a_lower_bound() {
    let mut story = before_cutover();
    story
        .ana(1000, 0, 1, Inaccessible)
        .at(1500, Event::Lost { count: 3 })
        .ana(3000, 1, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert!(window.truncated_begin);
    assert_eq!(
        (window.duration_ns, window.at_least_ns),
        (None, Some(2_000_000_000))
    );
}

#[test]
fn what_is_open_when_watching_ends_is_recorded_as_cut_off() {
    let mut story = before_cutover();
    story.ana(1000, 0, 1, Inaccessible);
    let [Change::Closed(window), ..] = &story.watch.stop(BootNs(4_000_000_000))[..] else {
        panic!()
    };
    assert!(window.truncated_end && !window.open);
    assert_eq!(
        (window.duration_ns, window.at_least_ns),
        (None, Some(3_000_000_000))
    );
    assert!(story.watch.stop(BootNs(5_000_000_000)).is_empty());
}

#[test]
fn a_step_of_wall_time_does_not_change_a_length() {
    let mut story = before_cutover();
    story.at(
        0,
        Event::Wall {
            unix_ns: UnixNs(1_800_000_000_000_000_000),
        },
    );
    story.ana(1000, 0, 1, Inaccessible);
    story.at(
        1500,
        Event::Wall {
            unix_ns: UnixNs(1_700_000_000_000_000_000),
        },
    );
    story.ana(3000, 1, 1, Optimized);
    let [window] = story.closed()[..] else {
        panic!("{:?}", story.changes)
    };
    assert_eq!(length_ms(window), Some(2000));
    assert_eq!(window.begin_unix_ms, Some(1_800_000_001_000));
}

#[test]
fn windows_have_ids_of_their_own_that_do_not_change() {
    let mut story = before_cutover();
    story
        .leg(0, 0, 2, Optimized)
        .state(1000, 0, Live, Resetting);
    let ids: Vec<String> = story
        .open()
        .iter()
        .map(|window| window.id.to_string())
        .collect();
    assert_eq!(
        ids,
        ["0a1b2c3d-3b9aca00-5b9d06c9", "0a1b2c3d-3b9aca00-b1d2c35a"]
    );
}

#[test]
fn a_flapping_leg_does_not_fill_memory() {
    let mut story = before_cutover();
    story
        .ana(1000, 0, 1, Inaccessible)
        .leg(1000, 0, 2, Optimized);
    for ms in 1001..2001 {
        story
            .state(ms, 0, Live, Resetting)
            .state(ms, 0, Connecting, Live);
    }
    story.ana(3000, 1, 1, Optimized);
    let of_first = story
        .closed()
        .into_iter()
        .rfind(|window| window.nsid == Nsid(1))
        .unwrap();
    assert!(of_first.legs.len() <= window::MAX_LEG_CHANGES);
    assert_eq!(
        of_first.begin_ns.saturating_since(BootNs(0)),
        Duration::from_secs(1)
    );
}
