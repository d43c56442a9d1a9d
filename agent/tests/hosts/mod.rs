//! Hosts, and what is expected of them, at random. Small numbers on purpose: faults need things to coincide.

use std::collections::BTreeSet;
use std::time::Duration;

use pathwarden::diagnose::{
    Desired, DesiredSubsystem, Expectation, Fact, HostId, Node, Profile, Question,
};
use pathwarden::fabric::{
    AnaGroup, AnaState, Attr, Cntlid, Controller, ControllerKind, ControllerName, ControllerState,
    DiskName, Endpoint, Head, HeadCounters, Host, Layout, Leg, LegCounters, Limit, Multipath,
    Namespace, Nqn, Nsid, Sectors, Subsystem, SubsystemKind, SubsystemName, Traddr, Transport,
    UnixNs, Uuid,
};
use proptest::prelude::*;

pub(crate) const OURS: &str =
    "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-0000-4000-8000-00000000000a";
const THEIRS: &str = "nqn.2014-08.org.nvmexpress:uuid:bbbbbbbb-0000-4000-8000-00000000000b";

/// A host in which everything can be read.
pub(crate) fn host() -> impl Strategy<Value = Host> {
    let multipath = prop_oneof![9 => Just(Multipath::On), 1 => Just(Multipath::Off)];
    (multipath, prop::collection::vec(subsystem(), 0..4)).prop_map(|(multipath, drafts)| {
        let mut host = Host {
            multipath: Some(multipath),
            ..Host::default()
        };
        let mut next = 0;
        for (number, draft) in (0..).zip(drafts) {
            draft.build(number, &mut next, multipath, &mut host);
        }
        host.sort();
        host
    })
}

#[derive(Debug, Clone)]
struct SubsystemDraft {
    nqn: u8,
    kind: Option<SubsystemKind>,
    transport: Transport,
    namespaces: Vec<NamespaceDraft>,
    controllers: Vec<ControllerDraft>,
}

#[derive(Debug, Clone)]
struct NamespaceDraft {
    uuid: bool,
    head: bool,
    private: bool,
    /// By controller, modulo: a leg, its state, whether its size is the head's.
    legs: Vec<(bool, Option<AnaState>, bool)>,
}

#[derive(Debug, Clone)]
struct ControllerDraft {
    state: ControllerState,
    place: u8,
    port: u16,
    ours: bool,
    id: u8,
    cntlid: Option<u16>,
    deletable: bool,
    kind: Option<ControllerKind>,
    timeouts: (Option<Limit>, Option<Limit>, Option<Limit>),
    bound: bool,
}

fn subsystem() -> impl Strategy<Value = SubsystemDraft> {
    let transport = prop_oneof![
        12 => Just(Transport::Tcp),
        1 => Just(Transport::Rdma),
        1 => Just(Transport::Pcie),
        1 => Just(Transport::Other("quic".into())),
    ];
    let kind = prop_oneof![
        12 => Just(Some(SubsystemKind::Nvm)),
        1 => Just(Some(SubsystemKind::Discovery)),
        1 => Just(None),
    ];
    (
        prop_oneof![1 => Just(0_u8), 12 => 1..5_u8],
        kind,
        transport,
        prop::collection::vec(namespace(), 0..4),
        prop::collection::vec(controller(), 0..6),
    )
        .prop_map(
            |(nqn, kind, transport, namespaces, controllers)| SubsystemDraft {
                nqn,
                kind,
                transport,
                namespaces,
                controllers,
            },
        )
}

fn namespace() -> impl Strategy<Value = NamespaceDraft> {
    let ana = prop_oneof![
        12 => Just(Some(AnaState::Optimized)),
        4 => Just(Some(AnaState::NonOptimized)),
        8 => Just(Some(AnaState::Inaccessible)),
        1 => Just(Some(AnaState::PersistentLoss)),
        1 => Just(Some(AnaState::Change)),
        1 => Just(Some(AnaState::Invalid)),
        1 => Just(None),
    ];
    let leg = (prop::bool::weighted(0.7), ana, prop::bool::weighted(0.95));
    (
        any::<bool>(),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.1),
        prop::collection::vec(leg, 1..5),
    )
        .prop_map(|(uuid, head, private, legs)| NamespaceDraft {
            uuid,
            head,
            private,
            legs,
        })
}

