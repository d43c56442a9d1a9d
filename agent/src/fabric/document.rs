//! A host as a document: `pathwarden/status/v1`.
//!
//! What `status -o json` prints and what a trace's snapshot holds. What is not known is `null`; a
//! timeout is a number of seconds, `"off"` or `null`. An object that is named in `unchecked` reads back
//! as unreadable where it has a `null`, so that "could not tell" does not become "has none" on the way.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::view::Counts;
use super::{
    AnaGroup, AnaState, Attr, Cntlid, Controller, ControllerKind, ControllerName, ControllerState,
    DiskName, Endpoint, Fault, Generation, Head, HeadCounters, Host, Layout, Leg, LegCounters,
    Limit, Multipath, Namespace, Nqn, Nsid, Sectors, Subsystem, SubsystemKind, SubsystemName,
    Transport, Unchecked, Uuid, View,
};

/// The document's name and version.
const SCHEMA: &str = "pathwarden/status/v1";

#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    kernel: Option<String>,
    boot_id: Option<String>,
    multipath: Option<Multipath>,
    subsystems: Vec<SubsystemDocument>,
    controllers: Vec<ControllerDocument>,
    #[serde(skip_deserializing)]
    counts: Counts,
    unchecked: Vec<Unchecked>,
}

#[derive(Serialize, Deserialize)]
struct SubsystemDocument {
    name: SubsystemName,
    nqn: Option<Nqn>,
    #[serde(rename = "type")]
    kind: Option<String>,
    model: Option<Box<str>>,
    serial: Option<Box<str>>,
    namespaces: Vec<NamespaceDocument>,
}

#[derive(Serialize, Deserialize)]
struct NamespaceDocument {
    nsid: Option<Nsid>,
    uuid: Option<Uuid>,
    head: Option<DiskName>,
    size: Option<Sectors>,
    /// Only where the kernel has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delayed_removal_s: Option<u64>,
    legs: Vec<LegDocument>,
}

#[derive(Serialize, Deserialize)]
struct LegDocument {
    name: DiskName,
    controller: ControllerName,
    ana: Option<AnaState>,
    group: Option<AnaGroup>,
    size: Option<Sectors>,
    #[serde(skip_deserializing)]
    usable: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct ControllerDocument {
    name: ControllerName,
    #[serde(rename = "gen")]
    generation: Option<Generation>,
    subsystem: Option<SubsystemName>,
    /// Only where no subsystem of the document says it: an unattached controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subsysnqn: Option<Nqn>,
    endpoint: Option<Endpoint>,
    src_addr: Option<Box<str>>,
    hostnqn: Option<Nqn>,
    hostid: Option<Uuid>,
    cntlid: Option<Cntlid>,
    #[serde(rename = "type")]
    kind: Option<String>,
    transport: Option<Transport>,
    state: Option<String>,
    reconnect_delay_s: Option<Seconds>,
    ctrl_loss_tmo_s: Option<Seconds>,
    fast_io_fail_tmo_s: Option<Seconds>,
}

/// A timeout in a document.
#[derive(Clone, Copy)]
struct Seconds(Limit);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Limit::After(length) => serializer.serialize_u64(length.as_secs()),
            Limit::Off => serializer.serialize_str("off"),
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Word(String),
        }
        let limit = match Written::deserialize(deserializer)? {
            Written::Number(seconds) => Limit::from_seconds(seconds),
            Written::Word(word) => Limit::from_sysfs(&word),
        };
        limit
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("expected seconds or \"off\""))
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::from_view(&View::new(self)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document::deserialize(deserializer)?;
        if document.schema != SCHEMA {
            return Err(serde::de::Error::custom(format_args!(
                "the host is in the form \"{}\", this version reads \"{SCHEMA}\"",
                document.schema
            )));
        }
        Ok(document.into_host())
    }
}

