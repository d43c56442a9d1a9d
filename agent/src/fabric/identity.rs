//! Who a controller is.

use serde::Serialize;

use super::{Endpoint, Nqn};

/// What makes a controller the one that is meant, as far as it is known: its endpoint, its subsystem
/// and the host it is connected as. An action also wants its CNTLID and generation.
///
/// Its kernel name is no part of it: names are reused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// The endpoint; `None` when it is not known, or for findings about a whole subsystem.
    pub endpoint: Option<Endpoint>,
    /// The subsystem's NQN.
    pub subsysnqn: Option<Nqn>,
    /// The host NQN it is connected as.
    pub hostnqn: Option<Nqn>,
}

impl Identity {
    /// Whether every part is known, and the endpoint is an address.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.endpoint.as_ref().is_some_and(Endpoint::is_address)
            && self.subsysnqn.is_some()
            && self.hostnqn.is_some()
    }

    /// Whether both are known in full and name one connection.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        let same_endpoint = match (&self.endpoint, &other.endpoint) {
            (Some(a), Some(b)) => a.same_as(b),
            _ => false,
        };
        same_endpoint
            && self.is_complete()
            && other.is_complete()
            && self.subsysnqn == other.subsysnqn
            && self.hostnqn == other.hostnqn
    }
}

#[derive(Serialize)]
struct Parts<'a> {
    transport: Option<&'a str>,
    traddr: Option<String>,
    trsvcid: Option<&'a str>,
    host_traddr: Option<String>,
    host_iface: Option<&'a str>,
    subsysnqn: Option<&'a Nqn>,
    hostnqn: Option<&'a Nqn>,
}

impl Serialize for Identity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let endpoint = self.endpoint.as_ref();
        Parts {
            transport: endpoint.map(|e| e.transport.as_str()),
            traddr: endpoint.map(|e| e.traddr.to_string()),
            trsvcid: endpoint.and_then(|e| e.trsvcid.as_deref()),
            host_traddr: endpoint
                .and_then(|e| e.host_traddr.as_ref())
                .map(ToString::to_string),
            host_iface: endpoint.and_then(|e| e.host_iface.as_deref()),
            subsysnqn: self.subsysnqn.as_ref(),
            hostnqn: self.hostnqn.as_ref(),
        }
        .serialize(serializer)
    }
}
