//! A cable between host and target is pulled and put back. Nobody says goodbye: the host finds out by its keep-alive.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scripted_scene::{NQN, SHARED, serving};
use super::stage::Stage;
use super::watched::Watched;
use crate::lab::clock::{BootNs, Millis};
use crate::lab::host::Timeouts;
use crate::lab::io::Io;
use crate::lab::link::Link;
use crate::lab::{Lab, wait};
use crate::target::ExportPlan;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "link-down",
    about: "a real link goes down and comes back: one window by controller state, after the keep-alive's time-out",
    expects_hung_task: false,
    run,
};

const SOON: Duration = Duration::from_secs(15);

fn run(lab: &mut Lab) -> Result<String> {
    let link = Link::lay()?;
    let port = (Link::TARGET_ADDRESS, ExportPlan::new(NQN));
    let target = link.beyond(|| serving(&[SHARED], [port]))?;
    let timeouts = Timeouts {
        keep_alive_tmo: Some(2),
        ..Timeouts::default()
    };
    let mut stage = Stage::with(target, &lab.host, timeouts)?;
    let watched = Watched::start(&mut stage.truth)?;
    let io = Io::start(&stage.head)?;
    let [only] = &stage.controllers[..] else {
        anyhow::bail!("a stage of one");
    };

    let cut = io.between_operations(|| {
        let cut = link.cut()?;
        only.wait_for("connecting", SOON)?;
        anyhow::Ok(cut)
    })?;
    wait::pause(Duration::from_millis(500));
    link.mend()?;
    only.wait_for("live", SOON)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let truth = stage.truth.controller_loss(cut, only)?;
    let ([window], mut verdict) = watched.windows_of(NQN, SHARED)?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [only, only]);
    verdict.class(&window, "outage");
    let nearby = window.cause_begin.nearby.as_ref();
    let named = nearby.is_some_and(|it| it.ifname == Link::INTERFACE && it.down_ns >= cut);
    verdict.require(named, || {
        format!("the cut is not named as a nearby cause: {nearby:?}")
    });
    let noticed = window.begin_ns.since(cut);
    verdict.figure(format!("noticed after {} ms", Millis(noticed)));
    verdict.require(noticed >= Duration::from_millis(500), || {
        format!("noticed after {noticed:?}: not by the keep-alive")
    });
    verdict.gap(&seen, &window.span()?)?;
    stage.strike(&lab.host)?;
    verdict.close()
}
