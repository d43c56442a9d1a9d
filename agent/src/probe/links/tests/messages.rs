//! Messages as the kernel's netlink sends them.

use std::net::IpAddr;

use netlink_packet_route::{
    AddressFamily,
    address::{AddressAttribute, AddressMessage},
    link::{LinkAttribute, LinkFlags, LinkMessage},
    neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState},
    route::{RouteAttribute, RouteMessage, RouteNextHop, RouteType},
};

pub(super) fn link(index: u32, name: &str, flags: LinkFlags) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = flags;
    message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    message
}

pub(super) fn address(index: u32, address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.index = index;
    message.attributes = vec![AddressAttribute::Address(address)];
    message
}

pub(super) fn local(address: IpAddr) -> AddressAttribute {
    AddressAttribute::Local(address)
}

pub(super) fn route(
    destination: Option<IpAddr>,
    prefix: u8,
    through: RouteAttribute,
) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.kind = RouteType::Unicast;
    message.header.destination_prefix_length = prefix;
    let destination = destination.map(|it| RouteAttribute::Destination(it.into()));
    message.attributes = destination.into_iter().chain([through]).collect();
    message
}

pub(super) fn multipath(links: &[u32]) -> RouteAttribute {
    let hops = links.iter().map(|index| {
        let mut hop = RouteNextHop::default();
        hop.interface_index = *index;
        hop
    });
    RouteAttribute::MultiPath(hops.collect())
}

pub(super) fn neighbour(index: u32, address: [u8; 4], state: NeighbourState) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.ifindex = index;
    message.header.state = state;
    let address = NeighbourAddress::Inet(address.into());
    message.attributes = vec![NeighbourAttribute::Destination(address)];
    message
}
