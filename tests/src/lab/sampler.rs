//! What people measure windows with where nothing else is at hand: a loop that reads, every two seconds, the state of each
//! controller and the ANA state of each leg.
//!
//! It knows what sysfs says at a moment, and takes what it saw for what was, until it looks again.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

use super::clock::{BootNs, Span};
use super::host::Controller;

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(2);

/// A loop at work.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Samples>,
}

/// When it looked, and whether no leg was usable then.
#[derive(Debug, Default)]
pub struct Samples(Vec<(BootNs, bool)>);

impl Sampler {
    /// Looks at a namespace through these controllers, all it has, from now on.
    pub fn start(controllers: Vec<Controller>, nsid: u32) -> Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || {
                let mut samples = Samples::default();
                while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                    let usable = |controller| serves(controller, nsid);
                    let dark = !controllers.iter().any(usable);
                    samples.0.push((BootNs::now(), dark));
                }
                samples
            })
            .context("start the sampler's thread")?;
        Ok(Self { stop, thread })
    }

    /// Ends it and hands over what it saw.
    pub fn stop(self) -> Result<Samples> {
        drop(self.stop);
        self.thread
            .join()
            .map_err(|_| anyhow!("the sampler's thread panicked"))
    }
}

/// What cannot be read does not serve.
fn serves(controller: &Controller, nsid: u32) -> bool {
    let live = controller.state().is_ok_and(|state| state == "live");
    let ana = controller.leg(nsid).ok().flatten();
    live && matches!(ana.as_deref(), Some("optimized" | "non-optimized"))
}

impl Samples {
    /// How long it would say that the namespace was dark in a window: from each look that found it so to the next.
    pub fn dark_in(&self, window: &Span) -> Duration {
        let looks = self.0.iter();
        let dark = looks.filter(|(at, dark)| *dark && window.begin <= *at && *at <= window.end);
        PERIOD * u32::try_from(dark.count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_no_look_fell_into_was_not_and_another_lasted_as_many_periods() {
        let at = |seconds: u64| BootNs(seconds * 1_000_000_000);
        let samples = Samples(vec![
            (at(2), false),
            (at(4), true),
            (at(6), true),
            (at(8), false),
        ]);
        let window = |begin, end| Span {
            begin: at(begin),
            end: at(end),
        };
        assert_eq!(samples.dark_in(&window(5, 7)), Duration::from_secs(2));
        assert_eq!(samples.dark_in(&window(3, 7)), Duration::from_secs(4));
        assert_eq!(samples.dark_in(&window(9, 10)), Duration::ZERO);
    }
}
