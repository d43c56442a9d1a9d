//! How long a scan takes, and what of it is the files' own time.
//!
//! `cargo bench -p pathwarden --bench scan` measures generated trees of 10 to 2,000 controllers in memory, and then
//! prints what is promised: the time of a scan with its diagnosis, the time per controller over that range, and the
//! ratio to a bare open-read-close of the same files in the same run, all on one processor. That table is in
//! processor time, which what else runs on the machine does not change.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a bench: what goes wrong is the report"
)]

#[path = "../tests/tree/mod.rs"]
mod tree;

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use pathwarden::config::built_in_profiles;
use pathwarden::diagnose::{Expectation, Node, Past, Policy, Subject, diagnose};
use pathwarden::fabric::{Host, UnixNs};
use pathwarden::host::SysRoot;
use pathwarden::host::sysfs::Scanner;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use tree::{Node as File, Unfolded, unfold};

/// Controllers of each tree: two a subsystem, each with a leg of each of its two namespaces.
const SIZES: [u32; 5] = [10, 50, 200, 1_000, 2_000];

struct Tree {
    controllers: u32,
    unfolded: Unfolded,
    /// The files that a scan reads.
    files: Vec<PathBuf>,
}

fn text(controllers: u32) -> String {
    let mut text = String::new();
    for subsystem in 0..controllers / 2 {
        let (high, low) = (subsystem / 250, subsystem % 250 + 1);
        write!(
            text,
            "subsystem {subsystem} nqn=nqn.2023-02.io.simplyblock:pool:lvol:{subsystem}\n\
             head 1 uuid=00000001-0000-4000-8000-{subsystem:012}\n\
             head 2 uuid=00000002-0000-4000-8000-{subsystem:012}\n\
             controller {} address=traddr=10.0.{high}.{low},trsvcid=4426,src_addr=10.9.9.9\n\
             leg 1 optimized\nleg 2 non-optimized\n\
             controller {} address=traddr=10.1.{high}.{low},trsvcid=4426,src_addr=10.9.9.9\n\
             leg 1 non-optimized\nleg 2 optimized\n",
            subsystem * 2,
            subsystem * 2 + 1,
        )
        .unwrap();
    }
    text
}

/// The attributes that a scan reads, whichever object they belong to.
const READ: [&str; 21] = [
    "transport",
    "state",
    "address",
    "subsysnqn",
    "hostnqn",
    "hostid",
    "cntlid",
    "cntrltype",
    "dctype",
    "reconnect_delay",
    "ctrl_loss_tmo",
    "fast_io_fail_tmo",
    "nsid",
    "uuid",
    "size",
    "ana_state",
    "ana_grpid",
    "subsystype",
    "model",
    "serial",
    "iopolicy",
];

fn build(controllers: u32) -> Tree {
    let files = tree::parse(&text(controllers)).files();
    let unfolded = unfold(&files, 0);
    let read = files.iter().filter(|(path, node)| {
        let name = path.rsplit('/').next().unwrap();
        matches!(node, File::File(_)) && READ.contains(&name) && path.starts_with("devices/")
    });
    let files = read.map(|(path, _)| unfolded.path().join(path)).collect();
    Tree {
        controllers,
        unfolded,
        files,
    }
}

fn scan(tree: &Tree) -> Host {
    let host = Scanner::new(SysRoot::sysfs_only(tree.unfolded.path()))
        .scan()
        .unwrap();
    assert_eq!(
        host.controllers.len(),
        usize::try_from(tree.controllers).unwrap()
    );
    assert!(host.unchecked.is_empty(), "{:?}", host.unchecked.first());
    host
}

fn scan_and_diagnose(tree: &Tree) -> usize {
    let host = scan(tree);
    let expectation = Expectation {
        profiles: built_in_profiles(),
        ..Expectation::none(UnixNs(0))
    };
    let found = diagnose(Subject {
        host: &host,
        expectation: &expectation,
        node: &Node::elsewhere(),
        past: &Past::none(),
        policy: &Policy::default(),
    });
    found.len()
}

