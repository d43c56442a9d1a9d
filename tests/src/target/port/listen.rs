//! The listening socket and the thread that accepts on it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};
use rustix::net::Shutdown;

use super::{Port, State};
use crate::target::sync::lock;

/// Connections are served by threads that need little.
const STACK: usize = 256 << 10;

/// A socket that is listened on by a thread.
#[derive(Debug)]
pub(super) struct Listener {
    socket: Arc<TcpListener>,
    thread: JoinHandle<()>,
}

impl Listener {
    /// Stops listening: on return the port refuses connections.
    fn close(self) {
        // On Linux this ends a blocked accept, and what comes now is refused.
        rustix::net::shutdown(&*self.socket, Shutdown::Both).ok();
        // The thread ends by that; that it panicked would be no reason to keep the port.
        self.thread.join().ok();
    }
}

/// Binds and listens. The standard library sets `SO_REUSEADDR`: an address just left can be taken again.
pub(super) fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("listen at {address}"))
}

impl Port {
    /// Accepts on this socket from now on.
    pub(super) fn listen_on(self: &Arc<Self>, socket: TcpListener) -> Result<()> {
        let socket = Arc::new(socket);
        let (accepting, port) = (Arc::clone(&socket), Arc::clone(self));
        // Held until the listener is in place: a connection is admitted only then.
        let mut state = lock(&self.state);
        let thread = thread::Builder::new()
            .name(format!("accept {}", self.address.port()))
            .stack_size(STACK)
            .spawn(move || port.accept_on(&accepting))?;
        state.listener = Some(Listener { socket, thread });
        Ok(())
    }

    /// Stops listening and closes every connection; on return the port refuses.
    pub(super) fn close(&self, reason: &str) {
        let mut state = lock(&self.state);
        let listener = state.listener.take();
        let State {
            connections, held, ..
        } = &mut *state;
        let connections: Vec<_> = connections.values().cloned().collect();
        let moot = std::mem::take(held);
        drop(state);
        drop(moot);
        if let Some(listener) = listener {
            listener.close();
        }
        for connection in connections {
            connection.close(reason);
        }
    }

    fn accept_on(self: &Arc<Self>, socket: &TcpListener) {
        loop {
            match socket.accept() {
                Ok((stream, _)) => {
                    let Some(connection) = self.admit(stream) else {
                        continue;
                    };
                    let serving = Arc::clone(&connection);
                    let spawned = thread::Builder::new()
                        .name(format!("queue {}", connection.number))
                        .stack_size(STACK)
                        .spawn(move || serving.serve());
                    if let Err(error) = spawned {
                        connection.close(&format!("no thread: {error}"));
                        self.forget(&connection);
                    }
                }
                // A host that gave up before it was accepted is no reason to stop.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}
