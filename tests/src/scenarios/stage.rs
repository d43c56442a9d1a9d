//! Where the stories about a target's misbehaviour play: one namespace on scripted ports, a controller at each, traced from
//! before the first connect.

use std::net::Ipv4Addr;

use anyhow::Result;

use super::scripted_scene::{NQN, SHARED, endpoint, serving};
use crate::lab::clock::BootNs;
use crate::lab::host::{Controller, Head, Host, Timeouts};
use crate::lab::truth::Truth;
use crate::target::{AnaState, Announce, ExportPlan, GroupId, Port, Target};

/// The one ANA group.
const GROUP: GroupId = GroupId(1);

/// The stage; ports and controllers are numbered alike, from 0.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) truth: Truth,
    target: Target,
    pub(super) controllers: Vec<Controller>,
    pub(super) head: Head,
}

impl Stage {
    /// Ports on the loopback, one for each of the states.
    pub(super) fn set(host: &Host, states: &[AnaState]) -> Result<Self> {
        let ports = (2..).zip(states).map(|(last, state)| {
            let export = ExportPlan::new(NQN).ana(GROUP.0, *state);
            (Ipv4Addr::new(127, 0, 0, last), export)
        });
        Self::with(serving(&[SHARED], ports)?, host, Timeouts::default())
    }

    /// A target that runs already.
    pub(super) fn with(target: Target, host: &Host, timeouts: Timeouts) -> Result<Self> {
        let truth = Truth::start()?;
        let ports = 0..target.ports().len();
        let controllers = ports.map(|port| host.connect_with(endpoint(&target, port)?, timeouts));
        let controllers = controllers.collect::<Result<Vec<_>>>()?;
        let head = host.head(NQN, SHARED)?;
        Ok(Self {
            truth,
            target,
            controllers,
            head,
        })
    }

    pub(super) fn port(&self, number: usize) -> &Port {
        self.target.port(number)
    }

    /// Moves the namespace's ANA group on a port. The moment is just before.
    pub(super) fn ana(&self, port: usize, state: AnaState, announce: Announce) -> Result<BootNs> {
        self.port(port).ana(NQN, GROUP, state, announce)
    }

    /// Clears it: the target must answer until the host has let go of it.
    pub(super) fn strike(self, host: &Host) -> Result<()> {
        host.disconnect_all()
    }
}
