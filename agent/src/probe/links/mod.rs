//! The host's network links: whether each can carry packets, which routes and neighbours it lost, and which of them an
//! endpoint is reached by.
//!
//! Owns the rtnetlink subscription and the table of links. Sees the network namespace that it is called in. Does not
//! know of controllers: whoever asks ties an endpoint to an interface by [`Links::interface_of`].

mod ask;
mod change;
mod table;

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt};
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::{
    MulticastGroup,
    packet_core::{NetlinkMessage, NetlinkPayload},
    sys::SocketAddr,
};

use crate::{fabric::BootNs, host::clock};

use table::Table;

pub use change::{Change, LinkEvent};

/// What is listened to. None of it needs a privilege.
const GROUPS: &[MulticastGroup] = &[
    MulticastGroup::Link,
    MulticastGroup::Ipv4Ifaddr,
    MulticastGroup::Ipv6Ifaddr,
    MulticastGroup::Ipv4Route,
    MulticastGroup::Ipv6Route,
    MulticastGroup::Neigh,
];

/// The kernel's word on links cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// There is no socket.
    #[error("no netlink socket for links can be opened")]
    Open(#[source] io::Error),
    /// The kernel did not answer a question as it should.
    #[error("the kernel cannot be asked for its links")]
    Ask(#[source] rtnetlink::Error),
    /// A socket failed while it was in use.
    #[error("the netlink socket for links was closed")]
    Closed,
}

type Message = (NetlinkMessage<RouteNetlinkMessage>, SocketAddr);

/// The links of this network namespace.
///
/// The socket is read while [`Links::next`] is awaited and at no other time: what the kernel tells in between waits
/// in the socket, where it is bounded, and what does not fit there is told as [`Change::Lost`].
pub struct Links {
    /// Reads the socket when it is polled.
    connection: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// What it has read.
    messages: Pin<Box<dyn Stream<Item = Message> + Send>>,
    table: Table,
    /// Told by the kernel, not yet by [`Links::next`].
    events: VecDeque<LinkEvent>,
    /// The table has missed something.
    stale: bool,
    closed: bool,
}

impl Links {
    /// Subscribes, then looks at what there is. Belongs to the tokio runtime that it is called in.
    ///
    /// # Errors
    ///
    /// No socket can be had, or the kernel does not tell its links.
    pub async fn listen() -> Result<Self, LinksError> {
        let (connection, _, messages) =
            rtnetlink::new_multicast_connection(GROUPS).map_err(LinksError::Open)?;
        Ok(Self {
            connection: Box::pin(connection),
            messages: Box::pin(messages),
            table: ask::table().await?,
            events: VecDeque::new(),
            stale: false,
            closed: false,
        })
    }

    /// The next change. Nothing is lost when this future is dropped.
    ///
    /// # Errors
    ///
    /// The socket failed, or the links could not be looked up after a loss; then calling again looks again.
    pub async fn next(&mut self) -> Result<LinkEvent, LinksError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            if self.stale {
                let now = ask::table().await?;
                let time = clock::boot();
                self.stale = false;
                let changes = self.table.replace(now);
                self.tell(time, changes);
            } else if self.closed {
                return Err(LinksError::Closed);
            } else {
                poll_fn(|context| self.hear(context)).await;
            }
        }
    }

    /// Which interface the kernel reaches `destination` by, from `source` where the connection is bound to one of the
    /// host's addresses. An address of the host's own is reached by `lo`. While there is no route it is the interface
    /// that has `source`, and without one nobody knows.
    ///
    /// A link-local IPv6 address is reached by the interface in its zone, which is not to be asked for here.
    pub fn interface_of(
        &self,
        destination: IpAddr,
        source: Option<IpAddr>,
    ) -> impl Future<Output = Option<String>> + Send + use<> {
        let owner = source.and_then(|source| self.table.interface_with(source));
        let owner = owner.map(str::to_owned);
        async move {
            let routed = ask::interface(destination, source).await;
            let routed = routed.unwrap_or_else(|error| {
                tracing::warn!(%destination, %error, "no route can be asked for");
                None
            });
            routed.or(owner)
        }
    }

    /// Reads what has come, all of it under one time.
    fn hear(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.closed = self.connection.as_mut().poll(context).is_ready();
        let time = clock::boot();
        let mut heard = false;
        while let Poll::Ready(Some((message, sender))) = self.messages.poll_next_unpin(context) {
            heard = true;
            // Another process with CAP_NET_ADMIN may send here too.
            if sender.port_number() != 0 {
                continue;
            }
            match message.payload {
                NetlinkPayload::InnerMessage(message) => {
                    let changes = self.table.apply(&message);
                    self.tell(time, changes);
                }
                NetlinkPayload::Overrun(_) => {
                    self.stale = true;
                    self.tell(time, [Change::Lost]);
                }
                _ => {}
            }
        }
        if heard || self.closed {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn tell(&mut self, time: BootNs, changes: impl IntoIterator<Item = Change>) {
        let changes = changes.into_iter();
        self.events
            .extend(changes.map(|change| LinkEvent { time, change }));
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links")
            .field("table", &self.table)
            .field("events", &self.events)
            .field("stale", &self.stale)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
