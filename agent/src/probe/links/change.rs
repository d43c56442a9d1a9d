//! What can happen to the host's network that a path may depend on, as one closed list.

use std::net::IpAddr;

use crate::fabric::BootNs;

/// A change, and when this agent was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEvent {
    /// When the message was taken from its socket: netlink's messages carry no time.
    pub time: BootNs,
    /// What changed.
    pub change: Change,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A link can carry packets now, or no longer can. One that is deleted while up goes down.
    Link {
        /// The interface.
        ifname: String,
        /// Whether it is up, has its carrier, and nothing below it holds it back (`IFF_RUNNING`).
        up: bool,
    },
    /// A route to other hosts went away. Once for each interface that it led through.
    ///
    /// The kernel is silent about IPv4 routes that go with their link: [`Change::Link`] tells those.
    RouteRemoved {
        /// The interface that it led through.
        ifname: String,
        /// Where it led to; unspecified for the default route.
        destination: IpAddr,
        /// How many bits of the destination count.
        prefix: u8,
    },
    /// A neighbour does not answer ARP or neighbour discovery. Said again each time that the kernel gives up on it.
    NeighbourFailed {
        /// The interface that it should be reached by.
        ifname: String,
        /// The neighbour.
        address: IpAddr,
    },
    /// Messages were lost. Links are looked up again and told where they differ; what became of routes and neighbours
    /// in the meantime is not known.
    Lost,
}
