//! What a test does to a port while it runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};

use super::exports::Export;
use super::{Port, State, listen};
use crate::lab::clock::BootNs;
use crate::target::ana::{AnaState, Announce};
use crate::target::controller::{Controller, Event};
use crate::target::ids::{GroupId, Nsid};
use crate::target::plan::ExportPlan;
use crate::target::script::Behaviour;
use crate::target::sync::lock;

impl Port {
    /// Exchanges the script; what the old one withheld and this one does not is answered now. The moment is
    /// just before.
    pub fn behave(&self, behaviour: impl Into<Behaviour>) -> BootNs {
        let behaviour = behaviour.into();
        let before = BootNs::now();
        lock(&self.state).behaviour = behaviour;
        self.release();
        before
    }

    /// Behaves from now on.
    pub fn heal(&self) -> BootNs {
        self.behave(Behaviour::default())
    }

    /// The script as it is now: its rules count down.
    pub fn behaviour(&self) -> Behaviour {
        lock(&self.state).behaviour.clone()
    }

    /// Moves an ANA group of a subsystem on this port. The moment is just before.
    pub fn ana(
        &self,
        nqn: &str,
        group: GroupId,
        state: AnaState,
        announce: Announce,
    ) -> Result<BootNs> {
        let before = BootNs::now();
        self.change(nqn, |export| {
            export.change(group, state);
            Ok(())
        })?;
        self.announce(nqn, Event::Ana, &BTreeSet::new(), announce);
        Ok(before)
    }

    /// Serves a namespace of a subsystem on this port too. The moment is just before.
    pub fn attach(&self, nqn: &str, nsid: Nsid, announce: Announce) -> Result<BootNs> {
        let before = BootNs::now();
        self.change(nqn, |export| export.attach(nsid))?;
        self.announce(nqn, Event::Namespaces, &BTreeSet::from([nsid]), announce);
        Ok(before)
    }

    /// Serves a namespace of a subsystem on this port no more. The moment is just before.
    pub fn detach(&self, nqn: &str, nsid: Nsid, announce: Announce) -> Result<BootNs> {
        let before = BootNs::now();
        self.change(nqn, |export| {
            export.detach(nsid);
            Ok(())
        })?;
        self.announce(nqn, Event::Namespaces, &BTreeSet::from([nsid]), announce);
        Ok(before)
    }

    /// Serves a subsystem on this port too, or in another way than before.
    pub fn export(&self, plan: &ExportPlan) -> Result<()> {
        let export = Export::new(self.catalogue.get(&plan.subsystem)?, plan)?;
        lock(&self.state)
            .exports
            .insert(plan.subsystem.clone(), export);
        Ok(())
    }

    /// Serves a subsystem on this port no more: its controllers lose their connections, and Connect is rejected with
    /// do not retry, as the kernel's target does.
    pub fn withdraw(&self, nqn: &str) -> BootNs {
        let before = BootNs::now();
        let controllers = {
            let mut state = lock(&self.state);
            state.exports.remove(nqn);
            controllers_of(&state, nqn)
        };
        for connection in controllers
            .iter()
            .flat_map(|controller| controller.connections())
        {
            connection.close("the subsystem is withdrawn");
        }
        before
    }

    /// Closes every connection; the port goes on listening.
    pub fn drop_connections(&self) -> BootNs {
        let before = BootNs::now();
        let connections: Vec<_> = lock(&self.state).connections.values().cloned().collect();
        for connection in connections {
            connection.close("the test drops it");
        }
        before
    }

    /// Goes away as a process does that ends: connections are closed, new ones refused. What it serves
    /// and its script stay.
    pub fn vanish(&self) -> BootNs {
        let before = BootNs::now();
        self.close("the port vanishes");
        before
    }

    /// Listens again, at the same address. Without effect on a port that is there.
    pub fn come_back(self: &Arc<Self>) -> Result<BootNs> {
        let before = BootNs::now();
        if lock(&self.state).listener.is_none() {
            self.listen_on(listen::bind(self.address)?)?;
        }
        Ok(before)
    }

    fn change(&self, nqn: &str, change: impl FnOnce(&mut Export) -> Result<()>) -> Result<()> {
        let mut state = lock(&self.state);
        let Some(export) = state.exports.get_mut(nqn) else {
            bail!("the port at {} does not serve {nqn}", self.address);
        };
        change(export).with_context(|| format!("at {}", self.address))
    }

    fn announce(&self, nqn: &str, event: Event, nsids: &BTreeSet<Nsid>, announce: Announce) {
        if announce == Announce::Silently {
            return;
        }
        let controllers = controllers_of(&lock(&self.state), nqn);
        for controller in controllers {
            controller.note(event, nsids);
            self.tell(&controller);
        }
    }
}

fn controllers_of(state: &State, nqn: &str) -> Vec<Arc<Controller>> {
    state
        .controllers
        .iter()
        .filter(|found| found.subsystem.nqn() == nqn)
        .cloned()
        .collect()
}
