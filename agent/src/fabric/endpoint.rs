//! Endpoints: what a controller connects to, and how one is written.
//!
//! The text form is `tcp://10.0.0.1:4420`, `tcp://[2001:db8::1%eth0]:4428`, `fc://nn-0x…:pn-0x…`, with
//! `?host_traddr=…&host_iface=…` where the connection was bound to one of the host's own addresses or
//! interfaces. Characters that would end a part early are written as `%` and two digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::address::{SysfsAddress, Traddr, present};
use super::{Attr, Transport};

/// Transport, address and port of a target, and what the host's side was bound to.
///
/// `==`, hashing and order are strict, for keys. Use [`Endpoint::same_as`] to ask whether two
/// controllers connect to one place, and [`Endpoint::covers`] to look a controller up in a list that
/// somebody else wrote.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The transport.
    pub transport: Transport,
    /// The target's address.
    pub traddr: Traddr,
    /// The target's port. A number is held without leading zeros.
    pub trsvcid: Option<Box<str>>,
    /// The host's address, if the connection was bound to one.
    pub host_traddr: Option<Traddr>,
    /// The host's interface, if the connection was bound to one.
    pub host_iface: Option<Box<str>>,
}

/// A text that is not an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointParseError {
    /// There is no `transport://` in front.
    #[error("no transport in front (expected tcp://ADDRESS:PORT)")]
    NoTransport,
    /// There is nothing where the address belongs.
    #[error("no address after the transport")]
    NoAddress,
    /// The address is not of the transport's form.
    #[error("\"{address}\" is not an address of {transport}")]
    Address {
        /// The transport.
        transport: Transport,
        /// What stands in the address's place.
        address: String,
    },
    /// The port is not a number from 0 to 65535.
    #[error("\"{port}\" is not a port")]
    Port {
        /// What stands in the port's place.
        port: String,
    },
    /// A parameter after `?` that endpoints do not have.
    #[error("unknown parameter \"{name}\" (known: host_traddr, host_iface, trsvcid)")]
    Parameter {
        /// The parameter's name.
        name: String,
    },
}

impl Endpoint {
    /// A plain endpoint of an IP transport.
    #[must_use]
    pub fn ip(transport: Transport, addr: std::net::IpAddr, port: u16) -> Self {
        Self {
            transport,
            traddr: Traddr::Ip {
                addr: addr.to_canonical(),
                zone: None,
            },
            trsvcid: Some(port.to_string().into()),
            host_traddr: None,
            host_iface: None,
        }
    }

    /// From the attributes `transport` and `address`; [`Attr::Unset`] when the address is empty, which
    /// is in order for the loop transport.
    #[must_use]
    pub fn from_sysfs(transport: &Transport, address: &SysfsAddress<'_>) -> Attr<Self> {
        let Some(traddr) = address
            .traddr
            .and_then(|text| Traddr::parse(transport, text))
        else {
            return Attr::Unset;
        };
        Attr::Value(Self {
            transport: transport.clone(),
            traddr,
            trsvcid: address.trsvcid.and_then(port_text),
            host_traddr: address
                .host_traddr
                .and_then(|text| Traddr::parse(transport, text)),
            host_iface: address.host_iface.and_then(present).map(Into::into),
        })
    }

    /// Whether the address is one of its transport, with a port where it needs one. What is not is carried and shown,
    /// and identifies nothing.
    #[must_use]
    pub fn is_address(&self) -> bool {
        match (&self.transport, &self.traddr) {
            (Transport::Tcp | Transport::Rdma, Traddr::Ip { .. }) => self.port().is_some(),
            (Transport::Tcp | Transport::Rdma | Transport::Fc, Traddr::Text(_)) => false,
            _ => true,
        }
    }

