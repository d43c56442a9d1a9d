//! Three namespaces of one subsystem, each in an ANA group of its own. One is cut over; the others have no window.

use std::time::Duration;

use anyhow::Result;

use super::Scenario;
use super::scene::NQN;
use super::watched::Watched;
use crate::lab::target::AnaState::{Inaccessible, Optimized};
use crate::lab::truth::Truth;
use crate::lab::{Lab, wait};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "per-namespace",
    about: "of three namespaces in three ANA groups one is cut over: one window, of that one",
    expects_hung_task: false,
    run,
};

/// Each namespace's number is its group's too.
const NAMESPACES: [u32; 3] = [1, 2, 3];
const MOVED: u32 = 2;

fn run(lab: &mut Lab) -> Result<String> {
    let mut truth = Truth::start()?;
    let target = lab.target(NQN)?;
    for (number, state) in [(1, Optimized), (2, Inaccessible)] {
        let port = target.port(number);
        port.open(state)?;
        for group in NAMESPACES {
            port.ana_group(group, state)?;
        }
    }
    for nsid in NAMESPACES {
        target.namespace_in(nsid, nsid)?;
    }
    let source = lab.host.connect(&target.port(1))?;
    let destination = lab.host.connect(&target.port(2))?;
    for nsid in NAMESPACES {
        lab.host.head(NQN, nsid)?;
    }
    let watched = Watched::start(&mut truth)?;

    let flip = target.port(1).ana_group(MOVED, Inaccessible)?;
    wait::pause(Duration::from_secs(1));
    target.port(2).ana_group(MOVED, Optimized)?;
    watched.agent.windows(1)?;

    let truth = truth.cutover(flip, &source, &destination)?;
    let ([window], mut verdict) = watched.windows_of(NQN, MOVED)?;
    verdict.window(&window, &truth)?;
    verdict.causes(&window, &truth, [&source, &destination]);
    verdict.class(&window, "cutover");
    verdict.close()
}
