//! What else the host tells: uevents, and the network that paths go through.

use std::collections::BTreeMap;

use crate::{
    event::{Envelope, Event, Source},
    fabric::{Endpoint, Traddr},
    probe::{LinkChange, Links, Uevent, Uevents},
};

/// Something that happened.
pub(super) enum Sign {
    /// It is an event.
    Event(Envelope),
    /// It says where to look.
    Uevent(Uevent),
}

/// Listens as far as it may. What cannot be listened to is said once and done without.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    uevents: Option<Uevents>,
    links: Option<Links>,
    interfaces: BTreeMap<Endpoint, String>,
}

impl Surroundings {
    /// A tree that is not this host's has none of it.
    pub(super) async fn listen(this_host: bool) -> Self {
        if !this_host {
            return Self::default();
        }
        let uevents = Uevents::listen().inspect_err(|error| {
            tracing::warn!("no uevents: {error}; modules that are loaded later are not noticed");
        });
        let links = Links::listen().await.inspect_err(|error| {
            let reason = crate::error_chain(error);
            tracing::warn!("no news of network links: {reason}; windows do not name them");
        });
        Self {
            uevents: uevents.ok(),
            links: links.ok(),
            interfaces: BTreeMap::new(),
        }
    }

    /// What happens next; waits for ever where nothing is listened to.
    pub(super) async fn next(&mut self) -> Sign {
        loop {
            let uevents = async {
                match &mut self.uevents {
                    Some(uevents) => uevents.next().await,
                    None => std::future::pending().await,
                }
            };
            let links = async {
                match &mut self.links {
                    Some(links) => links.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                uevent = uevents => match uevent {
                    Ok(uevent) => return Sign::Uevent(uevent),
                    Err(error) => {
                        tracing::warn!("uevents have ended: {error}");
                        self.uevents = None;
                    }
                },
                change = links => match change {
                    Ok(change) => {
                        if let LinkChange::Link { ifname, up } = change.change {
                            return Sign::Event(Envelope {
                                time: change.time,
                                error_ns: 0,
                                source: Source::Bpf,
                                event: Event::Link { ifname, up },
                            });
                        }
                        tracing::info!(change = ?change.change, "network");
                    }
                    Err(error) => {
                        let reason = crate::error_chain(&error);
                        tracing::warn!("news of network links has ended: {reason}");
                        self.links = None;
                    }
                },
            }
        }
    }

    /// The interface that an endpoint is reached through, as it was when there was a way.
    pub(super) async fn interface_of(&mut self, endpoint: &Endpoint) -> Option<String> {
        if let Some(given) = &endpoint.host_iface {
            return Some(given.to_string());
        }
        if let Some(known) = self.interfaces.get(endpoint) {
            return Some(known.clone());
        }
        let Traddr::Ip { addr, zone } = &endpoint.traddr else {
            return None;
        };
        if let Some(zone) = zone {
            return Some(zone.to_string());
        }
        let source = match &endpoint.host_traddr {
            Some(Traddr::Ip { addr, .. }) => Some(*addr),
            _ => None,
        };
        let interface = self.links.as_ref()?.interface_of(*addr, source).await?;
        self.interfaces.insert(endpoint.clone(), interface.clone());
        Some(interface)
    }
}