impl Document {
    fn from_view(view: &View<'_>) -> Self {
        let host = view.host();
        Self {
            schema: SCHEMA.to_owned(),
            kernel: host.kernel.clone(),
            boot_id: host.boot_id.clone(),
            multipath: host.multipath,
            subsystems: host
                .subsystems
                .iter()
                .map(|s| subsystem_document(view, s))
                .collect(),
            controllers: host
                .controllers
                .iter()
                .map(|c| controller_document(view, c))
                .collect(),
            counts: view.counts(),
            unchecked: host.unchecked.clone(),
        }
    }

    fn into_host(self) -> Host {
        let mut host = Host {
            kernel: self.kernel,
            boot_id: self.boot_id,
            multipath: self.multipath,
            subsystems: Vec::with_capacity(self.subsystems.len()),
            controllers: Vec::with_capacity(self.controllers.len()),
            unchecked: self.unchecked,
        };
        let unchecked = std::mem::take(&mut host.unchecked);
        let absence = Absence {
            unchecked: &unchecked,
        };
        for subsystem in self.subsystems {
            host.subsystems
                .push(subsystem.into_model(host.multipath, &absence));
        }
        host.sort();
        for controller in self.controllers {
            let controller = controller.into_model(&host, &absence);
            host.controllers.push(controller);
        }
        host.unchecked = unchecked;
        host.sort();
        host
    }
}

fn subsystem_document(view: &View<'_>, subsystem: &Subsystem) -> SubsystemDocument {
    SubsystemDocument {
        name: subsystem.name,
        nqn: subsystem.nqn.value().cloned(),
        kind: subsystem.kind.value().map(|kind| kind.as_str().to_owned()),
        model: subsystem.model.clone(),
        serial: subsystem.serial.clone(),
        namespaces: subsystem
            .namespaces
            .iter()
            .map(|n| namespace_document(view, n))
            .collect(),
    }
}

fn namespace_document(view: &View<'_>, namespace: &Namespace) -> NamespaceDocument {
    let head = namespace.head.as_ref();
    NamespaceDocument {
        nsid: namespace.nsid,
        uuid: namespace.uuid,
        head: head.map(|head| head.name),
        size: head.and_then(|head| head.size.value().copied()),
        delayed_removal_s: head
            .and_then(|head| head.delayed_removal)
            .map(|d| d.as_secs()),
        legs: namespace
            .legs
            .iter()
            .map(|leg| LegDocument {
                name: leg.name,
                controller: leg.controller,
                ana: leg.ana.value().copied(),
                group: leg.group,
                size: leg.size.value().copied(),
                usable: view.standing(namespace, leg).usable(),
            })
            .collect(),
    }
}

fn controller_document(view: &View<'_>, controller: &Controller) -> ControllerDocument {
    let limit = |attr: &Attr<Limit>| attr.value().copied().map(Seconds);
    let attached = view.subsystem_of(controller);
    let said = attached.and_then(|s| s.nqn.value());
    ControllerDocument {
        name: controller.name,
        generation: controller.generation,
        subsystem: controller.subsystem,
        subsysnqn: controller
            .subsysnqn
            .value()
            .filter(|nqn| said != Some(nqn))
            .cloned(),
        endpoint: controller.endpoint.value().cloned(),
        src_addr: controller.src_addr.clone(),
        hostnqn: controller.hostnqn.value().cloned(),
        hostid: controller.hostid.value().copied(),
        cntlid: controller.cntlid.value().copied(),
        kind: controller.kind.value().map(|kind| kind.as_str().to_owned()),
        transport: controller.transport.value().cloned(),
        state: match controller.state {
            ControllerState::Unknown => controller.unknown_state.as_deref().map(str::to_owned),
            known => Some(known.as_str().to_owned()),
        },
        reconnect_delay_s: limit(&controller.reconnect_delay),
        ctrl_loss_tmo_s: limit(&controller.ctrl_loss_tmo),
        fast_io_fail_tmo_s: limit(&controller.fast_io_fail_tmo),
    }
}

/// What a `null` of an object means.
struct Absence<'a> {
    unchecked: &'a [Unchecked],
}

