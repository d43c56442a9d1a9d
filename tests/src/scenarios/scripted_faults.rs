//! The scripted target's faults bite the kernel's host driver as they are meant to, one after the other, each on a
//! target of its own. What the agent makes of them is for the scenarios that are about them.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

use super::Scenario;
use super::kernel_log::KernelLog;
use super::scripted_scene::{ALONE, NQN, SHARED, SOON, Volume, connect, target, wait_for_leg};
use super::verdict::Verdict;
use crate::lab::Lab;
use crate::lab::clock::{BootNs, Millis};
use crate::lab::host::{Controller, Host};
use crate::lab::wait::{self, Look};
use crate::target::{
    Act, AnaState, Announce, Behaviour, Cntlid, Counters, ExportPlan, GroupId, On, Port, Rule,
    Status, Target, Verb,
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "scripted-faults",
    about: "each fault of the scripted target has the effect on the host driver that it is made for",
    expects_hung_task: false,
    run,
};

/// Gives the target back, so that it lives until the host has disconnected.
type Part = fn(&Host, &mut Verdict) -> Result<Target>;

const PARTS: [(&str, Part); 12] = [
    ("husk", husk),
    ("rejected", rejected),
    ("rejected-for-good", rejected_for_good),
    ("accept-then-drop", accept_then_drop),
    ("vanish", vanish),
    ("ana-log-hangs", ana_log_hangs),
    ("ana-unannounced", ana_unannounced),
    ("io-hangs", io_hangs),
    ("falls-silent", falls_silent),
    ("path-errors", path_errors),
    ("repeated-number", repeated_number),
    ("silent", silent),
];

fn run(lab: &mut Lab) -> Result<String> {
    let mut verdict = Verdict::default();
    for (name, part) in PARTS {
        let target = part(&lab.host, &mut verdict).context(name)?;
        target.port(0).heal();
        lab.host
            .disconnect_all()
            .with_context(|| format!("disconnect after {name}"))?;
    }
    verdict.close()
}

/// Two ports of the subsystem, the second on the leg that is not preferred.
fn two_legs(host: &Host) -> Result<(Target, Controller, Controller)> {
    let target = target(ExportPlan::new(NQN).ana(1, AnaState::NonOptimized))?;
    let (first, second) = (connect(host, &target, 0)?, connect(host, &target, 1)?);
    wait_for_leg(&first, SHARED, Some("optimized"))?;
    wait_for_leg(&second, SHARED, Some("non-optimized"))?;
    Ok((target, first, second))
}

fn one_leg(host: &Host) -> Result<(Target, Controller)> {
    let target = target(ExportPlan::new(NQN))?;
    let controller = connect(host, &target, 0)?;
    Ok((target, controller))
}

/// A controller beside a serving one is live and has nothing.
fn husk(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let target = target(ExportPlan::new(NQN).only(&[]))?;
    let (serving, husk) = (connect(host, &target, 0)?, connect(host, &target, 1)?);
    wait_for_leg(&serving, SHARED, Some("optimized"))?;
    // The husk's scan ends with reading the ANA log again.
    let scanned = |counters: &Counters| counters.commands(Verb::GET_LOG) >= 3;
    target
        .port(1)
        .transcript()
        .wait("the husk's scan", SOON, scanned)?;
    for nsid in [SHARED, ALONE] {
        let found = husk.leg(nsid)?;
        verdict.require(found.is_none(), || {
            format!("husk: a leg to namespace {nsid}: {found:?}")
        });
    }
    let of_one = [&serving, &husk].map(|controller| controller.attribute("subsysnqn"));
    let same = of_one
        .iter()
        .all(|nqn| nqn.as_ref().is_ok_and(|nqn| nqn == NQN));
    verdict.require(same && husk.state()? == "live", || {
        format!("husk: {of_one:?}")
    });
    Ok(target)
}

/// Rejected without do not retry, every kernel tries again until it is taken.
fn rejected(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, controller) = one_leg(host)?;
    let port = target.port(0);
    port.behave(Rule::reject(Status::CONNECT_INVALID_PARAMETERS).times(3));
    port.drop_connections();
    let statuses = connects(port, 5)?;
    controller.wait_for("live", SOON)?;
    let rejected = Status::CONNECT_INVALID_PARAMETERS;
    let expected = [
        Status::SUCCESS,
        rejected,
        rejected,
        rejected,
        Status::SUCCESS,
    ];
    verdict.require(statuses == expected, || {
        format!("rejected: answered {statuses:?}")
    });
    Ok(target)
}

