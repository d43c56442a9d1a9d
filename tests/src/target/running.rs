//! A running target: its subsystems and its ports.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use anyhow::{Context as _, Result, ensure};

use super::plan::{NamespacePlan, Plan, PortPlan, SubsystemPlan};
use super::port::Port;
use super::subsystem::Subsystem;
use super::sync::{read, write};
use super::timer::Timer;

/// The subsystems there are, by NQN.
#[derive(Debug, Default)]
pub(crate) struct Catalogue(RwLock<BTreeMap<String, Arc<Subsystem>>>);

impl Catalogue {
    pub(crate) fn get(&self, nqn: &str) -> Result<Arc<Subsystem>> {
        read(&self.0)
            .get(nqn)
            .cloned()
            .with_context(|| format!("there is no subsystem {nqn:?}"))
    }

    fn add(&self, plan: &SubsystemPlan) -> Result<()> {
        let subsystem = Subsystem::new(plan)?;
        let mut subsystems = write(&self.0);
        ensure!(
            !subsystems.contains_key(&plan.nqn),
            "there is a subsystem {:?} already",
            plan.nqn
        );
        subsystems.insert(plan.nqn.clone(), Arc::new(subsystem));
        Ok(())
    }
}

/// A target that runs until it is dropped.
#[derive(Debug)]
pub struct Target {
    catalogue: Arc<Catalogue>,
    timer: Timer,
    ports: Vec<Arc<Port>>,
}

impl Target {
    /// Starts what the plan describes. On return every port listens.
    pub fn start(plan: &Plan) -> Result<Self> {
        let timer = Timer::start().context("start the timer")?;
        let mut target = Self {
            catalogue: Arc::default(),
            timer,
            ports: Vec::new(),
        };
        for subsystem in &plan.subsystems {
            target.add_subsystem(subsystem)?;
        }
        for port in &plan.ports {
            target.open(port)?;
        }
        Ok(target)
    }

    /// A port by its place in the plan, then in the order they were opened.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn port(&self, number: usize) -> &Arc<Port> {
        &self.ports[number]
    }

    /// Every port.
    pub fn ports(&self) -> &[Arc<Port>] {
        &self.ports
    }

    /// Opens another port; its number.
    pub fn open(&mut self, plan: &PortPlan) -> Result<usize> {
        let port = Port::open(plan, Arc::clone(&self.catalogue), self.timer.clone())?;
        self.ports.push(port);
        Ok(self.ports.len() - 1)
    }

    /// Adds a subsystem; no port serves it yet ([`Port::export`]).
    pub fn add_subsystem(&self, plan: &SubsystemPlan) -> Result<()> {
        self.catalogue.add(plan)
    }

    /// Adds a namespace to a subsystem; no port serves it yet ([`Port::attach`]).
    pub fn add_namespace(&self, nqn: &str, plan: &NamespacePlan) -> Result<()> {
        self.catalogue.get(nqn)?.create(plan)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.timer.stop();
        for port in &self.ports {
            port.vanish();
        }
    }
}
