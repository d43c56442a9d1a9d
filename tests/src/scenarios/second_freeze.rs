//! The volume moves and moves back: two windows, not one, each at the truth. The agent was there before the volume.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{Scene, Setting, Way};
use super::watched::Watched;
use crate::lab::Lab;
use crate::lab::io::Io;
use crate::lab::truth::Truth;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "second-freeze",
    about: "two cutovers of one volume in one run are two windows",
    expects_hung_task: false,
    run,
};

const DARK: Duration = Duration::from_secs(1);

fn run(lab: &mut Lab) -> Result<String> {
    let mut truth = Truth::start()?;
    let watched = Watched::start_in_time(&mut truth)?;
    let scene = Scene::traced_by(truth, lab, &Setting::default())?;
    let io = Io::start(&scene.head)?;

    let away = scene.cut_over(&io, Way::There, DARK)?;
    let back = scene.cut_over(&io, Way::Back, DARK)?;

    let seen = io.stop()?;
    let (windows, mut verdict) = watched.windows::<2>()?;
    for (window, (way, flip)) in windows.iter().zip([(Way::There, away), (Way::Back, back)]) {
        let by = scene.ends(way);
        let truth = scene.truth.cutover(flip, by[0], by[1])?;
        verdict.window(window, &truth)?;
        verdict.causes(window, &truth, by);
        verdict.gap(&seen, &window.span()?)?;
    }
    verdict.close()
}
