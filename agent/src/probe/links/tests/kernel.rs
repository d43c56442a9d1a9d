//! Against the kernel, in a network namespace of the test's own.

use std::{net::IpAddr, process::Command, time::Duration};

use tokio::time::timeout;

use super::super::{Change, Links};
use crate::{fabric::BootNs, host::clock, probe::netns};

/// For a kernel that says nothing: the test fails then instead of standing.
const PATIENCE: Duration = Duration::from_secs(20);

fn ip(arguments: &str) {
    let arguments = arguments.split_whitespace();
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip");
}

/// Waits for a change and passes over others: IPv6 adds and removes routes of its own beside. When it was told.
async fn wait_for(links: &mut Links, wanted: &Change) -> BootNs {
    let mut passed = Vec::new();
    loop {
        let Ok(next) = timeout(PATIENCE, links.next()).await else {
            panic!("{wanted:?} was not told, but {passed:?}");
        };
        let event = next.unwrap();
        if event.change == *wanted {
            return event.time;
        }
        passed.push(event.change);
    }
}

fn link(ifname: &str, up: bool) -> Change {
    let ifname = ifname.to_owned();
    Change::Link { ifname, up }
}

#[test]
fn what_becomes_of_a_link_its_routes_and_neighbours_is_told() {
    let test =
        "probe::links::tests::kernel::what_becomes_of_a_link_its_routes_and_neighbours_is_told";
    if !netns::inside(test, "ip link add a0 type veth && ip link del a0") {
        return;
    }
    netns::block_on(async {
        ip("link add near0 type veth peer name far0");
        let mut links = Links::listen().await.unwrap();
        let at = |text: &str| text.parse::<IpAddr>().unwrap();

        let before = clock::boot();
        ip("link set lo up");
        let told = wait_for(&mut links, &link("lo", true)).await;
        assert!(before < told && told <= clock::boot(), "{before} {told}");
        ip("link set near0 up");
        ip("link set far0 up");
        wait_for(&mut links, &link("near0", true)).await;
        assert_eq!(links.interface_of(at("10.7.0.1"), None).await, None);

        ip("address add 10.7.0.9/24 dev near0");
        ip("route add 10.8.0.0/16 via 10.7.0.1");
        ip("address add fd00:7::9/64 dev near0 nodad");
        let near = Some("near0".to_owned());
        for (destination, source) in [
            ("10.7.0.1", None),
            ("10.8.3.4", None),
            ("10.8.3.4", Some(at("10.7.0.9"))),
            ("fd00:7::1", Some(at("fd00:7::9"))),
        ] {
            let interface = links.interface_of(at(destination), source).await;
            assert_eq!(interface, near, "{destination}");
        }
        for own in ["127.0.0.1", "10.7.0.9", "::1"] {
            let interface = links.interface_of(at(own), None).await;
            assert_eq!(interface.as_deref(), Some("lo"), "{own}");
        }
        assert_eq!(links.interface_of(at("192.0.2.1"), None).await, None);
        ip("route add unreachable 10.66.0.0/16");
        assert_eq!(links.interface_of(at("10.66.0.1"), None).await, None);

        ip("route del 10.8.0.0/16");
        let (ifname, destination) = ("near0".to_owned(), at("10.8.0.0"));
        let removed = Change::RouteRemoved {
            ifname,
            destination,
            prefix: 16,
        };
        wait_for(&mut links, &removed).await;
        assert_eq!(
            links
                .interface_of(at("10.8.3.4"), Some(at("10.7.0.9")))
                .await,
            near,
            "without a route, whose address it connects from"
        );

        ip("neighbour add 10.7.0.1 dev near0 lladdr 02:00:00:00:00:01 nud reachable");
        ip("neighbour change 10.7.0.1 dev near0 nud failed");
        let (ifname, address) = ("near0".to_owned(), at("10.7.0.1"));
        wait_for(&mut links, &Change::NeighbourFailed { ifname, address }).await;

        // The other end goes down: near0 is still set up, but has no carrier.
        ip("link set far0 down");
        wait_for(&mut links, &link("near0", false)).await;
        ip("link set far0 up");
        wait_for(&mut links, &link("near0", true)).await;
        ip("link del near0");
        wait_for(&mut links, &link("near0", false)).await;
    });
}

#[test]
fn after_a_loss_the_links_are_looked_up_again() {
    let test = "probe::links::tests::kernel::after_a_loss_the_links_are_looked_up_again";
    if !netns::inside(test, "ip link set lo up") {
        return;
    }
    netns::block_on(async {
        let mut links = Links::listen().await.unwrap();
        // More than the socket holds (net.core.rmem_default, some 200 KiB), while nobody reads it.
        let mut batch = Vec::new();
        for host in 0..2_000_u32 {
            let (third, fourth) = (host / 250, host % 250 + 1);
            batch.push(format!("address add 10.9.{third}.{fourth}/32 dev lo\n"));
        }
        batch.push("link set lo up\n".to_owned());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), batch.concat()).unwrap();
        ip(&format!("-batch {}", file.path().display()));
        wait_for(&mut links, &Change::Lost).await;
        wait_for(&mut links, &link("lo", true)).await;
    });
}
