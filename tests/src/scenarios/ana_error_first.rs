//! A target that refuses I/O before it tells anybody why: the kernel stops using the path at the refusal, and so begins the
//! window, half a second before the log is to be had.

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
    name: "ana-error-first",
    about: "an I/O is refused before the ANA log is read: the window begins at the refusal, by ana-error",
    expects_hung_task: false,
    run,
};

fn run(lab: &mut Lab) -> Result<String> {
    let mut stage = Stage::set(&lab.host, &[Optimized, Inaccessible])?;
    let watched = Watched::start(&mut stage.truth)?;
    let io = Io::start(&stage.head)?;

    let flip = io.between_operations(|| {
        stage.port(0).behave(Rule::new(On::AnaLog, Act::Withhold));
        stage.ana(0, Inaccessible, Announce::Silently)
    })?;
    wait::pause(Duration::from_millis(500));
    let told = stage.port(0).heal();
    wait::pause(Duration::from_millis(500));
    stage.ana(1, Optimized, Announce::Event)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let [from, to] = &stage.controllers[..] else {
        anyhow::bail!("a stage of two");
    };
    let begins = [Sign::FailedIo];
    let truth = stage.truth.window(flip, &begins, &[Sign::LogGives(to)])?;
    let log = stage.truth.moment(flip, Sign::LogTakes(from))?;
    let ([window], mut verdict) = watched.windows_of(NQN, SHARED)?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [from, to]);
    verdict.class(&window, "cutover");
    verdict.figure(format!("log {} ms after the begin", log - window.begin_ns));
    verdict.require(log >= told, || {
        format!("the log was read at {log}, while it was withheld until {told}")
    });
    verdict.gap(&seen, &window.span()?)?;
    stage.strike(&lab.host)?;
    verdict.close()
}
