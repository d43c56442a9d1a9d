//! The table of links under messages; below it the kernel itself.

mod kernel;
mod messages;

use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    link::LinkFlags,
    neighbour::NeighbourState,
    route::{RouteAttribute, RouteFlags, RouteType},
};

use super::{Change, table::Table};
use messages::{address, link, multipath, neighbour, route};

const UP: LinkFlags = LinkFlags::Up
    .union(LinkFlags::LowerUp)
    .union(LinkFlags::Running);

fn link_change(ifname: &str, up: bool) -> Vec<Change> {
    let ifname = ifname.to_owned();
    vec![Change::Link { ifname, up }]
}

/// eth0 with index 2, and eth1 with index 3, both up.
fn two_links() -> Table {
    let mut table = Table::default();
    for (index, name) in [(2, "eth0"), (3, "eth1")] {
        let changes = table.apply(&RouteNetlinkMessage::NewLink(link(index, name, UP)));
        assert_eq!(changes, link_change(name, true));
    }
    table
}

#[test]
fn a_link_that_loses_its_carrier_goes_down_and_comes_back() {
    let mut table = two_links();
    let mut tell = |flags| table.apply(&RouteNetlinkMessage::NewLink(link(2, "eth0", flags)));
    assert_eq!(tell(LinkFlags::Up), link_change("eth0", false));
    assert_eq!(
        tell(LinkFlags::Up | LinkFlags::LowerUp),
        [],
        "a carrier, but not operational yet"
    );
    assert_eq!(tell(UP), link_change("eth0", true));
    assert_eq!(tell(UP | LinkFlags::Promisc), [], "nothing that matters");
    assert_eq!(tell(LinkFlags::empty()), link_change("eth0", false));
}

#[test]
fn a_link_that_was_down_from_the_start_is_told_when_it_comes_up() {
    let mut table = Table::default();
    let mut tell = |flags| table.apply(&RouteNetlinkMessage::NewLink(link(2, "eth0", flags)));
    assert_eq!(tell(LinkFlags::empty()), []);
    assert_eq!(tell(UP), link_change("eth0", true));
}

#[test]
fn a_link_that_is_deleted_goes_down_once() {
    let mut table = two_links();
    let deleted = RouteNetlinkMessage::DelLink(link(2, "eth0", UP));
    assert_eq!(table.apply(&deleted), link_change("eth0", false));
    assert_eq!(table.apply(&deleted), []);
    // The usual order: down first, then gone.
    let down = RouteNetlinkMessage::NewLink(link(3, "eth1", LinkFlags::empty()));
    assert_eq!(table.apply(&down), link_change("eth1", false));
    let deleted = RouteNetlinkMessage::DelLink(link(3, "eth1", LinkFlags::empty()));
    assert_eq!(table.apply(&deleted), []);
}

#[test]
fn a_port_that_leaves_its_bridge_is_not_gone() {
    let mut table = two_links();
    let mut port = link(2, "eth0", LinkFlags::empty());
    port.header.interface_family = AddressFamily::Bridge;
    let left = RouteNetlinkMessage::DelLink(port.clone());
    assert_eq!(table.apply(&left), []);
    assert_eq!(table.apply(&RouteNetlinkMessage::NewLink(port)), []);
}

#[test]
fn a_link_that_was_renamed_is_told_by_its_new_name() {
    let mut table = two_links();
    let mut tell = |flags| table.apply(&RouteNetlinkMessage::NewLink(link(2, "storage0", flags)));
    assert_eq!(tell(UP), []);
    assert_eq!(tell(LinkFlags::Up), link_change("storage0", false));
}

#[test]
fn an_address_is_its_links_until_it_is_deleted_there() {
    let mut table = two_links();
    let (old, new) = ([10, 0, 0, 9].into(), "2001:db8::9".parse().unwrap());
    table.apply(&RouteNetlinkMessage::NewAddress(address(2, old)));
    table.apply(&RouteNetlinkMessage::NewAddress(address(2, old)));
    table.apply(&RouteNetlinkMessage::NewAddress(address(3, new)));
    assert_eq!(table.interface_with(old), Some("eth0"));
    assert_eq!(table.interface_with(new), Some("eth1"));
    // It moves: the new link has it before the old one loses it.
    table.apply(&RouteNetlinkMessage::NewAddress(address(3, old)));
    table.apply(&RouteNetlinkMessage::DelAddress(address(2, old)));
    assert_eq!(table.interface_with(old), Some("eth1"));
    table.apply(&RouteNetlinkMessage::DelAddress(address(3, old)));
    assert_eq!(table.interface_with(old), None);
}