/// Rejected with do not retry, kernels from 6.10 on give up at once; before, they do not look at it.
fn rejected_for_good(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, controller) = one_leg(host)?;
    let port = target.port(0);
    port.behave(Rule::reject(Status::CONNECT_INVALID_PARAMETERS.do_not_retry()).times(2));
    port.drop_connections();
    // The state is there to read as long as the controller is.
    let left = wait::until("the controller to give up or to be taken", SOON, || {
        let attempts = port.transcript().snapshot().connects().len();
        Ok(match controller.state() {
            Err(_) => Look::Seen("gave up"),
            Ok(state) if state == "live" && attempts == 4 => Look::Seen("tried on"),
            Ok(state) => Look::NotYet(format!("{state} after {attempts} attempts")),
        })
    })?;
    let attempts = port.transcript().snapshot().connects().len() - 1;
    verdict.figure(format!("do not retry: {left} after {attempts}"));
    let fits = matches!((left, attempts), ("gave up", 1) | ("tried on", 3));
    verdict.require(fits, || {
        format!("do not retry: {left} after {attempts} attempts")
    });
    Ok(target)
}

/// Taken and dropped once live, the host starts over each time.
fn accept_then_drop(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, controller) = one_leg(host)?;
    let port = target.port(0);
    port.behave(Rule::drop_after(On::Live, Duration::from_millis(200)).times(3));
    port.drop_connections();
    let statuses = connects(port, 5)?;
    controller.wait_for("live", SOON)?;
    verdict.require(statuses.iter().all(|status| status.is_success()), || {
        format!("accept-then-drop: answered {statuses:?}")
    });
    let queues = port.transcript().counters().commands(Verb::CONNECT);
    verdict.require(queues >= 10, || {
        format!("accept-then-drop: {queues} queues connected")
    });
    Ok(target)
}

/// A port that is gone refuses; when it is back, so is the controller.
fn vanish(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, controller) = one_leg(host)?;
    let gone = target.port(0).vanish();
    controller.wait_for("connecting", SOON)?;
    verdict.figure(format!(
        "gone: connecting after {} ms",
        Millis(BootNs::now().since(gone))
    ));
    wait::pause(Duration::from_secs(2));
    target.port(0).come_back()?;
    controller.wait_for("live", SOON)?;
    Ok(target)
}

/// With the log unread, sysfs keeps its old word while I/O takes the other leg; the log released, it follows.
fn ana_log_hangs(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, first, _second) = two_legs(host)?;
    let volume = Volume::open(&host.head(NQN, SHARED)?)?;
    volume.write_and_verify(0, 64 << 10, 1)?;
    let (left, right) = (target.port(0), target.port(1));
    left.behave(Rule::new(On::AnaLog, Act::Withhold));
    left.ana(NQN, GroupId(1), AnaState::Inaccessible, Announce::Event)?;
    volume.write_and_verify(0, 64 << 10, 2)?;
    let moved = right.transcript().counters().bytes_written;
    verdict.require(moved == 64 << 10, || {
        format!("ana-log-hangs: {moved} bytes on the other leg")
    });
    let stale = first.leg(SHARED)?;
    verdict.require(stale.as_deref() == Some("optimized"), || {
        format!("ana-log-hangs: sysfs says {stale:?} without the log")
    });
    verdict.require(left.transcript().counters().withheld > 0, || {
        "ana-log-hangs: the log was not asked for".to_owned()
    });
    left.heal();
    wait_for_leg(&first, SHARED, Some("inaccessible"))?;
    Ok(target)
}

/// Nobody tells the host: it finds out by the first I/O that is refused, and only for the group that the I/O is in.
fn ana_unannounced(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, first, _second) = two_legs(host)?;
    let volume = Volume::open(&host.head(NQN, SHARED)?)?;
    let left = target.port(0);
    left.ana(NQN, GroupId(1), AnaState::Inaccessible, Announce::Silently)?;
    wait::pause(Duration::from_millis(300));
    let unaware = first.leg(SHARED)?;
    verdict.require(unaware.as_deref() == Some("optimized"), || {
        format!("ana-unannounced: sysfs says {unaware:?} before any I/O")
    });
    volume.write_and_verify(0, 4 << 10, 4)?;
    let refused = left
        .transcript()
        .counters()
        .statuses
        .contains_key(&Status::ANA_INACCESSIBLE);
    verdict.require(refused, || "ana-unannounced: no I/O was refused".to_owned());
    wait_for_leg(&first, SHARED, Some("inaccessible"))?;
    Ok(target)
}

