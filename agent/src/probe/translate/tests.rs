//! Records one by one, and what they are told as.

use pathwarden_ebpf::{
    AnaBody, AnaPendingBody, ConnectBody, ControllerBody, Header, ReconnectBody, StateBody,
};
use zerocopy::FromZeros as _;

use super::*;

const MS: u64 = 1_000_000;

fn controller(state: u32) -> Controller {
    Controller {
        pointer: 0xffff_8880_0000_1000,
        generation: 12375,
        instance: 3,
        state,
        cntlid: 1,
        fabrics: 1,
        ..Controller::new_zeroed()
    }
}

fn leg(ana_state: u32, flags: u64) -> LegBody {
    LegBody {
        controller: controller(state::LIVE),
        flags,
        uuid: [7; 16],
        nsid: 1,
        ana_state,
        group: 1,
        head_instance: 1,
        traits: LegBody::HAS_ANA | LegBody::MULTIPATH,
        ..LegBody::new_zeroed()
    }
}

const READY: u64 = 1 << bits::NS_READY;

fn ana(state: u32, controller_state: u32) -> Body {
    let mut body = AnaBody {
        controller: controller(controller_state),
        group: 1,
        state,
        nsid_count: 2,
        nsids_held: 2,
        ..AnaBody::new_zeroed()
    };
    body.nsids[..2].copy_from_slice(&[1, 9]);
    Body::Ana(Box::new(body))
}

/// Translates records, a millisecond apart unless told otherwise.
fn events(bodies: impl IntoIterator<Item = Body>) -> Vec<Event> {
    let timed = bodies
        .into_iter()
        .zip(1..)
        .map(|(body, at)| (at * MS, body));
    events_at(timed)
}

fn events_at(bodies: impl IntoIterator<Item = (u64, Body)>) -> Vec<Event> {
    let mut translate = Translate::default();
    let mut events = Vec::new();
    for (boot_ns, body) in bodies {
        let header = Header {
            boot_ns,
            ..Header::new_zeroed()
        };
        translate.record(&Record { header, body }, &mut events);
    }
    events.into_iter().map(|envelope| envelope.event).collect()
}

fn id() -> ControllerId {
    ControllerId {
        name: ControllerName::from_instance(3),
        generation: Generation(12375),
    }
}

#[test]
fn live_counts_where_it_is_stored_not_where_it_is_asked_for() {
    let asked = StateBody {
        controller: controller(state::CONNECTING),
        new: state::LIVE,
        ..StateBody::new_zeroed()
    };
    assert_eq!(events([Body::State(asked)]), []);
    let stored = Body::Live(ControllerBody {
        controller: controller(state::LIVE),
    });
    assert_eq!(
        events([stored]),
        [Event::ControllerState {
            controller: id(),
            old: ControllerState::Connecting,
            new: ControllerState::Live,
        }]
    );
}

#[test]
fn an_accessible_group_counts_at_once_only_where_no_leg_is_set_live() {
    assert_eq!(
        events([ana(1, state::LIVE)]),
        [],
        "each leg's set-live follows"
    );
    let [
        Event::Ana {
            state: AnaState::Optimized,
            nsids,
            more: false,
            ..
        },
    ] = &events([ana(1, state::CONNECTING)])[..]
    else {
        panic!("a reconnect reads the log before it is live");
    };
    assert_eq!(nsids, &[Nsid(1), Nsid(9)]);
    let [
        Event::Ana {
            state: AnaState::Inaccessible,
            ..
        },
    ] = &events([ana(3, state::LIVE)])[..]
    else {
        panic!("a loss counts at once");
    };
}

#[test]
fn a_leg_first_heard_of_in_passing_is_announced() {
    let told = events([Body::LegLive(leg(1, READY)), Body::LegLive(leg(2, READY))]);
    let [
        Event::LegAdded { nsid: Nsid(1), .. },
        Event::Ana { state, .. },
    ] = &told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!(*state, AnaState::NonOptimized);
    let pending = AnaPendingBody {
        leg: leg(1, READY),
        ..AnaPendingBody::new_zeroed()
    };
    let told = events([Body::AnaPending(pending)]);
    assert!(
        matches!(
            &told[..],
            [Event::LegAdded { .. }, Event::AnaPending { .. }]
        ),
        "{told:?}"
    );
}

