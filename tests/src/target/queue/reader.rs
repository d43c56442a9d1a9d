//! The thread of a connection: reads PDUs until the stream ends, one way or another.

use std::io::{self, BufReader, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::{Connection, Request};
use crate::target::command::Command;
use crate::target::sync::lock;
use crate::target::wire::{self, FatalError, HostData, Incoming, Malformed};

/// How long a host that was told of its error has to leave by itself.
const FAREWELL: Duration = Duration::from_secs(1);

impl Connection {
    /// Serves the connection until it ends, then forgets it.
    pub(crate) fn serve(self: &Arc<Self>) {
        match self.read_all() {
            Ok(()) => self.close("the host left"),
            Err(error @ Malformed::Protocol { .. }) => {
                self.port.transcript().broken(self.peer, &error.to_string());
                self.say_farewell(&error);
                self.close("the host broke the protocol");
            }
            Err(Malformed::Io(error)) => self.close(&format!("reading failed: {error}")),
        }
        self.port.forget(self);
    }

    fn read_all(self: &Arc<Self>) -> Result<(), Malformed> {
        let mut stream = BufReader::with_capacity(64 << 10, self.socket.try_clone()?);
        let Some(handshake) = wire::read_handshake(&mut stream)? else {
            return Ok(());
        };
        self.port.take(self, Request::Handshake(handshake));
        while let Some(incoming) = wire::read(&mut stream)? {
            match incoming {
                Incoming::Command { entry, data } => {
                    if let Some(queue) = self.queue() {
                        queue.advance();
                    }
                    self.port
                        .take(self, Request::Command(Command::new(entry, data)));
                }
                Incoming::Data(part) => self.take_data(&part)?,
                Incoming::Terminate { reason } => {
                    let what = format!("the host terminates the connection: {reason:#06x}");
                    self.port.transcript().broken(self.peer, &what);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn take_data(self: &Arc<Self>, part: &HostData) -> Result<(), Malformed> {
        let filled = lock(&self.transfers).fill(part);
        match filled {
            Ok(Some(command)) => {
                self.execute(&command);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err((error, field)) => Err(quote(error, field, part)),
        }
    }

    /// Tells the host why, and lets it read that before the connection is closed under it.
    fn say_farewell(&self, error: &Malformed) {
        let Some(pdu) = wire::c2h_term(error) else {
            return;
        };
        self.send(&pdu);
        // Whatever fails here, the connection is closed next.
        self.socket.shutdown(Shutdown::Write).ok();
        drain(&self.socket).ok();
    }
}

/// Reads and forgets until the host leaves or its time is over.
fn drain(mut socket: &TcpStream) -> io::Result<()> {
    socket.set_read_timeout(Some(FAREWELL))?;
    let mut nowhere = [0; 4096];
    while socket.read(&mut nowhere)? > 0 {}
    Ok(())
}

/// The header of a data PDU again, to quote it; only what the host needs to recognise it.
fn quote(error: FatalError, field: u32, part: &HostData) -> Malformed {
    let mut header = vec![0; 24];
    header[0] = 0x06;
    header[2] = 24;
    header[8..10].copy_from_slice(&part.cid.to_le_bytes());
    header[10..12].copy_from_slice(&part.tag.to_le_bytes());
    header[12..16].copy_from_slice(&part.offset.to_le_bytes());
    Malformed::Protocol {
        error,
        field,
        header,
    }
}
