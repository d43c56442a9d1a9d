//! How many events a core takes: records of the ring to events to windows, and a whole trace.
//!
//! Prints each figure beside its bound. The synthetic host has 80 controllers in 40 subsystems; its legs change hands
//! again and again, which is the dearest thing that can happen: every event opens or closes a window.

#![allow(missing_docs, reason = "criterion's macros make public functions")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot run fails")]

use std::{
    hint::black_box,
    io::Cursor,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pathwarden::{
    config::Config,
    engine::replay,
    event::{
        ControllerId, Envelope, Event, LegState, Source,
        trace::{Header, Reader, Writer},
    },
    fabric::{AnaGroup, AnaState, BootNs, ControllerName, ControllerState, Generation, Nqn, Nsid},
    probe::Decoder,
    watch::{Bounds, Watch},
};
use pathwarden_ebpf::{Controller, Header as RecordHeader, Kind, LegBody, bits, state};
use zerocopy::{FromZeros as _, IntoBytes as _};

const SUBSYSTEMS: u32 = 40;
const EVENTS: u64 = 100_000;
const TRACE: u64 = 1_000_000;

fn controller(instance: u32) -> ControllerId {
    ControllerId {
        name: ControllerName::from_instance(instance),
        generation: Generation(u64::from(instance) + 1000),
    }
}

fn envelope(time: u64, event: Event) -> Envelope {
    Envelope {
        time: BootNs(time),
        error_ns: 0,
        source: Source::Bpf,
        event,
    }
}

fn hosts() -> Vec<Envelope> {
    let both = (0..SUBSYSTEMS).flat_map(|it| [(it, 2 * it), (it, 2 * it + 1)]);
    both.flat_map(|(subsystem, instance)| {
        let nqn = Nqn::new(&format!("nqn.2023-02.io.simplyblock:bench:{subsystem}"));
        let added = Event::ControllerAdded {
            controller: controller(instance),
            nqn,
            endpoint: format!("tcp://10.0.{}.{}:4420", instance / 250, instance % 250 + 1)
                .parse()
                .ok(),
            hostnqn: Some(Nqn::new("nqn.2014-08.org.nvmexpress:uuid:bench")),
            cntlid: None,
            state: ControllerState::Live,
            interface: None,
        };
        let leg = Event::LegAdded {
            controller: controller(instance),
            nsid: Nsid(1),
            nqn: None,
            uuid: None,
            name: None,
            group: Some(AnaGroup(1)),
            state: LegState {
                ana: Some(if instance % 2 == 0 {
                    AnaState::Optimized
                } else {
                    AnaState::Inaccessible
                }),
                pending: false,
                ready: true,
            },
        };
        [envelope(0, added), envelope(0, leg)]
    })
    .collect()
}

/// Event number `at`: a subsystem's serving leg goes, then its other comes, and the other way round.
fn turn(at: u64) -> Envelope {
    let subsystem = u32::try_from(at / 2 % u64::from(SUBSYSTEMS)).unwrap();
    let round = at / 2 / u64::from(SUBSYSTEMS);
    let comes = at % 2 == 1;
    let instance = 2 * subsystem + u32::from(round.is_multiple_of(2) == comes);
    let event = Event::Ana {
        controller: controller(instance),
        group: AnaGroup(1),
        state: if comes {
            AnaState::Optimized
        } else {
            AnaState::Inaccessible
        },
        nsids: vec![Nsid(1)],
        more: false,
    };
    envelope(1_000 + at * 10_000, event)
}

fn watching() -> Watch {
    let mut watch = Watch::new("bench", Bounds::default());
    for event in hosts() {
        assert!(watch.apply(&event).is_empty(), "nothing is dark yet");
    }
    watch
}

/// The same as the kernel's records.
fn records() -> Vec<Vec<u8>> {
    let mut sequence = 0;
    (0..EVENTS)
        .map(|at| {
            sequence += 1;
            let Event::Ana {
                controller,
                state: ana,
                ..
            } = turn(at).event
            else {
                unreachable!("every turn is one of ANA");
            };
            let header = RecordHeader {
                boot_ns: 1_000 + at * 10_000,
                sequence,
                cpu: 0,
                kind: Kind::LegLive as u16,
                reserved: 0,
            };
            let body = LegBody {
                controller: Controller {
                    pointer: u64::from(controller.name.instance()) << 12,
                    generation: controller.generation.0,
                    instance: i32::try_from(controller.name.instance()).unwrap(),
                    state: state::LIVE,
                    fabrics: 1,
                    ..Controller::new_zeroed()
                },
                flags: 1 << bits::NS_READY,
                nsid: 1,
                ana_state: if ana == AnaState::Optimized { 1 } else { 3 },
                group: 1,
                traits: LegBody::HAS_ANA | LegBody::MULTIPATH,
                ..LegBody::new_zeroed()
            };
            [header.as_bytes(), body.as_bytes()].concat()
        })
        .collect()
}

fn trace() -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = Header::new(None, None, None);
    let mut writer = Writer::create(&mut bytes, &header).unwrap();
    let turns = (0..TRACE).map(turn);
    for event in hosts().into_iter().chain(turns) {
        writer.write(&event).unwrap();
    }
    bytes
}

fn decode_and_fold(records: &[Vec<u8>]) -> usize {
    let (mut decoder, mut watch) = (Decoder::default(), watching());
    let (mut events, mut changes) = (Vec::new(), 0);
    for record in records {
        decoder.record(record, &mut events).unwrap();
        for event in events.drain(..) {
            changes += watch.apply(&event).len();
        }
    }
    changes
}

fn fold(criterion: &mut Criterion) {
    let records = records();
    let mut group = criterion.benchmark_group("fold");
    group
        .throughput(Throughput::Elements(EVENTS))
        .sample_size(10);
    group.bench_function("100,000 records", |bencher| {
        bencher.iter(|| black_box(decode_and_fold(&records)));
    });
    group.finish();
    let begun = Instant::now();
    let changes = decode_and_fold(&records);
    let rate = EVENTS as f64 / begun.elapsed().as_secs_f64();
    println!("decode and fold: {rate:.0} events/s on one core ({changes} changes); bound 100000");
    let trace = trace();
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let begun = Instant::now();
        let mut reader = Reader::open(Cursor::new(&trace)).unwrap();
        let replayed = replay(&mut reader, &Config::default(), None, None).unwrap();
        assert_eq!(replayed.events, TRACE + u64::from(4 * SUBSYSTEMS));
        best = best.min(begun.elapsed());
    }
    let mib = trace.len() >> 20;
    println!("replay of {TRACE} events ({mib} MiB): {best:.2?}; bound 3s");
}

criterion_group!(benches, fold);
criterion_main!(benches);
