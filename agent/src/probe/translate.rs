//! Records to events: kernel words to the domain's, repetitions left out.
//!
//! What is an event is the kernel's business (the programs tell the calls that store something). What this adds: live
//! counts where it is stored, an accessible ANA state counts where the leg is set live, and a leg that is first heard
//! of in passing is announced.

use std::collections::{BTreeMap, BTreeSet};

use pathwarden_ebpf::{
    Controller, HeadBody, IdentityBody, LegBody, NO_STATUS, StateBody, ana, bits, state,
};

use crate::{
    event::{ControllerId, Deleter, Envelope, Event, LegState, NamespaceId, Outcome, Source},
    fabric::{
        AnaGroup, AnaState, Attr, BootNs, Cntlid, ControllerName, ControllerState, DiskName,
        Endpoint, Generation, Nqn, Nsid, SysfsAddress, Transport, Uuid,
    },
};

use super::decode::{Body, Record};

/// How far a probe's time may be from the kernel's store. The probes sit at the entry of the function that stores, with
/// nothing in between that sleeps; the bound is the one that the lab holds every kernel to.
pub(super) const BPF_ERROR_NS: u64 = 1_000_000;

/// A look this soon after an event may show the words that the event was about to replace.
const SETTLING_NS: u64 = 5_000_000;

#[derive(Debug, Default)]
pub(super) struct Translate {
    /// By address: a controller keeps its generation when its directory has gone.
    generations: BTreeMap<u64, Generation>,
    legs: BTreeSet<(ControllerId, Nsid)>,
    last_event: BTreeMap<ControllerId, u64>,
    /// What the last attempt of a controller came to, until the kernel decides what to do about it.
    attempts: BTreeMap<ControllerId, Outcome>,
    /// Subsystems that only local drives are in have no events; their heads are told apart by this.
    subsystems: BTreeSet<Nqn>,
}

