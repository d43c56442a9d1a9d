//! Orders to a target from outside its process: one JSON object a line, answered by one.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::ana::{AnaState, Announce};
use super::ids::{GroupId, Nsid};
use super::plan::{ExportPlan, NamespacePlan, PortPlan, SubsystemPlan};
use super::port::Port;
use super::running::Target;
use super::script::Behaviour;
use super::transcript::Snapshot;
use std::net::SocketAddr;
use std::sync::Arc;

/// Something to do. Ports are numbered as in [`Target::port`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(
    missing_docs,
    reason = "each is the method of the same name of `Port` or `Target`, with its arguments"
)]
pub enum Order {
    /// Nothing but a reply: where the ports listen.
    Ports,
    Behave {
        port: usize,
        behaviour: Behaviour,
    },
    Heal {
        port: usize,
    },
    Ana {
        port: usize,
        subsystem: String,
        group: GroupId,
        state: AnaState,
        #[serde(default)]
        announce: Announce,
    },
    Attach {
        port: usize,
        subsystem: String,
        namespace: Nsid,
        #[serde(default)]
        announce: Announce,
    },
    Detach {
        port: usize,
        subsystem: String,
        namespace: Nsid,
        #[serde(default)]
        announce: Announce,
    },
    Export {
        port: usize,
        export: ExportPlan,
    },
    Withdraw {
        port: usize,
        subsystem: String,
    },
    DropConnections {
        port: usize,
    },
    Vanish {
        port: usize,
    },
    ComeBack {
        port: usize,
    },
    AddSubsystem {
        subsystem: SubsystemPlan,
    },
    AddNamespace {
        subsystem: String,
        namespace: NamespacePlan,
    },
    Open {
        plan: PortPlan,
    },
    /// The port's transcript.
    Report {
        port: usize,
    },
}

/// What came of an order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// It was done.
    Done,
    /// Where the ports listen, by number.
    Ports(Vec<SocketAddr>),
    /// A port's transcript.
    Report(Box<Snapshot>),
    /// It was not done, and why.
    Error(String),
}

impl Target {
    /// Carries out an order that came as a line of JSON.
    pub fn obey_line(&mut self, line: &str) -> Reply {
        let order = serde_json::from_str(line).context("not an order");
        let reply = order.and_then(|order| self.obey(order));
        reply.unwrap_or_else(|error| Reply::Error(format!("{error:#}")))
    }

    /// Carries out an order.
    pub fn obey(&mut self, order: Order) -> Result<Reply> {
        match order {
            Order::Ports => {
                return Ok(Reply::Ports(
                    self.ports().iter().map(|port| port.address()).collect(),
                ));
            }
            Order::Report { port } => {
                let snapshot = self.numbered(port)?.transcript().snapshot();
                return Ok(Reply::Report(Box::new(snapshot)));
            }
            Order::Behave { port, behaviour } => {
                self.numbered(port)?.behave(behaviour);
            }
            Order::Heal { port } => {
                self.numbered(port)?.heal();
            }
            Order::Ana {
                port,
                subsystem,
                group,
                state,
                announce,
            } => {
                self.numbered(port)?
                    .ana(&subsystem, group, state, announce)?;
            }
            Order::Attach {
                port,
                subsystem,
                namespace,
                announce,
            } => {
                self.numbered(port)?
                    .attach(&subsystem, namespace, announce)?;
            }
            Order::Detach {
                port,
                subsystem,
                namespace,
                announce,
            } => {
                self.numbered(port)?
                    .detach(&subsystem, namespace, announce)?;
            }
            Order::Export { port, export } => self.numbered(port)?.export(&export)?,
            Order::Withdraw { port, subsystem } => {
                self.numbered(port)?.withdraw(&subsystem);
            }
            Order::DropConnections { port } => {
                self.numbered(port)?.drop_connections();
            }
            Order::Vanish { port } => {
                self.numbered(port)?.vanish();
            }
            Order::ComeBack { port } => {
                self.numbered(port)?.come_back()?;
            }
            Order::AddSubsystem { subsystem } => self.add_subsystem(&subsystem)?,
            Order::AddNamespace {
                subsystem,
                namespace,
            } => {
                self.add_namespace(&subsystem, &namespace)?;
            }
            Order::Open { plan } => {
                self.open(&plan)?;
            }
        }
        Ok(Reply::Done)
    }

    fn numbered(&self, port: usize) -> Result<&Arc<Port>> {
        self.ports()
            .get(port)
            .with_context(|| format!("there is no port {port}"))
    }
}
