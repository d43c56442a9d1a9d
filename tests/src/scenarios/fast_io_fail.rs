//! Both targets vanish, and the kernel holds I/O for two seconds only (`fast_io_fail_tmo`): from then on the window is one
//! of failing I/O, and the prober's first error says so too.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Scenario;
use super::scene::{Scene, Setting};
use super::watched::Watched;
use crate::lab::clock::{BootNs, Millis};
use crate::lab::host::Timeouts;
use crate::lab::io::Io;
use crate::lab::target::AnaState::NonOptimized;
use crate::lab::truth::Sign;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "fast-io-fail",
    about: "fast_io_fail_tmo runs out in a window: it turns failing at that moment, when I/O begins to fail",
    expects_hung_task: false,
    run,
};

const PATIENCE: u32 = 2;
const SOON: Duration = Duration::from_secs(10);

fn run(lab: &mut Lab) -> Result<String> {
    let setting = Setting {
        second: NonOptimized,
        timeouts: Timeouts {
            fast_io_fail_tmo: Some(PATIENCE),
            ..Timeouts::default()
        },
    };
    let mut scene = Scene::set_as(lab, &setting)?;
    let watched = Watched::start(&mut scene.truth)?;
    let io = Io::start(&scene.head)?;
    let (first, second) = (&scene.source, &scene.destination);

    let death = io.between_operations(|| {
        scene.target.port(1).vanish()?;
        first.wait_for("connecting", SOON)?;
        let death = scene.target.port(2).vanish()?;
        second.wait_for("connecting", SOON)?;
        anyhow::Ok(death)
    })?;
    io.failing_since(death)?;
    wait::pause(Duration::from_millis(200));
    scene.target.port(1).restore()?;
    first.wait_for("live", SOON)?;
    io.flowing_since(BootNs::now())?;

    let seen = io.stop()?;
    let (begins, ends) = ([Sign::Down(second)], [Sign::Live(first)]);
    let truth = scene.truth.window(death, &begins, &ends)?;
    // It holds I/O as long as one of the controllers is given time.
    let failing = scene.truth.moment(death, Sign::Expired(second))?;
    let ([window], mut verdict) = watched.windows()?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [second, first]);
    verdict.severity(&window, "failing");
    let since = window.failing_since_ns.context("failing since when")?;
    let offset = verdict.at("turn to failing", since, failing);
    let held = failing.since(truth.span.begin);
    verdict.figure(format!("held for {} ms, failing {offset} ms", Millis(held)));
    verdict.in_gap(&seen, &window.span()?)?;
    let error = seen.first_error().context("no I/O failed")?;
    verdict.require(error + Duration::from_millis(1) >= failing, || {
        format!("I/O failed at {error}, before it was to at {failing}")
    });
    verdict.close()
}