#[test]
fn a_leg_that_was_removed_is_new_when_it_comes_back() {
    let told = events([
        Body::LegAdded(leg(3, READY)),
        Body::LegAdded(leg(3, READY)),
        Body::LegRemoved(leg(3, 0)),
        Body::LegAdded(leg(1, READY)),
    ]);
    let words: Vec<_> = told.iter().map(Event::word).collect();
    assert_eq!(words, ["leg-added", "leg-removed", "leg-added"]);
}

#[test]
fn a_look_right_after_an_event_is_not_believed() {
    let look = Body::LegSnapshot(leg(1, READY));
    let told = events_at([
        (100 * MS, Body::LegAdded(leg(1, READY))),
        (200 * MS, ana(3, state::LIVE)),
        (201 * MS, look.clone()),
        (300 * MS, look),
    ]);
    let words: Vec<_> = told.iter().map(Event::word).collect();
    assert_eq!(words, ["leg-added", "ana", "leg-words"]);
}

#[test]
fn pending_and_ready_are_read_from_the_flags() {
    let told = events([Body::LegAdded(leg(1, 1 << bits::NS_ANA_PENDING))]);
    let [Event::LegAdded { state, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(
        *state,
        LegState {
            ana: Some(AnaState::Optimized),
            pending: true,
            ready: false
        }
    );
}

#[test]
fn a_controller_without_a_folder_any_more_keeps_its_generation() {
    let gone = ControllerBody {
        controller: Controller {
            generation: 0,
            ..controller(state::DELETING_NOIO)
        },
    };
    let alive = ControllerBody {
        controller: controller(state::LIVE),
    };
    let told = events([Body::Live(alive), Body::Gone(gone), Body::Gone(gone)]);
    assert_eq!(told[1], Event::ControllerRemoved { controller: id() });
    let nobody = ControllerId {
        generation: Generation(0),
        ..id()
    };
    assert_eq!(
        told[2],
        Event::ControllerRemoved { controller: nobody },
        "its address is free"
    );
}

#[test]
fn local_drives_discovery_and_private_namespaces_are_no_events() {
    let local = Controller {
        fabrics: 0,
        ..controller(state::LIVE)
    };
    let discovery = Controller {
        discovery: 1,
        ..controller(state::LIVE)
    };
    let private = LegBody {
        traits: LegBody::HAS_ANA,
        ..leg(1, READY)
    };
    assert_eq!(
        events([
            Body::Live(ControllerBody { controller: local }),
            Body::Live(ControllerBody {
                controller: discovery
            }),
            Body::LegLive(private),
        ]),
        []
    );
}

#[test]
fn results_are_told_as_the_kernel_has_them() {
    let rejected = ConnectBody {
        controller: Controller {
            reconnects: 2,
            ..controller(state::CONNECTING)
        },
        result: 0x4182,
        ..ConnectBody::new_zeroed()
    };
    let unknown = ReconnectBody {
        controller: controller(state::CONNECTING),
        status: NO_STATUS,
        ..ReconnectBody::new_zeroed()
    };
    let refused = ReconnectBody {
        status: -111,
        ..unknown
    };
    let told = events([
        Body::Connect(rejected),
        Body::Reconnect(unknown),
        Body::Reconnect(refused),
    ]);
    assert_eq!(
        told,
        [
            Event::Connect {
                controller: id(),
                attempt: 2,
                result: Outcome::Status(0x4182)
            },
            Event::Reconnect {
                controller: id(),
                attempt: 0,
                result: None
            },
            Event::Reconnect {
                controller: id(),
                attempt: 0,
                result: Some(Outcome::Errno(111))
            },
        ]
    );
}

#[test]
fn an_identity_names_subsystem_and_endpoint() {
    let mut body = IdentityBody {
        controller: controller(state::LIVE),
        ..IdentityBody::new_zeroed()
    };
    let set = |field: &mut [u8], text: &str| field[..text.len()].copy_from_slice(text.as_bytes());
    set(&mut body.transport, "tcp");
    set(
        &mut body.subsysnqn,
        "nqn.2014.08.org.nvmexpress:SERIAL   with spaces",
    );
    set(&mut body.traddr, "10.0.0.1");
    set(&mut body.trsvcid, "4420");
    let told = events([Body::Identity(Box::new(body))]);
    let [
        Event::ControllerAdded {
            nqn,
            endpoint,
            hostnqn,
            ..
        },
    ] = &told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!(
        nqn.as_str(),
        "nqn.2014.08.org.nvmexpress:SERIAL   with spaces"
    );
    assert_eq!(
        endpoint.as_ref().unwrap().to_string(),
        "tcp://10.0.0.1:4420"
    );
    assert_eq!(*hostnqn, None);
}
