//! Under I/O the volume moves from path to path and back, eight times: eight windows, measured three ways. Beside the agent
//! runs the loop over sysfs that people make do with, for comparison.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::{NSID, Scene, Way};
use super::watched::Watched;
use crate::lab::Lab;
use crate::lab::clock::{Millis, Offset};
use crate::lab::io::Io;
use crate::lab::sampler::Sampler;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "clean-cutover",
    about: "ANA moves a volume to and fro under I/O: eight windows, all ends at the truth; a 2 s sampler beside it",
    expects_hung_task: false,
    run,
};

const MOVES: usize = 8;
/// How long the first one leaves the volume dark, and how much longer each of the others: a sampler must not fall into step.
const DARK: Duration = Duration::from_millis(800);
const LONGER: Duration = Duration::from_millis(70);

fn run(lab: &mut Lab) -> Result<String> {
    let mut scene = Scene::set(lab)?;
    let watched = Watched::start_in_time(&mut scene.truth)?;
    let sampler = Sampler::start(scene.ends(Way::There).map(Clone::clone).into(), NSID)?;
    let io = Io::start(&scene.head)?;

    let mut moves = Vec::new();
    for (way, longer) in [Way::There, Way::Back].into_iter().cycle().zip(0..) {
        if moves.len() == MOVES {
            break;
        }
        moves.push((way, scene.cut_over(&io, way, DARK + LONGER * longer)?));
    }

    let samples = sampler.stop()?;
    let seen = io.stop()?;
    let (windows, mut verdict) = watched.windows::<MOVES>()?;
    let (mut ours, mut sampled, mut farthest) = (Vec::new(), Vec::new(), Duration::ZERO);
    for (window, (way, flip)) in windows.iter().zip(moves) {
        let ends = scene.ends(way);
        let truth = scene.truth.cutover(flip, ends[0], ends[1])?;
        let offsets = verdict.at_truth(window, &truth)?;
        farthest = offsets
            .map(Offset::magnitude)
            .into_iter()
            .fold(farthest, Ord::max);
        verdict.causes(window, &truth, ends);
        verdict.class(window, "cutover");
        let span = window.span()?;
        verdict.in_gap(&seen, &span)?;
        let length = truth.span.length();
        ours.push(span.length().abs_diff(length));
        sampled.push(samples.dark_in(&truth.span).abs_diff(length));
    }
    let errors = seen.errors();
    verdict.require(errors.is_empty(), || format!("I/O failed: {errors:?}"));
    let (ours, sampled) = (mean(&ours), mean(&sampled));
    let ratio = sampled.as_nanos() / ours.as_nanos().max(1);
    verdict.figure(format!(
        "{MOVES} windows, each end off by {} ms at most; lengths off by {} ms on average, by {} ms for a 2 s sampler, \
         {ratio} times as much",
        Millis(farthest),
        Millis(ours),
        Millis(sampled),
    ));
    verdict.close()
}

fn mean(of: &[Duration]) -> Duration {
    of.iter().sum::<Duration>() / u32::try_from(of.len().max(1)).unwrap_or(u32::MAX)
}
