//! One line, with every key that any event has: written with those of its event, read the same way.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    event::{ControllerId, Deleter, Envelope, Event, LegState, NamespaceId, Outcome, Source},
    fabric::{
        AnaGroup, AnaState, BootNs, Cntlid, ControllerState, DiskName, Endpoint, Host, Nqn, Nsid,
        Sectors, UnixNs, Uuid,
    },
};

/// The keys. `type` says which of them count.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    t: Option<BootNs>,
    #[serde(rename = "type", borrow)]
    pub(super) word: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_bpf")]
    source: Source,
    #[serde(skip_serializing_if = "is_zero")]
    error_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<BootNs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<ControllerId>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "subsysnqn")]
    nqn: Option<Nqn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<Endpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostnqn: Option<Nqn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cntlid: Option<Cntlid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    state: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<ControllerState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<ControllerState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nsid: Option<Nsid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<DiskName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ana: Option<AnaState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<AnaGroup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Sectors>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nsids: Option<Vec<Nsid>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_ns: Option<BootNs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ifname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    up: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<Vec<Endpoint>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded: Option<Vec<Endpoint>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fetched_at: Option<UnixNs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_age: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    targets: Option<Vec<Endpoint>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unix_ns: Option<UnixNs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<Cow<'a, Host>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_bpf(source: &Source) -> bool {
    *source == Source::Bpf
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(error_ns: &u64) -> bool {
    *error_ns == 0
}

/// What a line lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lack {
    /// The event is none of this version's.
    Unknown,
    /// The event's key is not there, or says nothing that the event can mean.
    Key(&'static str),
}

