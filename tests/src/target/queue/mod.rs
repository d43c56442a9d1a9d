//! A connection: one TCP stream that becomes one queue by its Connect.
//!
//! One thread reads. Answers are written by whoever has them: the reader, the timer, or the thread that exchanged
//! the script and so let withheld requests go.

mod reader;
mod transfer;

use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::command::{self, Answer, Command, Outcome, Verb};
use super::controller::Controller;
use super::ids::QueueId;
use super::port::Port;
use super::status::Status;
use super::sync::lock;
use super::transcript::Note;
use super::wire::{self, Alignment, Completion, DataPointer, Handshake};
use transfer::Transfers;

/// A host that does not read for this long is dropped: whoever writes may hold up others.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// One TCP connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) port: Arc<Port>,
    pub(crate) peer: SocketAddr,
    socket: TcpStream,
    /// Serialises PDUs: whole ones only.
    writing: Mutex<()>,
    alignment: OnceLock<Alignment>,
    queue: OnceLock<Queue>,
    transfers: Mutex<Transfers>,
    closed: AtomicBool,
}

/// What Connect made of a connection.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) id: QueueId,
    pub(crate) controller: Arc<Controller>,
    entries: u16,
    flow_control: bool,
    head: AtomicU16,
}

impl Queue {
    pub(crate) fn new(
        id: QueueId,
        controller: Arc<Controller>,
        entries: u16,
        flow_control: bool,
    ) -> Self {
        // Connect itself was the first entry.
        let head = AtomicU16::new(1 % entries);
        Self {
            id,
            controller,
            entries,
            flow_control,
            head,
        }
    }

    /// Counts an entry as read.
    fn advance(&self) {
        let next = |head: u16| Some((head + 1) % self.entries);
        // The closure never declines.
        let _previous = self
            .head
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    fn head(&self) -> u16 {
        if self.flow_control {
            self.head.load(Ordering::Relaxed)
        } else {
            0xffff
        }
    }
}

/// What a host sends and wants an answer to.
#[derive(Debug)]
pub(crate) enum Request {
    Handshake(Handshake),
    Command(Command),
}

impl Connection {
    /// Takes over a stream that was accepted.
    pub(crate) fn new(number: u64, port: Arc<Port>, socket: TcpStream) -> io::Result<Arc<Self>> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_LIMIT))?;
        Ok(Arc::new(Self {
            number,
            port,
            peer: socket.peer_addr()?,
            socket,
            writing: Mutex::new(()),
            alignment: OnceLock::new(),
            queue: OnceLock::new(),
            transfers: Mutex::default(),
            closed: AtomicBool::new(false),
        }))
    }

    /// What it is; nothing before its Connect.
    pub(crate) fn queue(&self) -> Option<&Queue> {
        self.queue.get()
    }

    /// Makes it a queue; refused if it is one already.
    pub(crate) fn become_queue(self: &Arc<Self>, queue: Queue) -> Result<(), Status> {
        queue.controller.join(queue.id, self)?;
        self.queue
            .set(queue)
            .map_err(|_| Status::SEQUENCE.do_not_retry())
    }

    /// Answers a request as a healthy target does.
    pub(crate) fn answer(self: &Arc<Self>, request: Request) {
        match request {
            Request::Handshake(handshake) => {
                let alignment = Alignment::from_dwords(handshake.alignment);
                self.alignment.get_or_init(|| alignment);
                self.port.transcript().note(Note::Handshake {
                    digests: handshake.digests,
                });
                self.send(&wire::icresp());
            }
            Request::Command(command) => self.begin(command),
        }
    }

    /// Answers a request with a status, nothing being done.
    pub(crate) fn refuse(self: &Arc<Self>, request: &Request, status: Status) {
        match request {
            Request::Handshake(_) => self.close("the script fails the handshake"),
            Request::Command(command) => self.finish(command, Answer::scripted(command, status)),
        }
    }

    /// Executes a command, once its data is here.
    fn begin(self: &Arc<Self>, mut command: Command) {
        match command.entry.data_pointer() {
            DataPointer::Unknown(_) => {
                self.finish(&command, Answer::fail(Status::SGL_TYPE.do_not_retry()));
            }
            DataPointer::InCapsule { offset, length } => match command.narrow(offset, length) {
                Ok(()) => self.execute(&command),
                Err(status) => self.finish(&command, Answer::fail(status)),
            },
            DataPointer::Transport { length } if length > super::limits::TRANSFER => {
                self.finish(&command, Answer::fail(Status::INVALID_FIELD.do_not_retry()));
            }
            DataPointer::Transport { length }
                if length > 0 && command.entry.is_host_to_controller() =>
            {
                let cid = command.entry.cid();
                let tag = lock(&self.transfers).begin(command, length);
                self.send(&wire::r2t(cid, tag, length));
            }
            DataPointer::Transport { .. } => self.execute(&command),
        }
    }

    fn execute(self: &Arc<Self>, command: &Command) {
        match command::execute(self, command) {
            Outcome::Answer(answer) => self.finish(command, answer),
            Outcome::Parked => {}
        }
    }

    /// Sends what a command came to, and writes it down.
    fn finish(&self, command: &Command, answer: Answer) {
        let answer = answer.fitted_to(command);
        let verb = Verb::of(&command.entry, self.is_admin());
        self.port.transcript().command(verb, command, &answer);
        let cid = command.entry.cid();
        let mut bytes = Vec::new();
        if !answer.data.is_empty() {
            let alignment = self
                .alignment
                .get()
                .copied()
                .unwrap_or(Alignment::from_dwords(0));
            bytes = wire::c2h_data(cid, &answer.data, alignment);
        }
        bytes.extend(wire::response(&self.completion(
            cid,
            answer.status,
            answer.result,
        )));
        self.send(&bytes);
    }

    /// Completes a parked request for an event.
    pub(crate) fn complete_parked(&self, cid: u16, status: Status, result: u64) {
        self.send(&wire::response(&self.completion(cid, status, result)));
    }

    fn completion(&self, cid: u16, status: Status, result: u64) -> Completion {
        let (queue, head) = match self.queue() {
            Some(queue) => (queue.id, queue.head()),
            None => (QueueId::ADMIN, 0),
        };
        Completion {
            result,
            head,
            queue,
            cid,
            status,
        }
    }

    /// Before its Connect a connection is as good as an admin queue: all it may send is Connect.
    pub(crate) fn is_admin(&self) -> bool {
        self.queue().is_none_or(|queue| queue.id == QueueId::ADMIN)
    }

    fn send(&self, bytes: &[u8]) {
        let sent = {
            let _whole = lock(&self.writing);
            (&self.socket).write_all(bytes)
        };
        if let Err(error) = sent {
            self.close(&format!("writing failed: {error}"));
        }
    }

    /// Ends the connection; the reader then leaves.
    pub(crate) fn close(&self, reason: &str) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            self.port.transcript().closed(self.peer, reason);
        }
        // It may be broken already: that is what is wanted.
        self.socket.shutdown(Shutdown::Both).ok();
    }

    /// Ends every connection of the association that this one belongs to.
    pub(crate) fn drop_association(&self, reason: &str) {
        if let Some(queue) = self.queue() {
            for connection in queue.controller.connections() {
                connection.close(reason);
            }
        }
        self.close(reason);
    }
}
