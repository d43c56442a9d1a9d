//! `pathwarden status -o json`, as far as scenarios look at it.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::{Counts, Finished, PATHWARDEN, Unchecked, exit, expect_schema, once};
use crate::lab::wait::{self, Look};

/// How long the kernel may take for what it does in milliseconds on a real processor.
const SOON: Duration = Duration::from_secs(20);

/// The topology as the agent sees it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Status {
    schema: String,
    /// `on` or `off`.
    pub multipath: Option<String>,
    /// By name.
    pub subsystems: Vec<Subsystem>,
    /// By name.
    pub controllers: Vec<Controller>,
    /// Totals.
    pub counts: Counts,
    /// What could not be read.
    pub unchecked: Vec<Unchecked>,
}

/// A subsystem of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Subsystem {
    /// The kernel's name for it.
    pub name: String,
    /// Its NQN.
    pub nqn: Option<String>,
    /// Its namespaces.
    pub namespaces: Vec<Namespace>,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// Its number.
    pub nsid: Option<u32>,
    /// Its multipath block device.
    pub head: Option<String>,
    /// The paths to it.
    pub legs: Vec<Leg>,
}

/// A controller's path to a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Leg {
    /// The kernel's name for it.
    pub name: String,
    /// The controller.
    pub controller: String,
    /// Its ANA state.
    pub ana: Option<String>,
    /// Whether the kernel would route over it.
    pub usable: Option<bool>,
}

/// A controller.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Controller {
    /// The kernel's name for it.
    pub name: String,
    /// The subsystem that it belongs to, by name.
    pub subsystem: Option<String>,
    /// What it connects to, as one text.
    pub endpoint: Option<String>,
    /// The host's end of its connection.
    pub src_addr: Option<String>,
    /// Whom it is connected as.
    pub hostnqn: Option<String>,
    /// Whom it is connected as.
    pub hostid: Option<String>,
    /// `tcp`, `pcie`, …
    pub transport: Option<String>,
    /// The kernel's word.
    pub state: Option<String>,
}

impl Status {
    /// Looks at this host. It must be readable as a whole.
    pub fn look() -> Result<Self> {
        Self::of(&once(PATHWARDEN, &["status", "-o", "json"])?)
    }

    /// Waits until this host has so many legs: a controller lists its namespaces a moment after it is live.
    pub fn with_legs(count: usize) -> Result<Self> {
        wait::until(&format!("{count} legs"), SOON, || {
            let status = Self::look()?;
            Ok(if status.counts.legs == count {
                Look::Seen(status)
            } else {
                Look::NotYet(format!("{:?}", status.counts))
            })
        })
    }

    /// What a run printed.
    pub fn of(finished: &Finished) -> Result<Self> {
        let status: Self = finished.document("the agent's status")?;
        expect_schema(&status.schema, "pathwarden/status/v1")?;
        ensure!(
            finished.code == exit::CLEAN && status.unchecked.is_empty(),
            "status ended with {}, unchecked: {:?}",
            finished.code,
            status.unchecked
        );
        Ok(status)
    }

    /// A controller by its name.
    pub fn controller(&self, name: &str) -> Result<&Controller> {
        let mut controllers = self.controllers.iter();
        let found = controllers.find(|controller| controller.name == name);
        found.with_context(|| format!("the agent shows no {name}"))
    }

    /// The NQN of a controller's subsystem.
    pub fn nqn_of(&self, controller: &Controller) -> Option<&str> {
        let name = controller.subsystem.as_ref()?;
        let mut subsystems = self.subsystems.iter();
        let found = subsystems.find(|subsystem| subsystem.name == *name);
        found?.nqn.as_deref()
    }

    /// The subsystem of an NQN.
    pub fn subsystem(&self, nqn: &str) -> Result<&Subsystem> {
        let mut subsystems = self.subsystems.iter();
        let found = subsystems.find(|subsystem| subsystem.nqn.as_deref() == Some(nqn));
        found.with_context(|| format!("the agent shows no subsystem {nqn}"))
    }
}
