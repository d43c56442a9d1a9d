//! Uevents as the kernel lays them out, and the kernel's own.

use std::{process::Command, time::Duration};

use proptest::prelude::*;
use tokio::time::timeout;

use super::*;
use crate::{
    fabric::{Endpoint, Transport},
    probe::netns,
};

/// A message as the kernel lays it out.
fn message(action: &str, devpath: &str, fields: &[&str]) -> Vec<u8> {
    let mut text = format!("{action}@{devpath}\0ACTION={action}\0DEVPATH={devpath}\0");
    for field in fields {
        text.push_str(field);
        text.push('\0');
    }
    text.push_str("SEQNUM=4711\0");
    text.into_bytes()
}

const CONTROLLER: &str = "/devices/virtual/nvme-fabrics/ctl/nvme3";
const HEAD: &str = "/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";

fn controller(action: &str, fields: &[&str]) -> Vec<u8> {
    let mut all = vec![
        "SUBSYSTEM=nvme",
        "MAJOR=240",
        "MINOR=3",
        "DEVNAME=nvme3",
        "NVME_TRTYPE=tcp",
        "NVME_TRADDR=10.0.0.1",
        "NVME_TRSVCID=4426",
        "NVME_HOST_TRADDR=none",
        "NVME_HOST_IFACE=none",
    ];
    all.extend(fields);
    message(action, CONTROLLER, &all)
}

#[test]
fn a_module_that_comes_or_goes_is_told_by_name() {
    for (action, change) in [("add", Presence::Added), ("remove", Presence::Removed)] {
        let text = message(action, "/module/nvme_core", &["SUBSYSTEM=module"]);
        let name = "nvme_core".into();
        assert_eq!(parse(&text), Some(Uevent::Module { name, change }));
    }
}

#[test]
fn a_controller_is_told_with_where_it_connects_to() {
    let endpoint = Endpoint::ip(Transport::Tcp, [10, 0, 0, 1].into(), 4426);
    for (action, fields, change) in [
        ("add", [].as_slice(), ControllerChange::Added),
        ("remove", &[], ControllerChange::Removed),
        (
            "change",
            &["NVME_EVENT=connected"],
            ControllerChange::Changed(Some(NvmeEvent::Connected)),
        ),
        (
            "change",
            &["NVME_EVENT=rediscover"],
            ControllerChange::Changed(Some(NvmeEvent::Rediscover)),
        ),
        (
            "change",
            &["NVME_EVENT=sung"],
            ControllerChange::Changed(Some(NvmeEvent::Other("sung".into()))),
        ),
        (
            "change",
            &["NVME_AEN=0x00010300"],
            ControllerChange::Changed(None),
        ),
    ] {
        let expected = Uevent::Controller {
            name: "nvme3".parse().unwrap(),
            change,
            endpoint: Some(Box::new(endpoint.clone())),
        };
        assert_eq!(parse(&controller(action, fields)), Some(expected));
    }
}

#[test]
fn what_the_hosts_side_is_bound_to_belongs_to_the_endpoint() {
    let fields = [
        "SUBSYSTEM=nvme",
        "NVME_TRTYPE=rdma",
        "NVME_TRADDR=2001:db8::1",
        "NVME_TRSVCID=4420",
        "NVME_HOST_TRADDR=2001:db8::9",
        "NVME_HOST_IFACE=eth1",
    ];
    let Some(Uevent::Controller { endpoint, .. }) = parse(&message("add", CONTROLLER, &fields))
    else {
        panic!("a controller was added");
    };
    assert_eq!(
        endpoint.unwrap().to_string(),
        "rdma://[2001:db8::1]:4420?host_traddr=2001:db8::9&host_iface=eth1"
    );
}

#[test]
fn a_local_drive_has_no_endpoint() {
    let devpath = "/devices/pci0000:00/0000:00:04.0/nvme/nvme0";
    let fields = ["SUBSYSTEM=nvme", "DEVNAME=nvme0", "NVME_TRTYPE=pcie"];
    let expected = Uevent::Controller {
        name: "nvme0".parse().unwrap(),
        change: ControllerChange::Added,
        endpoint: None,
    };
    assert_eq!(parse(&message("add", devpath, &fields)), Some(expected));
}