impl Absence<'_> {
    fn attr<T>(&self, object: &str, value: Option<T>) -> Attr<T> {
        match value {
            Some(value) => Attr::Value(value),
            None if self.unchecked.iter().any(|u| u.object == object) => {
                Attr::Unreadable(Fault::NotRecorded)
            }
            None => Attr::Unset,
        }
    }
}

impl SubsystemDocument {
    fn into_model(self, multipath: Option<Multipath>, absence: &Absence<'_>) -> Subsystem {
        let object = self.name.to_string();
        let namespaces = self.namespaces.into_iter().zip(1..);
        Subsystem {
            name: self.name,
            nqn: absence.attr(&object, self.nqn),
            kind: absence
                .attr(&object, self.kind)
                .map(|kind| SubsystemKind::new(&kind)),
            model: self.model,
            serial: self.serial,
            firmware: None,
            iopolicy: None,
            namespaces: namespaces
                .map(|(namespace, position)| namespace.into_model(multipath, position, absence))
                .collect(),
        }
    }
}

impl NamespaceDocument {
    fn into_model(
        self,
        multipath: Option<Multipath>,
        position: u32,
        absence: &Absence<'_>,
    ) -> Namespace {
        let named = self.head.or_else(|| self.legs.first().map(|leg| leg.name));
        Namespace {
            instance: named.map_or(position, |name| name.head),
            nsid: self.nsid,
            uuid: self.uuid,
            head: self.head.map(|name| Head {
                name,
                size: absence.attr(&name.to_string(), self.size),
                delayed_removal: self.delayed_removal_s.map(Duration::from_secs),
                counters: HeadCounters::default(),
            }),
            legs: self
                .legs
                .into_iter()
                .map(|leg| leg.into_model(multipath, absence))
                .collect(),
        }
    }
}

impl LegDocument {
    fn into_model(self, multipath: Option<Multipath>, absence: &Absence<'_>) -> Leg {
        let object = self.name.to_string();
        Leg {
            name: self.name,
            controller: self.controller,
            layout: match (self.name.controller, multipath) {
                (Some(_), _) => Layout::Multipath,
                (None, Some(Multipath::Off)) => Layout::Plain,
                (None, _) => Layout::Private,
            },
            ana: absence.attr(&object, self.ana),
            group: self.group,
            size: absence.attr(&object, self.size),
            counters: LegCounters::default(),
        }
    }
}

impl ControllerDocument {
    fn into_model(self, host: &Host, absence: &Absence<'_>) -> Controller {
        let object = self.name.to_string();
        let attached = self.subsystem.and_then(|name| host.subsystem(name));
        let said = attached.and_then(|subsystem| subsystem.nqn.value().cloned());
        let limit = |value: Option<Seconds>| absence.attr(&object, value).map(|s| s.0);
        let state = self.state.as_deref().map(ControllerState::from_sysfs);
        Controller {
            generation: self.generation,
            subsystem: self.subsystem,
            subsysnqn: absence.attr(&object, self.subsysnqn.or(said)),
            endpoint: absence.attr(&object, self.endpoint),
            src_addr: self.src_addr,
            hostnqn: absence.attr(&object, self.hostnqn),
            hostid: absence.attr(&object, self.hostid),
            cntlid: absence.attr(&object, self.cntlid),
            kind: absence
                .attr(&object, self.kind)
                .map(|kind| ControllerKind::new(&kind)),
            transport: absence.attr(&object, self.transport),
            unknown_state: match state {
                Some(ControllerState::Unknown) => self.state.map(Into::into),
                _ => None,
            },
            state: state.unwrap_or(ControllerState::Unknown),
            reconnect_delay: limit(self.reconnect_delay_s),
            ctrl_loss_tmo: limit(self.ctrl_loss_tmo_s),
            fast_io_fail_tmo: limit(self.fast_io_fail_tmo_s),
            ..Controller::unknown(self.name)
        }
    }
}