impl Translate {
    /// Appends what a record comes to.
    pub(super) fn record(&mut self, record: &Record, events: &mut Vec<Envelope>) {
        let boot_ns = record.header.boot_ns;
        let Some(controller) = controller_of(&record.body) else {
            events.extend(self.head(&record.body).map(|event| at(boot_ns, event)));
            return;
        };
        if controller.fabrics == 0 || controller.discovery != 0 {
            return;
        }
        let id = self.id(controller);
        let mut emit = |event| events.push(at(boot_ns, event));
        match &record.body {
            // Live is told where it has been stored: see Body::Live.
            Body::State(body) if body.new == state::LIVE => return,
            Body::State(body) => {
                if body.new == state::DELETING {
                    emit(Event::Delete {
                        controller: id,
                        by: deleter(body),
                    });
                }
                emit(Event::ControllerState {
                    controller: id,
                    old: ControllerState::from_kernel(body.controller.state),
                    new: ControllerState::from_kernel(body.new),
                });
            }
            Body::Live(_) => emit(Event::ControllerState {
                controller: id,
                old: ControllerState::Connecting,
                new: ControllerState::Live,
            }),
            Body::FailfastExpired(_) => emit(Event::FailfastExpired { controller: id }),
            Body::Identity(body) => {
                let event = added(id, body);
                if let Event::ControllerAdded { nqn, .. } = &event {
                    self.subsystems.insert(nqn.clone());
                }
                emit(event);
                // Told again on every look: no sign that something happened.
                return;
            }
            Body::Gone(body) => {
                self.forget(id, body.controller.pointer);
                emit(Event::ControllerRemoved { controller: id });
                return;
            }
            // Stored by the same walk; told leg by leg where each is set live.
            Body::Ana(body) if ana::accessible(body.state) && controller.state == state::LIVE => {}
            Body::Ana(body) => {
                let held = usize::try_from(body.nsids_held)
                    .unwrap_or(0)
                    .min(body.nsids.len());
                emit(Event::Ana {
                    controller: id,
                    group: AnaGroup(body.group),
                    state: ana_state(body.state),
                    nsids: body
                        .nsids
                        .iter()
                        .take(held)
                        .map(|nsid| Nsid(*nsid))
                        .collect(),
                    more: body.nsid_count > body.nsids_held,
                });
            }
            Body::AnaPending(body) if multipath(&body.leg) => {
                let nsid = Nsid(body.leg.nsid);
                if self.legs.insert((id, nsid)) {
                    emit(leg_added(id, &body.leg));
                }
                emit(Event::AnaPending {
                    controller: id,
                    nsid,
                });
            }
            Body::LegLive(leg) if multipath(leg) => {
                let nsid = Nsid(leg.nsid);
                if self.legs.insert((id, nsid)) {
                    emit(leg_added(id, leg));
                } else {
                    emit(Event::Ana {
                        controller: id,
                        group: AnaGroup(leg.group),
                        state: ana_state(leg.ana_state),
                        nsids: vec![nsid],
                        more: false,
                    });
                }
            }
            Body::LegAdded(leg) if multipath(leg) => {
                if self.legs.insert((id, Nsid(leg.nsid))) {
                    emit(leg_added(id, leg));
                }
            }
            Body::LegSnapshot(leg) if multipath(leg) => {
                let nsid = Nsid(leg.nsid);
                if self.legs.insert((id, nsid)) {
                    emit(leg_added(id, leg));
                } else if self.settled(id, boot_ns) {
                    emit(Event::LegWords {
                        controller: id,
                        nsid,
                        state: leg_state(leg),
                    });
                }
                return;
            }
            Body::LegRemoved(leg) => {
                self.legs.remove(&(id, Nsid(leg.nsid)));
                emit(Event::LegRemoved {
                    controller: id,
                    nsid: Nsid(leg.nsid),
                });
            }
            Body::Connect(body) => emit(Event::Connect {
                controller: id,
                attempt: attempts(controller),
                result: Outcome::from_kernel(body.result),
            }),
            Body::Attempt(body) => {
                self.attempts.insert(id, Outcome::from_kernel(body.result));
            }
            Body::Reconnect(body) => {
                let told = self.attempts.remove(&id);
                let given = (body.status != NO_STATUS).then(|| Outcome::from_kernel(body.status));
                emit(Event::Reconnect {
                    controller: id,
                    attempt: attempts(controller),
                    result: given.or(told),
                });
            }
            Body::Recovery(_) => emit(Event::Recovery { controller: id }),
            Body::KeepAliveFailed(_) => emit(Event::KeepAliveFailed { controller: id }),
            Body::Failover(body) if multipath(&body.leg) => {
                let nsid = Nsid(body.leg.nsid);
                if self.legs.insert((id, nsid)) {
                    emit(leg_added(id, &body.leg));
                }
                emit(Event::Failover {
                    controller: id,
                    nsid,
                    status: u16::try_from(body.status).unwrap_or(u16::MAX),
                    count: u64::from(body.count),
                    oldest: Some(BootNs(body.oldest_ns)).filter(|sent| sent.0 != 0),
                });
                return;
            }
            // A private namespace: no head, so no path is chosen.
            Body::AnaPending(_)
            | Body::LegLive(_)
            | Body::LegAdded(_)
            | Body::LegSnapshot(_)
            | Body::Failover(_) => {}
            Body::HeadAdded(_) | Body::HeadRemoved(_) => {}
        }
        self.last_event.insert(id, boot_ns);
    }

    fn id(&mut self, controller: &Controller) -> ControllerId {
        let generation = match controller.generation {
            0 => self
                .generations
                .get(&controller.pointer)
                .copied()
                .unwrap_or(Generation(0)),
            inode => {
                self.generations
                    .insert(controller.pointer, Generation(inode));
                Generation(inode)
            }
        };
        let instance = u32::try_from(controller.instance).unwrap_or(u32::MAX);
        ControllerId {
            name: ControllerName::from_instance(instance),
            generation,
        }
    }

    fn head(&self, body: &Body) -> Option<Event> {
        match body {
            Body::HeadAdded(head) => Some(Event::HeadAdded {
                namespace: self.namespace(head)?,
            }),
            Body::HeadRemoved(head) => Some(Event::HeadRemoved {
                namespace: self.namespace(head)?,
                held: (head.openers >= 0).then_some(head.openers > 0),
            }),
            _ => None,
        }
    }

    fn namespace(&self, head: &HeadBody) -> Option<NamespaceId> {
        let nqn = Nqn::new(&text(&head.nqn));
        self.subsystems.contains(&nqn).then_some(NamespaceId {
            nqn,
            nsid: Nsid(head.nsid),
            uuid: Some(Uuid::from_bytes(head.uuid)).filter(|uuid| !uuid.is_nil()),
        })
    }

    fn forget(&mut self, id: ControllerId, pointer: u64) {
        self.generations.remove(&pointer);
        self.last_event.remove(&id);
        self.attempts.remove(&id);
        self.legs.retain(|(controller, _)| *controller != id);
    }