/// I/O that is not answered waits, while the controller is as live as ever; then it completes.
fn io_hangs(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, controller) = one_leg(host)?;
    let volume = Volume::open(&host.head(NQN, SHARED)?)?;
    let port = target.port(0);
    port.behave(Rule::new(On::Io, Act::Withhold));
    let begin = BootNs::now();
    let (state, written) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| volume.write_and_verify(0, 64 << 10, 5));
        wait::pause(Duration::from_secs(1));
        let state = controller.state();
        port.heal();
        (state, writing.join())
    });
    let waited = BootNs::now().since(begin);
    written.map_err(|_| anyhow!("the writing thread panicked"))??;
    let state = state?;
    verdict.require(state == "live" && waited >= Duration::from_secs(1), || {
        format!("io-hangs: {state}, done after {waited:?}")
    });
    Ok(target)
}

/// A port that answers nothing any more is noticed when a keep alive times out, not before.
fn falls_silent(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, controller) = one_leg(host)?;
    let port = target.port(0);
    let silent = port.behave(Rule::silent());
    let noticed = wait::until("the host to notice", SOON * 2, || {
        let state = controller.state()?;
        Ok(if state == "live" {
            Look::NotYet(state)
        } else {
            Look::Seen(BootNs::now())
        })
    })?;
    let after = noticed.since(silent);
    verdict.figure(format!("silence noticed after {} ms", Millis(after)));
    // The keep-alive time-out is 5 s unless asked for otherwise.
    verdict.require(after > Duration::from_secs(4), || {
        format!("falls-silent: after {after:?}")
    });
    port.heal();
    controller.wait_for("live", SOON * 2)?;
    Ok(target)
}

/// Path errors without an ANA reason make the host fail over, request by request.
fn path_errors(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let (target, _first, _second) = two_legs(host)?;
    let volume = Volume::open(&host.head(NQN, SHARED)?)?;
    let failing = Rule::new(On::Io, Act::Fail(Status::INTERNAL_PATH_ERROR)).times(5);
    target.port(0).behave(failing);
    volume.write_and_verify(0, 64 << 10, 3)?;
    let counters = target.port(0).transcript().counters();
    let bounced = counters
        .statuses
        .get(&Status::INTERNAL_PATH_ERROR)
        .copied()
        .unwrap_or(0);
    verdict.require(bounced > 0, || "path-errors: nothing bounced".to_owned());
    verdict.figure(format!("path errors: {bounced} bounced"));
    Ok(target)
}

/// A second controller with the first one's number is refused by the host.
fn repeated_number(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let mut log = KernelLog::start()?;
    let (target, first) = one_leg(host)?;
    let number = Cntlid(first.attribute("cntlid")?.parse()?);
    let repeated_cntlid = [(NQN.to_owned(), number)].into();
    target.port(1).behave(Behaviour {
        repeated_cntlid,
        ..Behaviour::default()
    });
    let refused = connect(host, &target, 1)
        .err()
        .map(|error| format!("{error:#}"));
    verdict.require(refused.is_some(), || {
        "repeated-number: the host took it".to_owned()
    });
    let said = log.complaints("nvme")?;
    let named = said
        .iter()
        .any(|line| line.to_lowercase().contains("duplicate cntlid"));
    verdict.require(named, || {
        format!("repeated-number: {refused:?}; the kernel says {said:?}")
    });
    Ok(target)
}

/// A port that accepts and says nothing costs a connect its whole patience of 10 s, and then EAGAIN.
fn silent(host: &Host, verdict: &mut Verdict) -> Result<Target> {
    let target = target(ExportPlan::new(NQN))?;
    target.port(0).behave(Rule::silent());
    let begin = BootNs::now();
    let refused = connect(host, &target, 0)
        .err()
        .map(|error| format!("{error:#}"));
    let waited = BootNs::now().since(begin);
    verdict.figure(format!("silent: {} ms", Millis(waited)));
    let again = refused
        .as_deref()
        .is_some_and(|error| error.contains("os error 11"));
    verdict.require(again && waited > Duration::from_secs(8), || {
        format!("silent: {refused:?} after {waited:?}")
    });
    Ok(target)
}

/// How the first so many Connects of admin queues were answered, once there were so many.
fn connects(port: &Port, count: usize) -> Result<Vec<Status>> {
    wait::until(&format!("{count} attempts to connect"), SOON * 2, || {
        let connects = port.transcript().snapshot().connects();
        Ok(if connects.len() >= count {
            Look::Seen(
                connects
                    .iter()
                    .take(count)
                    .map(|(_, status)| *status)
                    .collect(),
            )
        } else {
            Look::NotYet(format!("{connects:?}"))
        })
    })
}
