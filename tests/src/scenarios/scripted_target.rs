//! The scripted target and the kernel's host driver understand each other: two controllers of one subsystem, volumes, I/O
//! of all sizes, ANA, a namespace on one port only, disconnect. The kernel has nothing to complain about.

use anyhow::Result;

use super::Scenario;
use super::kernel_log::KernelLog;
use super::scripted_scene::{ALONE, NQN, SHARED, SOON, Volume, connect, target, wait_for_leg};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::clock::{BootNs, Millis};
use crate::target::{AnaState, Announce, ExportPlan, GroupId, Nsid, Verb};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "scripted-target",
    about: "the host driver accepts the scripted target: connect, scan, I/O, ANA, namespaces, disconnect",
    expects_hung_task: false,
    run,
};

const GROUP: GroupId = GroupId(1);

fn run(lab: &mut Lab) -> Result<String> {
    let mut log = KernelLog::start()?;
    let mut verdict = Verdict::default();
    let second = ExportPlan::new(NQN)
        .only(&[SHARED])
        .ana(1, AnaState::NonOptimized);
    let target = target(second)?;
    let (left, right) = (target.port(0), target.port(1));
    let (source, destination) = (
        connect(&lab.host, &target, 0)?,
        connect(&lab.host, &target, 1)?,
    );
    let connected = source.connected.length() + destination.connected.length();
    verdict.figure(format!("connected twice in {} ms", Millis(connected)));

    let shared = lab.host.head(NQN, SHARED)?;
    let alone = lab.host.head(NQN, ALONE)?;
    wait_for_leg(&source, SHARED, Some("optimized"))?;
    wait_for_leg(&destination, SHARED, Some("non-optimized"))?;
    verdict.require(destination.leg(ALONE)?.is_none(), || {
        "a leg that is not served".to_owned()
    });
    let numbers = [&source, &destination].map(|found| found.attribute("cntlid"));
    let numbers = numbers.into_iter().collect::<Result<Vec<_>>>()?;
    verdict.require(numbers == ["1", "2"], || {
        format!("controllers are numbered {numbers:?}")
    });

    // In the capsule, by R2T, and by R2T in several data PDUs; the last is of the largest that one command carries.
    let volume = Volume::open(&shared)?;
    let sizes = [4 << 10, 8 << 10, 16 << 10, 128 << 10, 1 << 20];
    let mut written = 0;
    for (seed, length) in (1..).zip(sizes) {
        volume.write_and_verify(written, length, seed)?;
        written += u64::try_from(length)?;
    }
    volume.flush()?;
    Volume::open(&alone)?.write_and_verify(0, 64 << 10, 9)?;
    let served = left.transcript().counters();
    verdict.require(served.bytes_written == written + (64 << 10), || {
        format!("wrote {served:?}")
    });
    verdict.require(served.commands(Verb::FLUSH) > 0, || {
        "no flush came".to_owned()
    });
    let elsewhere = right.transcript().counters();
    verdict.require(elsewhere.bytes_written == 0, || {
        "the non-optimized leg was used".to_owned()
    });

    // Told by an event, the host moves.
    let told = left.ana(NQN, GROUP, AnaState::Inaccessible, Announce::Event)?;
    wait_for_leg(&source, SHARED, Some("inaccessible"))?;
    let moved = BootNs::now().since(told);
    verdict.figure(format!("moved {} ms after the change", Millis(moved)));
    volume.write_and_verify(0, 128 << 10, 7)?;
    let bytes = right.transcript().counters().bytes_written;
    verdict.require(bytes == 128 << 10, || {
        format!("{bytes} bytes on the other leg")
    });
    left.ana(NQN, GROUP, AnaState::Optimized, Announce::Event)?;
    wait_for_leg(&source, SHARED, Some("optimized"))?;
    volume.write_and_verify(0, 4 << 10, 8)?;
    let bytes = right.transcript().counters().bytes_written;
    verdict.require(bytes == 128 << 10, || {
        "the host did not move back".to_owned()
    });

    // A namespace comes and goes.
    right.attach(NQN, Nsid(ALONE), Announce::Event)?;
    wait_for_leg(&destination, ALONE, Some("non-optimized"))?;
    right.detach(NQN, Nsid(ALONE), Announce::Event)?;
    wait_for_leg(&destination, ALONE, None)?;
    let alive = |counters: &crate::target::Counters| counters.commands(Verb::KEEP_ALIVE) > 0;
    left.transcript().wait("a keep alive", SOON, alive)?;

    drop(volume);
    lab.host.disconnect_all()?;
    for (name, port) in [("first", left), ("second", right)] {
        let counters = port.transcript().counters();
        let wrong = counters.protocol_errors + counters.failed(Verb::CONNECT);
        verdict.require(wrong == 0, || {
            format!("the {name} port counts {counters:?}")
        });
        let answered: u64 = counters.commands.values().sum();
        verdict.figure(format!("{name} port answered {answered}"));
    }
    let complaints = log.complaints("nvme")?;
    verdict.require(complaints.is_empty(), || {
        format!("the kernel says {complaints:?}")
    });
    verdict.close()
}
