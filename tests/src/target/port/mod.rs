//! A port: an address that listens, what is served there, and the script that says how.
//!
//! What a test may do to a port while it runs is in `live.rs`; requests pass the script in `gate.rs`. The port's one
//! lock (`State`) is held for look-ups only: never while bytes are sent or another lock is taken.

mod exports;
mod gate;
mod listen;
mod live;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::ana::AnaState;
use super::controller::{Controller, Host};
use super::ids::{Cntlid, Nsid, QueueId};
use super::pages::ana_log::Group;
use super::plan::PortPlan;
use super::queue::{Connection, Request};
use super::running::Catalogue;
use super::script::Behaviour;
use super::status::Status;
use super::subsystem::{Namespace, Subsystem};
use super::sync::lock;
use super::timer::Timer;
use super::transcript::{Note, Transcript};
use exports::Export;
use listen::Listener;

/// A port of a running target.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    io_queues: u16,
    catalogue: Arc<Catalogue>,
    timer: Timer,
    transcript: Transcript,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    behaviour: Behaviour,
    exports: BTreeMap<String, Export>,
    controllers: Vec<Arc<Controller>>,
    /// By their numbers.
    connections: BTreeMap<u64, Arc<Connection>>,
    accepted: u64,
    /// Requests that the script withholds, in the order they came.
    held: Vec<(Arc<Connection>, Request)>,
    /// Absent while the port is away.
    listener: Option<Listener>,
}

/// What an I/O command on a namespace meets.
#[derive(Debug)]
pub(crate) enum Access {
    /// It is served.
    Served(Arc<Namespace>),
    /// It is answered with this instead.
    Refused(Status),
}

impl Port {
    /// Starts listening.
    pub(super) fn open(
        plan: &PortPlan,
        catalogue: Arc<Catalogue>,
        timer: Timer,
    ) -> Result<Arc<Self>> {
        let mut exports = BTreeMap::new();
        for export in &plan.exports {
            let subsystem = catalogue.get(&export.subsystem)?;
            exports.insert(export.subsystem.clone(), Export::new(subsystem, export)?);
        }
        let socket = listen::bind(plan.listen)?;
        let port = Arc::new(Self {
            address: socket.local_addr()?,
            io_queues: plan.io_queues,
            catalogue,
            timer,
            transcript: Transcript::default(),
            state: Mutex::new(State {
                behaviour: plan.behaviour.clone(),
                exports,
                ..State::default()
            }),
        });
        port.listen_on(socket)?;
        Ok(port)
    }

    /// Where it listens; with the number that the system chose if the plan left it open.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it saw and did.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(crate) fn io_queues(&self) -> u16 {
        self.io_queues
    }

    /// A subsystem that is served here.
    pub(crate) fn subsystem(&self, nqn: &str) -> Option<Arc<Subsystem>> {
        lock(&self.state).exports.get(nqn).map(Export::subsystem)
    }

    /// The number that every new controller of a subsystem is to have, if the script has one.
    pub(crate) fn repeated_cntlid(&self, nqn: &str) -> Option<Cntlid> {
        lock(&self.state)
            .behaviour
            .repeated_cntlid
            .get(nqn)
            .copied()
    }

    /// Remembers a controller whose admin queue is connected.
    pub(crate) fn enrol(&self, controller: &Arc<Controller>) {
        lock(&self.state).controllers.push(Arc::clone(controller));
    }

    /// The newest controller that an I/O queue of this host can mean.
    pub(crate) fn controller(
        &self,
        nqn: &str,
        cntlid: Cntlid,
        host: &Host,
    ) -> Option<Arc<Controller>> {
        let state = lock(&self.state);
        let fits = |controller: &&Arc<Controller>| {
            controller.cntlid == cntlid
                && controller.subsystem.nqn() == nqn
                && controller.host == *host
        };
        state.controllers.iter().rev().find(fits).cloned()
    }

    /// A namespace that is attached here, and the state of its group.
    pub(crate) fn attached(&self, nqn: &str, nsid: Nsid) -> Option<(Arc<Namespace>, AnaState)> {
        lock(&self.state).exports.get(nqn)?.attached(nsid)
    }

    /// The namespaces that are attached here.
    pub(crate) fn nsids(&self, nqn: &str) -> BTreeSet<Nsid> {
        lock(&self.state)
            .exports
            .get(nqn)
            .map(Export::nsids)
            .unwrap_or_default()
    }

    /// What the ANA log says here: changes so far, and the groups.
    pub(crate) fn ana_groups(&self, nqn: &str) -> (u64, Vec<Group>) {
        lock(&self.state)
            .exports
            .get(nqn)
            .map(Export::groups)
            .unwrap_or_default()
    }

    /// What an I/O command on a namespace meets.
    pub(crate) fn access(&self, nqn: &str, nsid: Nsid) -> Access {
        let state = lock(&self.state);
        match state
            .exports
            .get(nqn)
            .and_then(|export| export.attached(nsid))
        {
            None => Access::Refused(state.behaviour.absent_namespace),
            Some((namespace, ana)) => match ana.refusal() {
                Some(status) => Access::Refused(status),
                None => Access::Served(namespace),
            },
        }
    }

    /// Takes over a stream that was accepted; the connection to serve, unless the port went away meanwhile.
    fn admit(self: &Arc<Self>, stream: std::net::TcpStream) -> Option<Arc<Connection>> {
        let mut state = lock(&self.state);
        state.listener.as_ref()?;
        let number = state.accepted;
        state.accepted += 1;
        let connection = Connection::new(number, Arc::clone(self), stream).ok()?;
        state.connections.insert(number, Arc::clone(&connection));
        drop(state);
        self.transcript.note(Note::Accepted {
            peer: connection.peer,
        });
        Some(connection)
    }

    /// A connection has ended: what was withheld from it is moot, and a controller ends with its admin queue.
    pub(crate) fn forget(&self, connection: &Arc<Connection>) {
        let ended = connection.queue();
        let is_admin = ended.is_some_and(|queue| queue.id == QueueId::ADMIN);
        {
            let mut state = lock(&self.state);
            state.connections.remove(&connection.number);
            state
                .held
                .retain(|(held, _)| held.number != connection.number);
            if let Some(queue) = ended.filter(|_| is_admin) {
                state
                    .controllers
                    .retain(|controller| !Arc::ptr_eq(controller, &queue.controller));
            }
        }
        if let Some(queue) = ended {
            queue.controller.leave(queue.id);
            if is_admin {
                connection.drop_association("the admin queue's connection ended");
            }
        }
    }
}