impl Line<'_> {
    /// The event.
    pub(super) fn into_envelope(self) -> Result<Envelope, Lack> {
        let (t, source, error_ns) = (self.t, self.source, self.error_ns);
        Ok(Envelope {
            event: self.into_event()?,
            time: t.ok_or(Lack::Key("t"))?,
            error_ns,
            source,
        })
    }

    fn into_event(self) -> Result<Event, Lack> {
        let word = self.word.clone();
        Ok(match word.as_ref() {
            "snapshot" => Event::Snapshot {
                host: Box::new(need(self.host, "host")?.into_owned()),
                began: self.began,
            },
            "controller-added" => Event::ControllerAdded {
                controller: need(self.controller, "controller")?,
                nqn: need(self.nqn, "nqn")?,
                endpoint: self.endpoint,
                hostnqn: self.hostnqn,
                cntlid: self.cntlid,
                state: self
                    .state
                    .map_or(ControllerState::New, |it| ControllerState::from_sysfs(&it)),
                interface: self.interface,
            },
            "controller-removed" => Event::ControllerRemoved {
                controller: need(self.controller, "controller")?,
            },
            "controller-state" => Event::ControllerState {
                controller: need(self.controller, "controller")?,
                old: need(self.old, "old")?,
                new: need(self.new, "new")?,
            },
            "delete" => Event::Delete {
                controller: need(self.controller, "controller")?,
                by: Deleter::new(&need(self.by, "by")?),
            },
            "recovery" => Event::Recovery {
                controller: need(self.controller, "controller")?,
            },
            "keep-alive-failed" => Event::KeepAliveFailed {
                controller: need(self.controller, "controller")?,
            },
            "failfast-expired" => Event::FailfastExpired {
                controller: need(self.controller, "controller")?,
            },
            "connect" => Event::Connect {
                controller: need(self.controller, "controller")?,
                attempt: self.attempt.unwrap_or(0),
                result: need(self.result, "result")?,
            },
            "reconnect" => Event::Reconnect {
                controller: need(self.controller, "controller")?,
                attempt: self.attempt.unwrap_or(0),
                result: self.result,
            },
            "ana" => Event::Ana {
                controller: need(self.controller, "controller")?,
                group: need(self.group, "group")?,
                state: self
                    .state
                    .and_then(|it| AnaState::from_sysfs(&it))
                    .ok_or(Lack::Key("state"))?,
                nsids: need(self.nsids, "nsids")?,
                more: self.more.unwrap_or(false),
            },
            "ana-pending" => Event::AnaPending {
                controller: need(self.controller, "controller")?,
                nsid: need(self.nsid, "nsid")?,
            },
            "leg-added" => Event::LegAdded {
                state: self.leg_state(),
                controller: need(self.controller, "controller")?,
                nsid: need(self.nsid, "nsid")?,
                nqn: self.nqn,
                uuid: self.uuid,
                name: self.name,
                group: self.group,
            },
            "leg-words" => Event::LegWords {
                state: self.leg_state(),
                controller: need(self.controller, "controller")?,
                nsid: need(self.nsid, "nsid")?,
            },
            "leg-ready" => Event::LegReady {
                controller: need(self.controller, "controller")?,
                nsid: need(self.nsid, "nsid")?,
                ready: need(self.ready, "ready")?,
            },
            "leg-removed" => Event::LegRemoved {
                controller: need(self.controller, "controller")?,
                nsid: need(self.nsid, "nsid")?,
            },
            "head-added" => Event::HeadAdded {
                namespace: self.namespace()?,
            },
            "head-removed" => Event::HeadRemoved {
                held: self.held,
                namespace: self.namespace()?,
            },
            "failover" => Event::Failover {
                controller: need(self.controller, "controller")?,
                nsid: need(self.nsid, "nsid")?,
                status: need(self.status, "status")?,
                count: self.count.unwrap_or(1),
                oldest: self.oldest_ns,
            },
            "requeued" => Event::Requeued {
                count: need(self.count, "count")?,
                exact: self.exact.unwrap_or(false),
                namespace: self.namespace()?,
            },
            "failed" => Event::Failed {
                count: need(self.count, "count")?,
                exact: self.exact.unwrap_or(false),
                namespace: self.namespace()?,
            },
            "link" => Event::Link {
                ifname: need(self.ifname, "ifname")?,
                up: need(self.up, "up")?,
            },
            "desired" => Event::Desired {
                nqn: need(self.nqn, "nqn")?,
                published: self.published.unwrap_or_default(),
                superseded: self.superseded.unwrap_or_default(),
                fetched_at: need(self.fetched_at, "fetched_at")?,
                max_age: Duration::from_nanos(need(self.max_age, "max_age")?),
            },
            "migration" => Event::Migration {
                id: need(self.id, "id")?,
                phase: need(self.phase, "phase")?,
                nqn: need(self.nqn, "nqn")?,
                targets: self.targets.unwrap_or_default(),
            },
            "lost" => Event::Lost {
                count: self.count.unwrap_or(1),
            },
            "wall" => Event::Wall {
                unix_ns: need(self.unix_ns, "unix_ns")?,
            },
            _ => return Err(Lack::Unknown),
        })
    }

    /// A leg that says nothing of its size, or has one, is ready; the size is 0 while it is removed.
    fn leg_state(&self) -> LegState {
        LegState {
            ana: self.ana,
            pending: self.pending.unwrap_or(false),
            ready: self.ready.unwrap_or(self.size != Some(Sectors(0))),
        }
    }

    fn namespace(self) -> Result<NamespaceId, Lack> {
        Ok(NamespaceId {
            nqn: need(self.nqn, "nqn")?,
            nsid: need(self.nsid, "nsid")?,
            uuid: self.uuid,
        })
    }
}

fn need<T>(value: Option<T>, key: &'static str) -> Result<T, Lack> {
    value.ok_or(Lack::Key(key))
}

impl<'a> Line<'a> {
    /// The line of an event.
    pub(super) fn of(envelope: &'a Envelope) -> Self {
        let mut line = Self {
            t: Some(envelope.time),
            word: Cow::Borrowed(envelope.event.word()),
            source: envelope.source,
            error_ns: envelope.error_ns,
            ..Self::default()
        };
        line.tell(&envelope.event);
        line
    }