    /// The port as a number.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.trsvcid.as_ref()?.parse().ok()
    }

    /// Whether both are one target, whatever the host's side is bound to.
    #[must_use]
    pub fn same_target(&self, other: &Self) -> bool {
        self.transport == other.transport
            && self.trsvcid == other.trsvcid
            && self.traddr.same_as(&other.traddr)
    }

    /// Whether both are one endpoint: one target, and the host's side bound to the same or to nothing
    /// on both.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        let same_host = match (&self.host_traddr, &other.host_traddr) {
            (Some(a), Some(b)) => a.same_as(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same_host && self.host_iface == other.host_iface && self.same_target(other)
    }

    /// Whether `other`, a controller's, is what `self`, from a list of endpoints, names. A list that
    /// says nothing about the host's side (a control plane seldom knows it) means every binding.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let host = self.host_traddr.as_ref().is_none_or(|listed| {
            other
                .host_traddr
                .as_ref()
                .is_some_and(|actual| listed.same_as(actual))
        });
        let iface = self.host_iface.is_none() || self.host_iface == other.host_iface;
        host && iface && self.same_target(other)
    }
}

/// A port in one spelling; `None` for the spellings of absence.
fn port_text(text: &str) -> Option<Box<str>> {
    let text = present(text)?;
    Some(
        text.parse::<u16>()
            .map_or_else(|_| text.into(), |port| port.to_string().into()),
    )
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = escape(self.transport.as_str(), "%:/?&");
        let mut text = match &self.traddr {
            Traddr::Ip { addr, zone } => {
                let zone = zone.as_deref().map_or_else(String::new, zone_text);
                if addr.is_ipv6() {
                    format!("{transport}://[{addr}{zone}]")
                } else {
                    format!("{transport}://{addr}")
                }
            }
            fc @ Traddr::Fc { .. } => format!("{transport}://{fc}"),
            Traddr::Text(text) if self.transport.is_ip() => {
                format!("{transport}://{}", escape(text, "%?&:[]"))
            }
            Traddr::Text(text) => format!("{transport}://{}", escape(text, "%?&")),
        };
        let mut parameters = Vec::new();
        match (&self.trsvcid, self.port()) {
            (Some(port), Some(_)) if self.transport.is_ip() => {
                text.push(':');
                text.push_str(port);
            }
            (Some(port), _) => parameters.push(format!("trsvcid={}", escape(port, "%?&"))),
            (None, _) => {}
        }
        if let Some(address) = &self.host_traddr {
            parameters.push(format!(
                "host_traddr={}",
                escape(&address.to_string(), "%?&")
            ));
        }
        if let Some(iface) = &self.host_iface {
            parameters.push(format!("host_iface={}", escape(iface, "%?&")));
        }
        for (at, parameter) in parameters.iter().enumerate() {
            text.push(if at == 0 { '?' } else { '&' });
            text.push_str(parameter);
        }
        f.pad(&text)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointParseError;

    /// Reads what a person or a control plane wrote: the address must be one of its transport.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let endpoint = Self::read(text)?;
        let fits = match &endpoint.traddr {
            Traddr::Text(_) if endpoint.transport == Transport::Fc => false,
            Traddr::Text(name) if endpoint.transport.is_ip() => is_host_name(name),
            _ => true,
        };
        if fits {
            return Ok(endpoint);
        }
        Err(EndpointParseError::Address {
            address: endpoint.traddr.to_string(),
            transport: endpoint.transport,
        })
    }
}