fn controller() -> impl Strategy<Value = ControllerDraft> {
    let state = prop_oneof![
        20 => Just(ControllerState::Live),
        6 => Just(ControllerState::Connecting),
        1 => Just(ControllerState::Resetting),
        1 => Just(ControllerState::Deleting),
        1 => Just(ControllerState::DeletingNoIo),
        1 => Just(ControllerState::Dead),
        1 => Just(ControllerState::New),
        1 => Just(ControllerState::Unknown),
    ];
    let kind = prop_oneof![
        20 => Just(Some(ControllerKind::Io)),
        1 => Just(Some(ControllerKind::Discovery)),
        1 => Just(Some(ControllerKind::Admin)),
        1 => Just(None),
    ];
    let limit = || {
        prop_oneof![
            Just(None),
            Just(Some(Limit::Off)),
            (0..4_000_u64).prop_map(|s| Some(Limit::After(Duration::from_secs(s)))),
        ]
    };
    (
        (
            state,
            1..6_u8,
            prop_oneof![Just(4420_u16), Just(4426)],
            prop::bool::weighted(0.9),
            0..2_u8,
        ),
        (
            prop::option::weighted(0.95, any::<u16>()),
            prop::bool::weighted(0.95),
            kind,
        ),
        (limit(), limit(), limit()),
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |((state, place, port, ours, id), (cntlid, deletable, kind), timeouts, bound)| {
                ControllerDraft {
                    state,
                    place,
                    port,
                    ours,
                    id,
                    cntlid,
                    deletable,
                    kind,
                    timeouts,
                    bound,
                }
            },
        )
}

fn attr<T>(value: Option<T>) -> Attr<T> {
    value.map_or(Attr::Unset, Attr::Value)
}

pub(crate) fn nqn(number: u8) -> Nqn {
    match number {
        0 => Nqn::new(Nqn::DISCOVERY),
        // One family with a profile, one NQN with spaces.
        1 => Nqn::new("nqn.2023-02.io.simplyblock:pool:lvol:1"),
        2 => Nqn::new("nqn.2014.08.org.nvmexpress:1bb11bb1SERIAL            Example SSD 530 4000"),
        n => Nqn::new(&format!("nqn.2019-01.com.example:vol-{n}")),
    }
}

impl SubsystemDraft {
    fn build(self, number: u32, next: &mut u32, multipath: Multipath, host: &mut Host) {
        let name = SubsystemName::from_instance(number);
        let first = *next;
        // The kernel has one subsystem per NQN; a second one of the same name is the fault that is looked for.
        let nqn = nqn(self.nqn);
        for draft in &self.controllers {
            let mut controller = draft.build(*next, &self.transport);
            controller.subsystem = Some(name);
            controller.subsysnqn = Attr::Value(nqn.clone());
            host.controllers.push(controller);
            *next += 1;
        }
        let count = self.controllers.len();
        let mut namespaces = Vec::new();
        for (instance, draft) in (1..).zip(&self.namespaces) {
            namespaces.extend(draft.build(number, instance, first, count, multipath));
        }
        host.subsystems.push(Subsystem {
            name,
            nqn: Attr::Value(nqn),
            kind: attr(self.kind),
            model: Some("Example Volume".into()),
            serial: Some("ha".into()),
            firmware: None,
            iopolicy: Some("numa".into()),
            namespaces,
        });
    }
}

impl NamespaceDraft {
    fn build(
        &self,
        subsystem: u32,
        instance: u32,
        first: u32,
        count: usize,
        multipath: Multipath,
    ) -> Option<Namespace> {
        let size = Sectors(204_800);
        let head = multipath == Multipath::On && self.head && !self.private;
        let mut legs = Vec::new();
        for (controller, (there, ana, ready)) in (first..).zip(self.legs.iter().cycle().take(count))
        {
            let (name, layout) = match multipath {
                Multipath::Off => (DiskName::disk(controller, instance), Layout::Plain),
                Multipath::On if self.private => {
                    (DiskName::disk(subsystem, instance), Layout::Private)
                }
                Multipath::On => (
                    DiskName::leg(subsystem, controller, instance),
                    Layout::Multipath,
                ),
            };
            // A private namespace is one controller's.
            if !there || (layout == Layout::Private && !legs.is_empty()) {
                continue;
            }
            let ana = ana.filter(|_| layout != Layout::Plain);
            legs.push(Leg {
                name,
                controller: ControllerName::from_instance(controller),
                layout,
                ana: attr(ana),
                group: ana.map(|_| AnaGroup(instance)),
                size: Attr::Value(if *ready { size } else { Sectors(0) }),
                counters: LegCounters::default(),
            });
        }
        if legs.is_empty() && !head {
            return None;
        }
        let uuid = Uuid::from_bytes([
            u8::try_from(subsystem).ok()?,
            u8::try_from(instance).ok()?,
            0,
            0,
            0,
            0,
            0x40,
            0,
            0x80,
            0,
            0,
            0,
            0,
            0,
            0,
            1,
        ]);
        Some(Namespace {
            instance,
            nsid: Some(Nsid(instance)),
            uuid: self.uuid.then_some(uuid),
            head: head.then(|| Head {
                name: DiskName::disk(subsystem, instance),
                size: Attr::Value(size),
                delayed_removal: None,
                counters: HeadCounters::default(),
            }),
            legs,
        })
    }
}

