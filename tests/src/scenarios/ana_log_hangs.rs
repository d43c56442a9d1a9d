//! After a refusal the log is withheld: the kernel uses the path no more, while sysfs says all the while that it is
//! optimized and the target would serve again. The window lasts until the log has been read.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scripted_scene::{NQN, SHARED};
use super::stage::Stage;
use super::watched::Watched;
use crate::lab::clock::BootNs;
use crate::lab::io::Io;
use crate::lab::truth::Sign;
use crate::lab::{Lab, wait};
use crate::target::AnaState::{Inaccessible, Optimized};
use crate::target::{Act, Announce, On, Rule};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "ana-log-hangs",
    about: "the ANA log hangs after a refusal: the window stays open although sysfs says optimized",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut stage = Stage::set(&lab.host, &[Optimized])?;
    let watched = Watched::start(&mut stage.truth)?;
    let io = Io::start(&stage.head)?;

    let flip = io.between_operations(|| {
        stage.port(0).behave(Rule::new(On::AnaLog, Act::Withhold));
        stage.ana(0, Inaccessible, Announce::Silently)
    })?;
    wait::pause(Duration::from_millis(200));
    stage.ana(0, Optimized, Announce::Silently)?;
    wait::pause(Duration::from_millis(1500));
    let [only] = &stage.controllers[..] else {
        anyhow::bail!("a stage of one");
    };
    let sysfs = (only.state()?, only.leg(SHARED)?);
    let closed = watched.agent.windows_so_far()?;
    let told = stage.port(0).heal();
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let begins = [Sign::FailedIo];
    let truth = stage.truth.window(flip, &begins, &[Sign::LogGives(only)])?;
    let ([window], mut verdict) = watched.windows_of(NQN, SHARED)?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [only, only]);
    let (state, leg) = &sysfs;
    verdict.figure(format!("sysfs {state} {}", leg.as_deref().unwrap_or("?")));
    verdict.require(
        state == "live" && leg.as_deref() == Some("optimized"),
        || format!("sysfs says {sysfs:?} in the window"),
    );
    verdict.require(closed.is_empty() && truth.span.end >= told, || {
        format!("closed before the log was released at {told}: {closed:?}")
    });
    verdict.gap(&seen, &window.span()?)?;
    stage.strike(&lab.host)?;
    verdict.close()
}