    fn settled(&self, id: ControllerId, boot_ns: u64) -> bool {
        let last = self.last_event.get(&id).copied().unwrap_or(0);
        boot_ns.saturating_sub(last) > SETTLING_NS
    }
}

fn controller_of(body: &Body) -> Option<&Controller> {
    Some(match body {
        Body::State(body) => &body.controller,
        Body::Live(body)
        | Body::FailfastExpired(body)
        | Body::Gone(body)
        | Body::Recovery(body)
        | Body::KeepAliveFailed(body) => &body.controller,
        Body::Identity(body) => &body.controller,
        Body::Ana(body) => &body.controller,
        Body::AnaPending(body) => &body.leg.controller,
        Body::Failover(body) => &body.leg.controller,
        Body::LegLive(leg)
        | Body::LegAdded(leg)
        | Body::LegRemoved(leg)
        | Body::LegSnapshot(leg) => &leg.controller,
        Body::Connect(body) | Body::Attempt(body) => &body.controller,
        Body::Reconnect(body) => &body.controller,
        Body::HeadAdded(_) | Body::HeadRemoved(_) => return None,
    })
}

fn at(boot_ns: u64, event: Event) -> Envelope {
    Envelope {
        time: BootNs(boot_ns),
        error_ns: BPF_ERROR_NS,
        source: Source::Bpf,
        event,
    }
}

/// A process's command counts as a process's word only where it is known not to be the kernel's own thread.
fn deleter(body: &StateBody) -> Deleter {
    match body.kernel_thread {
        0 => Deleter::Command(text(&body.command)),
        _ => Deleter::Kernel,
    }
}

fn added(controller: ControllerId, body: &IdentityBody) -> Event {
    let transport = Transport::new(&text(&body.transport));
    let (traddr, trsvcid) = (text(&body.traddr), text(&body.trsvcid));
    let (host_traddr, host_iface) = (text(&body.host_traddr), text(&body.host_iface));
    let address = SysfsAddress {
        traddr: given(&traddr),
        trsvcid: given(&trsvcid),
        host_traddr: given(&host_traddr),
        host_iface: given(&host_iface),
        src_addr: None,
    };
    let endpoint = match Endpoint::from_sysfs(&transport, &address) {
        Attr::Value(endpoint) => Some(endpoint),
        _ => None,
    };
    let hostnqn = text(&body.hostnqn);
    Event::ControllerAdded {
        controller,
        nqn: Nqn::new(&text(&body.subsysnqn)),
        endpoint,
        hostnqn: given(&hostnqn).map(Nqn::new),
        cntlid: Some(Cntlid(body.controller.cntlid)).filter(|cntlid| cntlid.0 != 0),
        state: ControllerState::from_kernel(body.controller.state),
        interface: None,
    }
}

fn leg_added(controller: ControllerId, leg: &LegBody) -> Event {
    let name = match (
        u32::try_from(leg.subsystem_instance),
        u32::try_from(leg.head_instance),
    ) {
        (Ok(subsystem), Ok(head)) => {
            Some(DiskName::leg(subsystem, controller.name.instance(), head))
        }
        _ => None,
    };
    Event::LegAdded {
        controller,
        nsid: Nsid(leg.nsid),
        nqn: None,
        uuid: Some(Uuid::from_bytes(leg.uuid)).filter(|uuid| !uuid.is_nil()),
        name,
        group: has_ana(leg).then_some(AnaGroup(leg.group)),
        state: leg_state(leg),
    }
}

fn leg_state(leg: &LegBody) -> LegState {
    LegState {
        ana: has_ana(leg).then(|| ana_state(leg.ana_state)),
        pending: leg.flags & (1 << bits::NS_ANA_PENDING) != 0,
        ready: leg.flags & (1 << bits::NS_READY) != 0,
    }
}

fn has_ana(leg: &LegBody) -> bool {
    leg.traits & LegBody::HAS_ANA != 0
}

fn multipath(leg: &LegBody) -> bool {
    leg.traits & LegBody::MULTIPATH != 0
}

fn ana_state(word: u32) -> AnaState {
    u8::try_from(word).map_or(AnaState::Invalid, AnaState::from_kernel)
}

fn attempts(controller: &Controller) -> u32 {
    u32::try_from(controller.reconnects).unwrap_or(0)
}

/// The text up to its zero; bytes that are no text are shown as such.
fn text(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