impl Endpoint {
    /// Reads the text form back, whatever the address: what sysfs showed is carried as it is.
    fn read(text: &str) -> Result<Self, EndpointParseError> {
        let (transport, rest) = text
            .trim()
            .split_once("://")
            .ok_or(EndpointParseError::NoTransport)?;
        if transport.is_empty() {
            return Err(EndpointParseError::NoTransport);
        }
        let transport = Transport::new(&unescape(transport));
        let (place, query) = match rest.split_once('?') {
            Some((place, query)) => (place, Some(query)),
            None => (rest, None),
        };
        let (address, port) = if transport.is_ip() {
            split_port(place)?
        } else {
            (place, None)
        };
        let written = if transport.is_ip() {
            ip_of(address)
        } else {
            None
        };
        let traddr = written.or_else(|| Traddr::parse(&transport, &unescape(address)));
        let mut endpoint = Self {
            traddr: traddr.ok_or(EndpointParseError::NoAddress)?,
            trsvcid: port.map(|port| port.to_string().into()),
            host_traddr: None,
            host_iface: None,
            transport,
        };
        for parameter in query
            .into_iter()
            .flat_map(|q| q.split('&'))
            .filter(|p| !p.is_empty())
        {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = unescape(value);
            match name {
                "host_traddr" => endpoint.host_traddr = Traddr::parse(&endpoint.transport, &value),
                "host_iface" => endpoint.host_iface = present(&value).map(Into::into),
                "trsvcid" => endpoint.trsvcid = port_text(&value),
                _ => {
                    return Err(EndpointParseError::Parameter {
                        name: name.to_owned(),
                    });
                }
            }
        }
        Ok(endpoint)
    }
}

/// A zone behind its address. One that begins like an escaped `%` is escaped, so that it is not taken for one.
fn zone_text(zone: &str) -> String {
    let zone = escape(zone, "%]?&");
    if zone.starts_with("25") {
        format!("%25{zone}")
    } else {
        format!("%{zone}")
    }
}

/// The IP address of a text form: a zone follows a bare `%`, or one that is written `%25` (RFC 6874).
fn ip_of(text: &str) -> Option<Traddr> {
    let inner = text
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .unwrap_or(text);
    let Some((address, zone)) = inner.split_once('%') else {
        return Traddr::parse_ip(inner);
    };
    let zone = zone
        .strip_prefix("25")
        .filter(|rest| !rest.is_empty())
        .unwrap_or(zone);
    Traddr::parse_ip(&format!("{address}%{}", unescape(zone)))
}

/// Names are carried: the kernel takes none, tools resolve them before they connect.
fn is_host_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
}

fn split_port(place: &str) -> Result<(&str, Option<u16>), EndpointParseError> {
    let (address, port) = if let Some(close) = place.rfind(']') {
        let (address, after) = place.split_at(close + 1);
        match after.strip_prefix(':') {
            Some(port) => (address, Some(port)),
            None if after.is_empty() => (address, None),
            None => {
                return Err(EndpointParseError::Port {
                    port: after.to_owned(),
                });
            }
        }
    } else if place.bytes().filter(|b| *b == b':').count() > 1 {
        // An IPv6 address without brackets cannot have a port.
        (place, None)
    } else {
        match place.split_once(':') {
            Some((address, port)) => (address, Some(port)),
            None => (place, None),
        }
    };
    let port = port
        .map(|port| {
            port.parse().map_err(|_| EndpointParseError::Port {
                port: port.to_owned(),
            })
        })
        .transpose()?;
    Ok((address, port))
}

