//! `nvme list-subsys -o json` of nvme-cli 2.3: hosts, in them subsystems, in them paths, which are controllers.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Finished, NVME, once};

/// The topology as nvme-cli sees it: the subsystems of a host NQN, host by host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ListSubsys(Vec<Host>);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Host {
    /// A controller that has none is listed under the one in /etc/nvme.
    #[serde(rename = "HostNQN")]
    nqn: Option<String>,
    #[serde(rename = "HostID")]
    id: Option<String>,
    #[serde(rename = "Subsystems")]
    subsystems: Vec<Subsystem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Subsystem {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "NQN")]
    nqn: String,
    #[serde(rename = "Paths", default)]
    paths: Vec<Path>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Path {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "Transport")]
    transport: String,
    /// The kernel's `address` as it is.
    #[serde(rename = "Address", default)]
    address: String,
    #[serde(rename = "State")]
    state: String,
}

/// A controller as nvme-cli sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown<'l> {
    pub(super) name: &'l str,
    pub(super) subsystem: &'l str,
    pub(super) nqn: &'l str,
    pub(super) hostnqn: Option<&'l str>,
    pub(super) hostid: Option<&'l str>,
    pub(super) transport: &'l str,
    pub(super) address: &'l str,
    pub(super) state: &'l str,
}

impl ListSubsys {
    /// Looks at this host.
    pub fn look() -> Result<Self> {
        Self::of(&once(NVME, &["list-subsys", "-o", "json"])?)
    }

    /// What a run printed.
    pub fn of(finished: &Finished) -> Result<Self> {
        ensure!(
            finished.code == 0,
            "nvme list-subsys ended with {}: {}",
            finished.code,
            finished.stderr.trim()
        );
        finished.document("nvme list-subsys")
    }

    pub(super) fn controllers(&self) -> Vec<Shown<'_>> {
        let mut shown = Vec::new();
        for host in &self.0 {
            for subsystem in &host.subsystems {
                shown.extend(subsystem.paths.iter().map(|path| Shown {
                    name: &path.name,
                    subsystem: &subsystem.name,
                    nqn: &subsystem.nqn,
                    hostnqn: host.nqn.as_deref(),
                    hostid: host.id.as_deref(),
                    transport: &path.transport,
                    address: &path.address,
                    state: &path.state,
                }));
            }
        }
        shown
    }
}
