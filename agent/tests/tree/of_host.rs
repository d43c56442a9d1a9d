//! A model back into the tree it would be read from.

use std::fmt::Display;

use pathwarden::fabric::{
    self, Attr, Endpoint, Host, Layout, Limit, Multipath, SubsystemName, Transport,
};

use super::{Attributes, Controller, Disk, DiskKind, Namespace, Subsystem, Tree};

impl Tree {
    /// The tree of a host in which everything could be read.
    pub(crate) fn of_host(host: &Host) -> Self {
        let multipath = host
            .multipath
            .map(|on| if on == Multipath::On { "Y" } else { "N" }.to_owned());
        let attached_to = |name: Option<SubsystemName>| {
            host.controllers.iter().filter(move |c| c.subsystem == name)
        };
        Self {
            multipath,
            class_lists: true,
            subsystems_link: true,
            subsystems: host
                .subsystems
                .iter()
                .map(|s| subsystem(s, attached_to(Some(s.name))))
                .collect(),
            unattached: attached_to(None).map(|c| controller(None, c)).collect(),
            ..Self::default()
        }
    }
}

fn subsystem<'a>(
    subsystem: &fabric::Subsystem,
    members: impl Iterator<Item = &'a fabric::Controller>,
) -> Subsystem {
    let mut attributes = Attributes::new();
    set(&mut attributes, "nqn", subsystem.nqn.value());
    set(
        &mut attributes,
        "subsystype",
        subsystem.kind.value().map(fabric::SubsystemKind::as_str),
    );
    set(
        &mut attributes,
        "model",
        subsystem.model.as_ref().map(|text| format!("{text}   ")),
    );
    set(
        &mut attributes,
        "serial",
        subsystem.serial.as_ref().map(|text| format!("{text} ")),
    );
    set(&mut attributes, "firmware_rev", subsystem.firmware.as_ref());
    set(&mut attributes, "iopolicy", subsystem.iopolicy.as_ref());
    Subsystem {
        number: subsystem.name.instance(),
        attributes,
        namespaces: subsystem.namespaces.iter().map(namespace).collect(),
        controllers: members.map(|c| controller(Some(subsystem), c)).collect(),
    }
}

fn namespace(namespace: &fabric::Namespace) -> Namespace {
    let mut attributes = Attributes::new();
    set(&mut attributes, "nsid", namespace.nsid);
    set(&mut attributes, "uuid", namespace.uuid);
    if let Some(head) = &namespace.head {
        set(&mut attributes, "size", head.size.value());
        set(
            &mut attributes,
            "delayed_removal_secs",
            head.delayed_removal.map(|d| d.as_secs()),
        );
    }
    Namespace {
        number: namespace.instance,
        has_head: namespace.head.is_some(),
        attributes,
    }
}

fn controller(
    subsystem: Option<&fabric::Subsystem>,
    controller: &fabric::Controller,
) -> Controller {
    let mut attributes = Attributes::new();
    set(&mut attributes, "transport", controller.transport.value());
    set(&mut attributes, "state", Some(controller.state_text()));
    set(&mut attributes, "subsysnqn", controller.subsysnqn.value());
    set(&mut attributes, "hostnqn", controller.hostnqn.value());
    set(&mut attributes, "hostid", controller.hostid.value());
    set(&mut attributes, "cntlid", controller.cntlid.value());
    set(
        &mut attributes,
        "cntrltype",
        controller.kind.value().map(fabric::ControllerKind::as_str),
    );
    set(&mut attributes, "dctype", None::<&str>);
    for (name, limit) in [
        ("reconnect_delay", &controller.reconnect_delay),
        ("ctrl_loss_tmo", &controller.ctrl_loss_tmo),
        ("fast_io_fail_tmo", &controller.fast_io_fail_tmo),
        ("kato", &controller.kato),
    ] {
        set(&mut attributes, name, limit.value().map(limit_text));
    }
    let address = match &controller.endpoint {
        Attr::Value(endpoint) => address_text(endpoint, controller.src_addr.as_deref()),
        _ => String::new(),
    };
    set(&mut attributes, "address", Some(address));
    set(
        &mut attributes,
        "delete_controller",
        (controller.deletable == Some(true)).then_some(""),
    );
    let namespaces = subsystem.into_iter().flat_map(|s| &s.namespaces);
    let disks = namespaces.flat_map(|namespace| {
        let own = namespace
            .legs
            .iter()
            .filter(|leg| leg.controller == controller.name);
        own.map(move |leg| disk(namespace, leg))
    });
    Controller {
        number: controller.name.instance(),
        attributes,
        disks: disks.collect(),
    }
}

fn disk(namespace: &fabric::Namespace, leg: &fabric::Leg) -> Disk {
    let mut attributes = Attributes::new();
    set(&mut attributes, "ana_state", leg.ana.value());
    set(&mut attributes, "ana_grpid", leg.group);
    set(&mut attributes, "size", leg.size.value());
    let kind = match leg.layout {
        Layout::Multipath => DiskKind::Leg,
        Layout::Private => DiskKind::Private,
        Layout::Plain => DiskKind::Plain,
    };
    Disk {
        kind,
        namespace: namespace.instance,
        attributes,
    }
}

fn limit_text(limit: &Limit) -> String {
    match limit {
        Limit::After(length) => length.as_secs().to_string(),
        Limit::Off => "off".to_owned(),
    }
}

/// As `nvmf_get_address` prints it.
pub(crate) fn address_text(endpoint: &Endpoint, source: Option<&str>) -> String {
    if !endpoint.transport.is_ip() && endpoint.transport != Transport::Fc {
        return endpoint.traddr.to_string();
    }
    let mut text = format!("traddr={}", endpoint.traddr);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!(",{name}={value}"));
        }
    };
    add("trsvcid", endpoint.trsvcid.as_deref().map(str::to_owned));
    add(
        "host_traddr",
        endpoint.host_traddr.as_ref().map(ToString::to_string),
    );
    add(
        "host_iface",
        endpoint.host_iface.as_deref().map(str::to_owned),
    );
    add("src_addr", source.map(str::to_owned));
    text
}

/// An attribute with a value, or explicitly without: a default would be another host.
fn set(attributes: &mut Attributes, name: &str, value: Option<impl Display>) {
    attributes.insert(name.to_owned(), value.map(|value| value.to_string()));
}