/// Writes each of `special` as `%` and two digits.
fn escape(text: &str, special: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if special.contains(character) {
            escaped.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Undoes [`escape`]: only the characters that it writes are taken back, so that `%eth0` and the like
/// stay what they are.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let character = match from.get(1..3) {
            Some("25") => Some('%'),
            Some("26") => Some('&'),
            Some("2F" | "2f") => Some('/'),
            Some("3A" | "3a") => Some(':'),
            Some("3F" | "3f") => Some('?'),
            Some("5B" | "5b") => Some('['),
            Some("5D" | "5d") => Some(']'),
            _ => None,
        };
        plain.push(character.unwrap_or('%'));
        rest = from
            .get(if character.is_some() { 3 } else { 1 }..)
            .unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysfs(transport: &str, address: &str) -> Endpoint {
        let endpoint =
            Endpoint::from_sysfs(&Transport::new(transport), &SysfsAddress::parse(address));
        endpoint.value().unwrap().clone()
    }

    fn text(text: &str) -> Endpoint {
        text.parse().unwrap()
    }

    #[test]
    fn the_source_address_is_no_part_of_an_endpoint() {
        let with = sysfs("tcp", "traddr=10.0.0.1,trsvcid=4426,src_addr=10.0.0.2");
        assert_eq!(with, sysfs("tcp", "traddr=10.0.0.1,trsvcid=4426"));
        assert_eq!(with, sysfs("tcp", "traddr=10.0.0.1 trsvcid=4426"));
        assert_eq!(with, text("tcp://10.0.0.1:4426"));
    }

    #[test]
    fn what_the_host_was_bound_to_is_part_of_it() {
        let bound = sysfs(
            "tcp",
            "traddr=192.168.1.116,trsvcid=4420,host_traddr=192.168.1.16,host_iface=eth5",
        );
        let free = text("tcp://192.168.1.116:4420");
        assert!(!bound.same_as(&free));
        assert!(bound.same_target(&free));
        assert_eq!(
            bound.to_string(),
            "tcp://192.168.1.116:4420?host_traddr=192.168.1.16&host_iface=eth5"
        );
        assert_eq!(
            sysfs(
                "tcp",
                "traddr=192.168.1.116,trsvcid=4420,host_traddr=none,host_iface="
            ),
            free
        );
    }

    #[test]
    fn a_list_that_does_not_say_how_to_bind_covers_every_binding() {
        let bound = text("tcp://10.0.0.1:4420?host_iface=eth5");
        let free = text("tcp://10.0.0.1:4420");
        assert!(free.covers(&bound) && free.covers(&free) && bound.covers(&bound));
        assert!(!bound.covers(&free));
        assert!(!free.covers(&text("tcp://10.0.0.1:4421")));
    }

    #[test]
    fn every_text_form_reads_back_as_itself() {
        for form in [
            "tcp://10.0.0.1:4420",
            "tcp://10.0.0.1",
            "tcp://[2001:db8::1]:4428",
            "tcp://[fe80::800:27ff:fe00:0%enp0s8]:8009",
            "rdma://storage-1.example:4420",
            "fc://nn-0x201700a09890f5bf:pn-0x201900a09890f5bf?host_traddr=nn-0x200000109b579ef5:pn-0x100000109b579ef5",
            "pcie://0000:61:00.0",
            "apple-nvme://27bcc0000.nvme",
            "tcp://10.0.0.1:4420?host_traddr=fe80::1%25eth0",
        ] {
            assert_eq!(text(form).to_string(), form);
        }
    }

    #[test]
    fn a_zone_may_be_written_plainly_in_a_parameter() {
        assert_eq!(
            text("tcp://10.0.0.1:4420?host_traddr=fe80::1%eth0"),
            text("tcp://10.0.0.1:4420?host_traddr=fe80::1%25eth0")
        );
        assert_eq!(
            text("tcp://[fe80::1%25eth0]:4420"),
            text("tcp://[fe80::1%eth0]:4420")
        );
    }

    #[test]
    fn ports_compare_as_numbers() {
        assert_eq!(
            sysfs("tcp", "traddr=10.0.0.1,trsvcid=04420"),
            text("tcp://10.0.0.1:4420")
        );
    }

    #[test]
    fn a_text_that_is_no_endpoint_says_why() {
        let error = |text: &str| text.parse::<Endpoint>().unwrap_err().to_string();
        assert_eq!(
            error("10.0.0.1:4420"),
            "no transport in front (expected tcp://ADDRESS:PORT)"
        );
        assert_eq!(error("tcp://"), "no address after the transport");
        assert_eq!(error("tcp://10.0.0.1:99999"), "\"99999\" is not a port");
        assert_eq!(
            error("tcp://10.0.0.1:4420?iface=e"),
            "unknown parameter \"iface\" (known: host_traddr, host_iface, trsvcid)"
        );
        assert_eq!(
            error("fc://10.0.0.1"),
            "\"10.0.0.1\" is not an address of fc"
        );
        assert_eq!(
            error("tcp://10.0.0 .1:1"),
            "\"10.0.0 .1\" is not an address of tcp"
        );
    }
}