#[test]
fn a_head_is_told_when_it_comes_goes_or_is_resized() {
    let fields = ["SUBSYSTEM=block", "DEVNAME=nvme0n1", "DEVTYPE=disk"];
    let resized = [fields.as_slice(), &["RESIZE=1"]].concat();
    for (action, fields, change) in [
        ("add", fields.as_slice(), HeadChange::Added),
        ("remove", &fields, HeadChange::Removed),
        ("change", &resized, HeadChange::Resized),
    ] {
        let name = "nvme0n1".parse().unwrap();
        let expected = Some(Uevent::Head { name, change });
        assert_eq!(parse(&message(action, HEAD, fields)), expected);
    }
    assert_eq!(
        parse(&message("change", HEAD, &fields)),
        None,
        "said each time that a controller becomes live"
    );
}

#[test]
fn a_subsystem_comes_with_its_first_controller_and_goes_with_its_last() {
    let devpath = "/devices/virtual/nvme-subsystem/nvme-subsys0";
    for (action, change) in [("add", Presence::Added), ("remove", Presence::Removed)] {
        let text = message(action, devpath, &["SUBSYSTEM=nvme-subsystem"]);
        let name = "nvme-subsys0".parse().unwrap();
        assert_eq!(parse(&text), Some(Uevent::Subsystem { name, change }));
    }
}

#[test]
fn what_is_not_listened_for_is_dropped() {
    let block = "SUBSYSTEM=block";
    for text in [
        message("add", "/devices/virtual/net/eth0", &["SUBSYSTEM=net"]),
        message("add", "/devices/virtual/block/loop0", &[block]),
        message("add", &format!("{HEAD}/nvme0n1p1"), &[block]),
        message(
            "add",
            "/devices/virtual/nvme-fabrics/ctl/nvme3/nvme0c3n1",
            &[block],
        ),
        message("bind", "/module/nvme_core", &["SUBSYSTEM=module"]),
        message("add", "/module/", &["SUBSYSTEM=module"]),
        message("add", "/module/nvme_core", &[]),
        controller("bind", &[]),
    ] {
        assert_eq!(parse(&text), None, "{}", text.escape_ascii());
    }
}

#[test]
fn an_event_that_somebody_caused_by_hand_did_not_happen() {
    let fields = ["SUBSYSTEM=module", "SYNTH_UUID=0"];
    assert_eq!(parse(&message("add", "/module/nvme_core", &fields)), None);
}

#[test]
fn what_udev_sends_on_is_none_of_the_kernels() {
    let mut text = b"libudev\0\xfe\xed\xca\xfe".to_vec();
    text.extend(message("add", "/module/nvme_core", &["SUBSYSTEM=module"]));
    assert_eq!(parse(&text), None);
}

proptest! {
    #[test]
    fn garbage_says_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(parse(&bytes), None);
    }

    #[test]
    fn a_message_that_was_damaged_says_the_same_thing_or_nothing(
        at in 0..300_usize,
        byte: u8,
        end in 0..300_usize,
    ) {
        let mut text = controller("change", &["NVME_EVENT=connected"]);
        if let Some(old) = text.get_mut(at) {
            *old = byte;
        }
        text.truncate(end);
        let said = parse(&text);
        prop_assert!(matches!(said, None | Some(Uevent::Controller { .. })), "{said:?}");
    }
}

fn add_link(name: &str) {
    let mut ip = Command::new("ip");
    ip.args(["link", "add", name, "type", "veth"]);
    assert!(ip.status().unwrap().success(), "{name} is made");
}

#[test]
fn the_kernels_messages_arrive_and_those_that_do_not_fit_are_told() {
    let test =
        "probe::uevents::tests::the_kernels_messages_arrive_and_those_that_do_not_fit_are_told";
    if !netns::inside(test, "ip link add made0 type veth && ip link del made0") {
        return;
    }
    netns::block_on(async {
        let patience = Duration::from_secs(20);
        // The sender's address and the layout, by an event that the parser drops.
        let mut uevents = Uevents::listen().unwrap();
        add_link("made0");
        let first = timeout(patience, uevents.message()).await.unwrap().unwrap();
        assert!(
            first.starts_with(b"add@/devices/virtual/net/"),
            "{}",
            first.escape_ascii()
        );
        // Room for one message or two; a pair of links says more than four.
        let mut narrow = Uevents::with_room_for(1).unwrap();
        for pair in 1..4 {
            add_link(&format!("made{pair}"));
        }
        let next = timeout(patience, narrow.next()).await.unwrap().unwrap();
        assert_eq!(next, Uevent::Overflow);
    });
}