impl ControllerDraft {
    fn build(&self, number: u32, transport: &Transport) -> Controller {
        let fabric = transport.is_fabric();
        let endpoint = if transport.is_ip() {
            let mut endpoint = endpoint(transport, self.place, self.port);
            endpoint.host_iface = self.bound.then(|| "eth5".into());
            endpoint
        } else {
            Endpoint {
                transport: transport.clone(),
                traddr: Traddr::Text(format!("0000:{number}:00.0").into()),
                trsvcid: None,
                host_traddr: None,
                host_iface: None,
            }
        };
        let (mut reconnect_delay, mut ctrl_loss_tmo, fast_io_fail_tmo) = self.timeouts;
        if fabric {
            // The kernel always shows them.
            reconnect_delay = reconnect_delay.or(Some(Limit::Off));
            ctrl_loss_tmo = ctrl_loss_tmo.or(Some(Limit::Off));
        }
        let unknown = self.state == ControllerState::Unknown;
        Controller {
            endpoint: Attr::Value(endpoint),
            src_addr: (fabric && self.state == ControllerState::Live).then(|| "10.0.9.9".into()),
            hostnqn: attr(fabric.then(|| Nqn::new(if self.ours { OURS } else { THEIRS }))),
            hostid: attr(fabric.then(|| Uuid::from_bytes([self.id + 1; 16]))),
            cntlid: attr(self.cntlid.map(Cntlid)),
            kind: attr(self.kind.clone()),
            transport: Attr::Value(transport.clone()),
            state: self.state,
            unknown_state: unknown.then(|| "frobnicating".into()),
            reconnect_delay: attr(reconnect_delay),
            ctrl_loss_tmo: attr(ctrl_loss_tmo),
            fast_io_fail_tmo: attr(fast_io_fail_tmo),
            deletable: Some(fabric && self.deletable),
            ..Controller::unknown(ControllerName::from_instance(number))
        }
    }
}

fn endpoint(transport: &Transport, place: u8, port: u16) -> Endpoint {
    Endpoint::ip(transport.clone(), [10, 0, 0, place].into(), port)
}

/// What is expected, and what the node says.
pub(crate) fn expectation() -> impl Strategy<Value = Expectation> {
    let places = |count| {
        let port = prop_oneof![4 => Just(4420_u16), 1 => Just(4426)];
        prop::collection::btree_set((1..9_u8, port), count)
    };
    let subsystem = (places(0..8), places(3..12)).prop_map(|(published, superseded)| {
        let endpoints = |places: BTreeSet<(u8, u16)>| {
            places
                .into_iter()
                .map(|(place, port)| endpoint(&Transport::Tcp, place, port))
                .collect()
        };
        let superseded = superseded.difference(&published).copied().collect();
        DesiredSubsystem {
            published: endpoints(published),
            superseded: endpoints(superseded),
            namespaces: None,
        }
    });
    let desired = prop::option::weighted(
        0.8,
        (
            prop::collection::btree_map((1..4_u8).prop_map(nqn), subsystem, 0..4),
            0..900_i64,
        ),
    );
    let question = prop::option::weighted(0.1, ((1..5_u8).prop_map(nqn), any::<bool>()));
    (desired, question, any::<bool>()).prop_map(|(desired, question, profile)| Expectation {
        desired: desired.map(|(subsystems, age)| Desired {
            fetched_at: UnixNs(-age * 1_000_000_000),
            max_age: Duration::from_secs(600),
            subsystems,
        }),
        profiles: if profile {
            vec![Profile {
                pattern: "*".to_owned(),
                every_controller_serves: true,
                max_ctrl_loss: Duration::from_secs(60),
            }]
        } else {
            Vec::new()
        },
        question: question.map(|(nqn, expects_service)| Question {
            nqn,
            namespace: None,
            expects_service,
        }),
        now: UnixNs(0),
    })
}

/// What the node says: who it is, and which disks are in use.
pub(crate) fn node() -> impl Strategy<Value = Node> {
    let disk = (0..6_u32, 1..4_u32).prop_map(|(owner, head)| DiskName::disk(owner, head));
    let known = prop::collection::btree_set(disk, 0..6);
    (
        prop::bool::weighted(0.8),
        prop::option::weighted(0.8, known),
    )
        .prop_map(|(named, in_use)| Node {
            host: if named {
                Fact::Known(HostId {
                    nqn: OURS.into(),
                    id: None,
                })
            } else {
                Fact::Elsewhere
            },
            owners: Fact::Known(std::collections::BTreeMap::new()),
            exclusions: Fact::Known(Vec::new()),
            in_use: in_use.map_or(Fact::Elsewhere, Fact::Known),
        })
}