/// Opens, reads and closes each file by its path, and nothing else.
fn bare(files: &[PathBuf]) -> usize {
    let mut buffer = vec![0; 4097];
    let mut bytes = 0;
    for file in files {
        let file = openat(
            CWD,
            file.as_path() as &Path,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .unwrap();
        bytes += rustix::io::read(&file, &mut buffer[..]).unwrap();
    }
    bytes
}

fn measure(criterion: &mut Criterion, trees: &[Tree]) {
    let mut group = criterion.benchmark_group("scan");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    for tree in trees {
        let id = |what| BenchmarkId::new(what, tree.controllers);
        group.throughput(Throughput::Elements(u64::from(tree.controllers)));
        group.bench_with_input(id("scan"), tree, |b, tree| b.iter(|| black_box(scan(tree))));
        group.bench_with_input(id("scan and diagnose"), tree, |b, tree| {
            b.iter(|| black_box(scan_and_diagnose(tree)));
        });
        group.bench_with_input(id("bare open-read-close"), tree, |b, tree| {
            b.iter(|| black_box(bare(&tree.files)));
        });
    }
    group.finish();
}

/// Processor time of this process, all of its threads.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap(), nanos.unwrap())
}

/// What one piece of work takes.
struct Cost {
    processor: Duration,
    wall: Duration,
}

/// The medians of interleaved runs, so that what disturbs one disturbs the other.
fn medians(tree: &Tree) -> (Cost, Cost) {
    let timed = |what: &dyn Fn() -> usize| {
        let (start, before) = (Instant::now(), processor_time());
        black_box(what());
        (processor_time() - before, start.elapsed())
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        ours.push(timed(&|| scan_and_diagnose(tree)));
        theirs.push(timed(&|| bare(&tree.files)));
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let cost = |times: Vec<(Duration, Duration)>| {
        let (processor, wall) = times.into_iter().unzip();
        Cost {
            processor: median(processor),
            wall: median(wall),
        }
    };
    (cost(ours), cost(theirs))
}

/// What is promised, measured on one processor.
fn report(trees: &[Tree]) {
    let all = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).unwrap();

    println!(
        "\nscan and diagnosis on one processor, beside a bare open-read-close of the same files"
    );
    println!(
        "controllers   files        ours      (wall)        bare      (wall)  ratio  per controller"
    );
    let mut points = Vec::new();
    for tree in trees {
        let (ours, bare) = medians(tree);
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "{:>11}  {:>6}  {:>7.2} ms  {:>7.2} ms  {:>7.2} ms  {:>7.2} ms  {:>5.2}  {:>11.1} us",
            tree.controllers,
            tree.files.len(),
            millis(ours.processor),
            millis(ours.wall),
            millis(bare.processor),
            millis(bare.wall),
            ours.processor.as_secs_f64() / bare.processor.as_secs_f64(),
            millis(ours.processor) * 1e3 / f64::from(tree.controllers),
        );
        points.push((
            f64::from(tree.controllers).ln(),
            ours.processor.as_secs_f64().ln(),
        ));
    }
    println!(
        "slope (1 is linear in the number of controllers): {:.3}",
        slope(&points)
    );
}

/// The slope of the logarithms, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = f64::from(u32::try_from(points.len()).unwrap());
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let (over, under) = points.iter().fold((0.0, 0.0), |(over, under), p| {
        (over + (p.0 - x) * (p.1 - y), under + (p.0 - x).powi(2))
    });
    over / under
}

fn main() {
    let trees: Vec<Tree> = SIZES.iter().map(|size| build(*size)).collect();
    // `cargo test` and `cargo nextest` run benches once, to see that they work.
    if std::env::args().any(|argument| argument == "--bench") {
        measure(&mut Criterion::default().configure_from_args(), &trees);
        report(&trees);
    } else {
        for tree in &trees[..2] {
            assert_eq!(scan_and_diagnose(tree), 0);
            assert!(bare(&tree.files) > 0);
        }
    }
}