    fn tell(&mut self, event: &'a Event) {
        match event {
            Event::Snapshot { host, began } => {
                self.host = Some(Cow::Borrowed(host));
                self.began = *began;
            }
            Event::ControllerAdded {
                controller,
                nqn,
                endpoint,
                hostnqn,
                cntlid,
                state,
                interface,
            } => {
                self.controller = Some(*controller);
                self.nqn = Some(nqn.clone());
                self.endpoint.clone_from(endpoint);
                self.hostnqn.clone_from(hostnqn);
                self.cntlid = *cntlid;
                self.state = Some(Cow::Borrowed(state.as_str()));
                self.interface.clone_from(interface);
            }
            Event::ControllerRemoved { controller }
            | Event::Recovery { controller }
            | Event::KeepAliveFailed { controller }
            | Event::FailfastExpired { controller } => self.controller = Some(*controller),
            Event::ControllerState {
                controller,
                old,
                new,
            } => {
                self.controller = Some(*controller);
                (self.old, self.new) = (Some(*old), Some(*new));
            }
            Event::Delete { controller, by } => {
                self.controller = Some(*controller);
                self.by = Some(by.as_str().to_owned());
            }
            Event::Connect {
                controller,
                attempt,
                result,
            } => {
                self.controller = Some(*controller);
                (self.attempt, self.result) = (Some(*attempt), Some(*result));
            }
            Event::Reconnect {
                controller,
                attempt,
                result,
            } => {
                self.controller = Some(*controller);
                (self.attempt, self.result) = (Some(*attempt), *result);
            }
            Event::Ana {
                controller,
                group,
                state,
                nsids,
                more,
            } => {
                self.controller = Some(*controller);
                self.group = Some(*group);
                self.state = Some(Cow::Borrowed(state.as_str()));
                self.nsids = Some(nsids.clone());
                self.more = more.then_some(true);
            }
            Event::AnaPending { controller, nsid } | Event::LegRemoved { controller, nsid } => {
                (self.controller, self.nsid) = (Some(*controller), Some(*nsid));
            }
            Event::LegAdded {
                controller,
                nsid,
                nqn,
                uuid,
                name,
                group,
                state,
            } => {
                (self.controller, self.nsid) = (Some(*controller), Some(*nsid));
                self.nqn.clone_from(nqn);
                (self.uuid, self.name, self.group) = (*uuid, *name, *group);
                self.tell_leg(*state);
            }
            Event::LegWords {
                controller,
                nsid,
                state,
            } => {
                (self.controller, self.nsid) = (Some(*controller), Some(*nsid));
                self.tell_leg(*state);
            }
            Event::LegReady {
                controller,
                nsid,
                ready,
            } => {
                (self.controller, self.nsid) = (Some(*controller), Some(*nsid));
                self.ready = Some(*ready);
            }
            Event::HeadAdded { namespace } => self.tell_namespace(namespace),
            Event::HeadRemoved { namespace, held } => {
                self.tell_namespace(namespace);
                self.held = *held;
            }
            Event::Failover {
                controller,
                nsid,
                status,
                count,
                oldest,
            } => {
                (self.controller, self.nsid) = (Some(*controller), Some(*nsid));
                (self.status, self.count) = (Some(*status), Some(*count));
                self.oldest_ns = *oldest;
            }
            Event::Requeued {
                namespace,
                count,
                exact,
            }
            | Event::Failed {
                namespace,
                count,
                exact,
            } => {
                self.tell_namespace(namespace);
                (self.count, self.exact) = (Some(*count), Some(*exact));
            }
            Event::Link { ifname, up } => {
                (self.ifname, self.up) = (Some(ifname.clone()), Some(*up));
            }
            Event::Desired {
                nqn,
                published,
                superseded,
                fetched_at,
                max_age,
            } => {
                self.nqn = Some(nqn.clone());
                self.published = Some(published.clone());
                self.superseded = Some(superseded.clone());
                self.fetched_at = Some(*fetched_at);
                self.max_age = Some(u64::try_from(max_age.as_nanos()).unwrap_or(u64::MAX));
            }
            Event::Migration {
                id,
                phase,
                nqn,
                targets,
            } => {
                (self.id, self.phase) = (Some(id.clone()), Some(phase.clone()));
                self.nqn = Some(nqn.clone());
                self.targets = Some(targets.clone());
            }
            Event::Lost { count } => self.count = Some(*count),
            Event::Wall { unix_ns } => self.unix_ns = Some(*unix_ns),
        }
    }

    fn tell_leg(&mut self, state: LegState) {
        self.ana = state.ana;
        self.pending = state.pending.then_some(true);
        self.ready = Some(state.ready);
    }

    fn tell_namespace(&mut self, namespace: &NamespaceId) {
        self.nqn = Some(namespace.nqn.clone());
        (self.nsid, self.uuid) = (Some(namespace.nsid), namespace.uuid);
    }
}
