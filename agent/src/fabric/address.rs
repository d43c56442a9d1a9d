//! Transport addresses: what a `traddr` is once it is parsed, and the attribute `address`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

use super::Transport;

/// A parsed transport address.
///
/// `==` is the strict comparison of parsed addresses, fit for keys. [`Traddr::same_as`] is the one
/// for deciding whether two mean the same place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Traddr {
    /// An IP address. IPv4-mapped IPv6 is held as the IPv4 address that it is.
    Ip {
        /// The address.
        addr: IpAddr,
        /// The zone after `%`, IPv6 only.
        zone: Option<Box<str>>,
    },
    /// A Fibre Channel node and port.
    Fc {
        /// World-wide node name.
        node: Wwn,
        /// World-wide port name.
        port: Wwn,
    },
    /// Anything else, as it is: a PCI address, a host's name.
    Text(Box<str>),
}

/// A Fibre Channel world-wide name. Compares by value; shown with the digits it came with, because
/// the kernel takes exactly sixteen.
#[derive(Debug, Clone, Copy)]
pub struct Wwn {
    value: u64,
    digits: u8,
}

impl Wwn {
    /// From `0x` and up to sixteen hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))?;
        let digits = u8::try_from(hex.len())
            .ok()
            .filter(|n| (1..=16).contains(n))?;
        if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        Some(Self {
            value: u64::from_str_radix(hex, 16).ok()?,
            digits,
        })
    }

    /// The name as a number.
    #[must_use]
    pub fn value(self) -> u64 {
        self.value
    }
}

impl fmt::Display for Wwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "0x{:0width$x}",
            self.value,
            width = usize::from(self.digits)
        )
    }
}

impl PartialEq for Wwn {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Wwn {}

impl Hash for Wwn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl PartialOrd for Wwn {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wwn {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.value.cmp(&other.value)
    }
}

impl Traddr {
    /// Parses an address of this transport; what is not of its form is kept as text. `None` for the
    /// three spellings of absence: nothing, `none` and `(null)`.
    #[must_use]
    pub fn parse(transport: &Transport, text: &str) -> Option<Self> {
        let text = present(text)?;
        let parsed = match transport {
            Transport::Tcp | Transport::Rdma => Self::parse_ip(text),
            Transport::Fc => Self::parse_fc(text),
            _ => None,
        };
        Some(parsed.unwrap_or_else(|| Self::Text(text.into())))
    }

    /// Parses an IP address with an optional zone, brackets allowed around IPv6.
    #[must_use]
    pub fn parse_ip(text: &str) -> Option<Self> {
        let text = text
            .strip_prefix('[')
            .and_then(|t| t.strip_suffix(']'))
            .unwrap_or(text);
        let (text, zone) = match text.split_once('%') {
            Some((address, zone)) if !zone.is_empty() => (address, Some(zone)),
            Some(_) => return None,
            None => (text, None),
        };
        if zone.is_some() && text.parse::<Ipv6Addr>().is_err() {
            return None;
        }
        let addr = text.parse::<IpAddr>().ok()?.to_canonical();
        let zone = if addr.is_ipv6() {
            zone.map(Into::into)
        } else {
            None
        };
        Some(Self::Ip { addr, zone })
    }

    /// Parses `nn-0x…:pn-0x…`; tools also write a comma between the two.
    fn parse_fc(text: &str) -> Option<Self> {
        let (node, port) = text.split_once([':', ','])?;
        let name = |text: &str, prefix| Wwn::parse(text.trim().strip_prefix(prefix)?);
        Some(Self::Fc {
            node: name(node, "nn-")?,
            port: name(port, "pn-")?,
        })
    }

    /// Whether both mean the same place. A zone counts only when both have one.
    ///
    /// Not transitive because of that (`fe80::1%a`, `fe80::1`, `fe80::1%b`), hence not `==`.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Ip {
                    addr: a,
                    zone: Some(p),
                },
                Self::Ip {
                    addr: b,
                    zone: Some(q),
                },
            ) => a == b && p == q,
            (Self::Ip { addr: a, .. }, Self::Ip { addr: b, .. }) => a == b,
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for Traddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip {
                addr,
                zone: Some(zone),
            } => write!(f, "{addr}%{zone}"),
            Self::Ip { addr, zone: None } => write!(f, "{addr}"),
            Self::Fc { node, port } => write!(f, "nn-{node}:pn-{port}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The text, unless it is one of the spellings of absence.
pub(super) fn present(text: &str) -> Option<&str> {
    match text.trim() {
        "" | "none" | "(null)" => None,
        text => Some(text),
    }
}

/// The attribute `address`, taken apart (`nvmf_get_address`; TCP adds `src_addr`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SysfsAddress<'a> {
    /// The target's address.
    pub traddr: Option<&'a str>,
    /// The target's port.
    pub trsvcid: Option<&'a str>,
    /// The host's address, if one was given at connect.
    pub host_traddr: Option<&'a str>,
    /// The host's interface, if one was given at connect.
    pub host_iface: Option<&'a str>,
    /// The socket's own address: comes and goes with it, never part of an identity.
    pub src_addr: Option<&'a str>,
}