#[test]
fn on_a_point_to_point_link_the_hosts_own_end_counts() {
    let mut table = two_links();
    let (own, peer) = ([10, 9, 0, 1].into(), [10, 9, 0, 2].into());
    let mut message = address(2, peer);
    message.attributes.push(messages::local(own));
    table.apply(&RouteNetlinkMessage::NewAddress(message));
    assert_eq!(table.interface_with(own), Some("eth0"));
    assert_eq!(table.interface_with(peer), None);
}

#[test]
fn a_route_that_went_away_is_told_for_each_link_it_led_through() {
    let mut table = two_links();
    let removed = |ifname: &str, destination: &str, prefix| Change::RouteRemoved {
        ifname: ifname.to_owned(),
        destination: destination.parse().unwrap(),
        prefix,
    };
    let to_net = route(Some([10, 8, 0, 0].into()), 16, RouteAttribute::Oif(3));
    assert_eq!(
        table.apply(&RouteNetlinkMessage::DelRoute(to_net)),
        [removed("eth1", "10.8.0.0", 16)]
    );
    let default = route(None, 0, multipath(&[2, 3]));
    assert_eq!(
        table.apply(&RouteNetlinkMessage::DelRoute(default)),
        [removed("eth0", "0.0.0.0", 0), removed("eth1", "0.0.0.0", 0)]
    );
}

#[test]
fn of_routes_only_those_to_other_hosts_are_told() {
    let mut table = two_links();
    let to_net = route(Some([10, 8, 0, 0].into()), 16, RouteAttribute::Oif(3));
    let added = RouteNetlinkMessage::NewRoute(to_net.clone());
    assert_eq!(table.apply(&added), [], "it came");
    for kind in [RouteType::Local, RouteType::Broadcast, RouteType::Multicast] {
        let mut own = to_net.clone();
        own.header.kind = kind;
        assert_eq!(table.apply(&RouteNetlinkMessage::DelRoute(own)), []);
    }
    let mut cached = to_net;
    cached.header.flags = RouteFlags::Cloned;
    assert_eq!(table.apply(&RouteNetlinkMessage::DelRoute(cached)), []);
    let of_unknown = route(Some([10, 8, 0, 0].into()), 16, RouteAttribute::Oif(9));
    assert_eq!(table.apply(&RouteNetlinkMessage::DelRoute(of_unknown)), []);
}

#[test]
fn a_neighbour_is_told_when_the_kernel_gives_up_on_it() {
    let mut table = two_links();
    let mut tell = |state| {
        table.apply(&RouteNetlinkMessage::NewNeighbour(neighbour(
            2,
            [10, 0, 0, 1],
            state,
        )))
    };
    for state in [
        NeighbourState::Incomplete,
        NeighbourState::Reachable,
        NeighbourState::Stale,
        NeighbourState::Probe,
    ] {
        assert_eq!(tell(state), []);
    }
    let (ifname, address) = ("eth0".to_owned(), [10, 0, 0, 1].into());
    let failed = Change::NeighbourFailed { ifname, address };
    assert_eq!(tell(NeighbourState::Failed), [failed]);
}

#[test]
fn after_a_loss_the_links_that_differ_are_told() {
    let mut table = two_links();
    let mut now = Table::default();
    for (index, name, flags) in [(2, "eth0", LinkFlags::Up), (4, "eth2", UP)] {
        now.apply(&RouteNetlinkMessage::NewLink(link(index, name, flags)));
    }
    now.apply(&RouteNetlinkMessage::NewAddress(address(
        4,
        [10, 0, 0, 9].into(),
    )));
    let expected = [
        link_change("eth0", false),
        link_change("eth1", false),
        link_change("eth2", true),
    ];
    assert_eq!(table.replace(now), expected.concat());
    assert_eq!(table.interface_with([10, 0, 0, 9].into()), Some("eth2"));
}
