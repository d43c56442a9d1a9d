//! The links as the kernel has told of them, and what each message changes. No socket, no clock.

use std::{collections::BTreeMap, mem, net::IpAddr};

use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressMessage},
    link::{LinkAttribute, LinkFlags, LinkMessage},
    neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState},
    route::{RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteType},
};

use super::Change;

/// Links by their index, which unlike their name does not change.
#[derive(Debug, Default)]
pub(super) struct Table {
    links: BTreeMap<u32, Link>,
}

#[derive(Debug)]
struct Link {
    name: String,
    up: bool,
    addresses: Vec<IpAddr>,
}

impl Table {
    /// Takes in a message; what it changed.
    pub(super) fn apply(&mut self, message: &RouteNetlinkMessage) -> Vec<Change> {
        match message {
            RouteNetlinkMessage::NewLink(link) => self.new_link(link).into_iter().collect(),
            RouteNetlinkMessage::DelLink(link) => self.deleted_link(link).into_iter().collect(),
            RouteNetlinkMessage::NewAddress(address) => {
                self.new_address(address);
                Vec::new()
            }
            RouteNetlinkMessage::DelAddress(address) => {
                self.deleted_address(address);
                Vec::new()
            }
            RouteNetlinkMessage::DelRoute(route) => self.deleted_route(route),
            RouteNetlinkMessage::NewNeighbour(neighbour) => {
                self.neighbour(neighbour).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes the place of what was known before; what differs.
    pub(super) fn replace(&mut self, now: Self) -> Vec<Change> {
        let before = mem::replace(&mut self.links, now.links);
        let is_up = |links: &BTreeMap<u32, Link>, index| links.get(index).is_some_and(|it| it.up);
        let gone = before
            .iter()
            .filter(|(index, link)| link.up && !is_up(&self.links, index));
        let come = self
            .links
            .iter()
            .filter(|(index, link)| link.up && !is_up(&before, index));
        let change = |link: &Link, up| Change::Link {
            ifname: link.name.clone(),
            up,
        };
        gone.map(|(_, link)| change(link, false))
            .chain(come.map(|(_, link)| change(link, true)))
            .collect()
    }

    /// The interface that has this address.
    pub(super) fn interface_with(&self, address: IpAddr) -> Option<&str> {
        let mut links = self.links.values();
        let link = links.find(|link| link.addresses.contains(&address))?;
        Some(&link.name)
    }

    fn new_link(&mut self, message: &LinkMessage) -> Option<Change> {
        if !of_link(message) {
            return None;
        }
        let name = name(message)?;
        let up = up(message);
        let link = self.links.entry(message.header.index).or_insert(Link {
            name: String::new(),
            up: false,
            addresses: Vec::new(),
        });
        if link.name != name {
            name.clone_into(&mut link.name);
        }
        let before = mem::replace(&mut link.up, up);
        (before != up).then(|| Change::Link {
            ifname: name.to_owned(),
            up,
        })
    }

    fn deleted_link(&mut self, message: &LinkMessage) -> Option<Change> {
        if !of_link(message) {
            return None;
        }
        let link = self.links.remove(&message.header.index)?;
        link.up.then_some(Change::Link {
            ifname: link.name,
            up: false,
        })
    }

    fn new_address(&mut self, message: &AddressMessage) {
        let link = self.links.get_mut(&message.header.index);
        if let (Some(link), Some(address)) = (link, own_address(message))
            // Told again with each new lifetime.
            && !link.addresses.contains(&address)
        {
            link.addresses.push(address);
        }
    }

    fn deleted_address(&mut self, message: &AddressMessage) {
        let link = self.links.get_mut(&message.header.index);
        if let (Some(link), Some(address)) = (link, own_address(message)) {
            link.addresses.retain(|it| *it != address);
        }
    }

    /// Of the routes of a link that is not known any more nothing is said: its end was told.
    fn deleted_route(&self, message: &RouteMessage) -> Vec<Change> {
        let header = &message.header;
        let to_others = header.kind == RouteType::Unicast;
        // Not a route, but what was once looked up by one.
        let cached = header.flags.contains(RouteFlags::Cloned);
        let Some(destination) = destination(message).filter(|_| to_others && !cached) else {
            return Vec::new();
        };
        let names = route_links(message).filter_map(|index| self.links.get(&index));
        names
            .map(|link| Change::RouteRemoved {
                ifname: link.name.clone(),
                destination,
                prefix: header.destination_prefix_length,
            })
            .collect()
    }

    fn neighbour(&self, message: &NeighbourMessage) -> Option<Change> {
        if message.header.state != NeighbourState::Failed {
            return None;
        }
        let link = self.links.get(&message.header.ifindex)?;
        // None for a bridge's forwarding entries, whose address is no IP address.
        let address = message.attributes.iter().find_map(|it| match it {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => {
                Some(IpAddr::V4(*address))
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => {
                Some(IpAddr::V6(*address))
            }
            _ => None,
        })?;
        Some(Change::NeighbourFailed {
            ifname: link.name.clone(),
            address,
        })
    }
}

/// Whether a message is of the link itself. A bridge tells of its ports by the same messages, also by `RTM_DELLINK` of
/// a link that lives on (`br_ifinfo_notify`).
fn of_link(message: &LinkMessage) -> bool {
    message.header.interface_family == AddressFamily::Unspec
}

pub(super) fn name(message: &LinkMessage) -> Option<&str> {
    message.attributes.iter().find_map(|it| match it {
        LinkAttribute::IfName(name) => Some(name.as_str()),
        _ => None,
    })
}

/// `IFF_RUNNING` is the operational state `up` or `unknown` (`dev_get_flags`), and unknown is what links without one
/// have, the loopback among them. It follows the carrier within a second, `IFF_LOWER_UP` at once.
fn up(message: &LinkMessage) -> bool {
    let needed = LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Running;
    message.header.flags.contains(needed)
}

/// The host's own end: on a point-to-point link `IFA_ADDRESS` is the other one.
fn own_address(message: &AddressMessage) -> Option<IpAddr> {
    let local = message.attributes.iter().find_map(|it| match it {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    local.or_else(|| {
        message.attributes.iter().find_map(|it| match it {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    })
}

/// Where an IP route leads to.
fn destination(message: &RouteMessage) -> Option<IpAddr> {
    let told = message.attributes.iter().find_map(|it| match it {
        RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(IpAddr::V4(*address)),
        RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some(IpAddr::V6(*address)),
        _ => None,
    });
    told.or(match message.header.address_family {
        AddressFamily::Inet => Some(IpAddr::from([0; 4])),
        AddressFamily::Inet6 => Some(IpAddr::from([0; 16])),
        _ => None,
    })
}

/// The index of each link that a route leads through.
pub(super) fn route_links(message: &RouteMessage) -> impl Iterator<Item = u32> {
    message.attributes.iter().flat_map(|it| match it {
        RouteAttribute::Oif(index) => vec![*index],
        RouteAttribute::MultiPath(hops) => hops.iter().map(|hop| hop.interface_index).collect(),
        _ => Vec::new(),
    })
}