impl<'a> SysfsAddress<'a> {
    /// Takes the text apart. Fields may come in any order, between commas (the kernel) or blanks (old
    /// tools). A text without any field is a bare address.
    ///
    /// A piece without a known `field=` in front belongs to the value before it: that is the second
    /// half of a Fibre Channel pair.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let mut address = Self::default();
        let fields = field_starts(text);
        let Some(&(first, ..)) = fields.first() else {
            address.traddr = present(text);
            return address;
        };
        let mut ends = fields
            .iter()
            .skip(1)
            .map(|&(start, ..)| start)
            .chain([text.len()]);
        for &(_, name, value) in &fields {
            let end = ends.next().unwrap_or(text.len());
            let value = text.get(value..end).unwrap_or_default();
            let value = present(value.trim_matches([',', ' ', '\n', '\t']));
            match name {
                "traddr" => address.traddr = value,
                "trsvcid" => address.trsvcid = value,
                "host_traddr" => address.host_traddr = value,
                "host_iface" => address.host_iface = value,
                _ => address.src_addr = value,
            }
        }
        if address.traddr.is_none() {
            let before = text.get(..first).unwrap_or_default();
            address.traddr = present(before.trim_matches([',', ' ', '\n', '\t']));
        }
        address
    }
}

/// Where each known field begins, its name, and where its value begins.
fn field_starts(text: &str) -> Vec<(usize, &'static str, usize)> {
    const FIELDS: [&str; 5] = ["traddr", "trsvcid", "host_traddr", "host_iface", "src_addr"];
    let mut starts = Vec::with_capacity(FIELDS.len());
    let mut at_boundary = true;
    for (at, byte) in text.bytes().enumerate() {
        if at_boundary && let Some(rest) = text.get(at..) {
            let field = FIELDS.iter().find(|name| {
                rest.strip_prefix(**name)
                    .is_some_and(|after| after.starts_with('='))
            });
            if let Some(name) = field {
                starts.push((at, *name, at + name.len() + 1));
            }
        }
        at_boundary = matches!(byte, b',' | b' ' | b'\t' | b'\n');
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Traddr {
        Traddr::parse(&Transport::Tcp, text).unwrap()
    }

    #[test]
    fn spellings_of_one_ipv6_address_are_equal() {
        assert_eq!(ip("2001:DB8:0:0:0:0:0:1"), ip("2001:db8::1"));
        assert_eq!(ip("[2001:db8::1]"), ip("2001:db8::1"));
        assert_ne!(ip("2001:db8::1"), ip("2001:db8::2"));
    }

    #[test]
    fn mapped_ipv4_is_ipv4() {
        assert_eq!(ip("::ffff:192.0.2.7"), ip("192.0.2.7"));
        assert_eq!(ip("::ffff:c000:207").to_string(), "192.0.2.7");
    }

    #[test]
    fn a_zone_counts_when_both_sides_have_one() {
        let (a, b, bare) = (ip("fe80::1%eth0"), ip("fe80::1%eth1"), ip("fe80::1"));
        assert!(!a.same_as(&b));
        assert!(a.same_as(&bare) && bare.same_as(&b));
        assert_eq!(a.to_string(), "fe80::1%eth0");
    }

    #[test]
    fn none_empty_and_absent_are_the_same() {
        for text in ["", "none", "(null)", " \n"] {
            assert_eq!(Traddr::parse(&Transport::Tcp, text), None, "{text:?}");
        }
    }

    #[test]
    fn fibre_channel_pairs_hold_together() {
        let fc = |text| Traddr::parse(&Transport::Fc, text).unwrap();
        assert_eq!(fc("nn-0x1,pn-0x2").to_string(), "nn-0x1:pn-0x2");
        assert_eq!(
            fc("nn-0x201700A09890F5BF:pn-0x201900a09890f5bf"),
            fc("nn-0x201700a09890f5bf,pn-0x201900a09890f5bf")
        );
        assert_eq!(
            fc("nn-0x0000000000000001:pn-0x0000000000000002"),
            fc("nn-0x1:pn-0x2")
        );
        assert!(matches!(
            fc("nn-0x11112222333344445:pn-0x2"),
            Traddr::Text(_)
        ));
    }

    #[test]
    fn field_order_and_separators_are_free() {
        let address =
            SysfsAddress::parse("traddr=1234::abcd,src_addr=fe80::1%scope,trsvcid=8009\n");
        assert_eq!(address.traddr, Some("1234::abcd"));
        assert_eq!(address.trsvcid, Some("8009"));
        assert_eq!(address.src_addr, Some("fe80::1%scope"));
        let address = SysfsAddress::parse("trsvcid=4426 traddr=10.0.0.1");
        assert_eq!(
            (address.traddr, address.trsvcid),
            (Some("10.0.0.1"), Some("4426"))
        );
    }

    #[test]
    fn a_bare_text_is_the_address() {
        for text in ["0000:61:00.0", "27bcc0000.nvme", "nn-0x1,pn-0x2"] {
            let expected = SysfsAddress {
                traddr: Some(text),
                ..SysfsAddress::default()
            };
            assert_eq!(SysfsAddress::parse(text), expected);
        }
        assert_eq!(SysfsAddress::parse("\n"), SysfsAddress::default());
    }

    #[test]
    fn a_comma_inside_a_pair_does_not_split_it() {
        let address = SysfsAddress::parse("traddr=nn-0x1,pn-0x2,host_traddr=nn-0x3,pn-0x4");
        assert_eq!(address.traddr, Some("nn-0x1,pn-0x2"));
        assert_eq!(address.host_traddr, Some("nn-0x3,pn-0x4"));
    }
}
