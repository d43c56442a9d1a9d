//! Requests to the kernel's routing netlink, as few as the lab needs: interfaces up and down, a veth pair, addresses.
//!
//! Messages are those of linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h and linux/veth.h.

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use anyhow::{Context as _, Result, ensure};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

/// `RTM_NEWLINK`: makes a link, or sets what is given of one that exists.
const NEW_LINK: u16 = 16;
/// `RTM_DELLINK`.
const DELETE_LINK: u16 = 17;
/// `RTM_NEWADDR`.
const NEW_ADDRESS: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST_AND_ACK: u16 = 1 | 4;
/// `NLM_F_CREATE | NLM_F_EXCL`.
const CREATE: u16 = 0x400 | 0x200;
/// `NLMSG_ERROR`: also the acknowledgement, with error 0.
const ANSWER: u16 = 2;
/// `IFF_UP`.
const UP: u32 = 1;
/// `IFLA_IFNAME`, a text with its zero.
const NAME: u16 = 3;
/// The loopback is the first interface of every network namespace.
const LOOPBACK: u32 = 1;

/// Brings the loopback of the calling thread's network namespace up. The kernel gives it 127.0.0.1/8 with that, and so
/// all of 127.0.0.0/8.
pub(crate) fn loopback_up() -> Result<()> {
    set_up(LOOPBACK, true).context("bring the loopback up")
}

/// Brings a link of the calling thread's network namespace up or down.
pub(super) fn set_link(name: &str, up: bool) -> Result<()> {
    let way = if up { "up" } else { "down" };
    index(name)
        .and_then(|index| set_up(index, up))
        .with_context(|| format!("bring {name} {way}"))
}

/// Makes a veth pair: `here` in the calling thread's network namespace, `there` in another.
pub(super) fn veth(here: &str, there: &str, namespace: BorrowedFd<'_>) -> Result<()> {
    /// `IFLA_LINKINFO`, in it `IFLA_INFO_KIND` and `IFLA_INFO_DATA`, in that `VETH_INFO_PEER`.
    const LINK_INFO: u16 = 18;
    const INFO_KIND: u16 = 1;
    const INFO_DATA: u16 = 2;
    const PEER: u16 = 1;
    /// `IFLA_NET_NS_FD`.
    const NAMESPACE: u16 = 28;
    let mut peer = link(0, 0, 0).to_vec();
    peer.extend(attribute(NAME, &text(there)));
    peer.extend(attribute(NAMESPACE, &namespace.as_raw_fd().to_ne_bytes()));
    let mut info = attribute(INFO_KIND, &text("veth"));
    info.extend(attribute(INFO_DATA, &attribute(PEER, &peer)));
    let mut body = link(0, 0, 0).to_vec();
    body.extend(attribute(NAME, &text(here)));
    body.extend(attribute(LINK_INFO, &info));
    request(NEW_LINK, CREATE, &body).with_context(|| format!("make {here} and {there}"))
}

/// Deletes a link, and with it the other end of a pair.
pub(super) fn delete(name: &str) -> Result<()> {
    index(name)
        .and_then(|index| request(DELETE_LINK, 0, &link(index, 0, 0)))
        .with_context(|| format!("delete {name}"))
}

/// Gives a link an address with a 24 bit network.
pub(super) fn add_address(name: &str, address: Ipv4Addr) -> Result<()> {
    /// `IFA_ADDRESS` and `IFA_LOCAL`: the same but on point-to-point links.
    const ADDRESS: u16 = 1;
    const LOCAL: u16 = 2;
    const PREFIX: u8 = 24;
    let given = || {
        // struct ifaddrmsg: family (AF_INET), prefix length, flags, scope, index.
        let mut body = vec![2, PREFIX, 0, 0];
        body.extend(index(name)?.to_ne_bytes());
        body.extend(attribute(LOCAL, &address.octets()));
        body.extend(attribute(ADDRESS, &address.octets()));
        request(NEW_ADDRESS, CREATE, &body)
    };
    given().with_context(|| format!("give {name} the address {address}"))
}

fn index(name: &str) -> Result<u32> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None).context("open a socket")?;
    rustix::net::netdevice::name_to_index(any, name).with_context(|| format!("find {name}"))
}

fn set_up(index: u32, up: bool) -> Result<()> {
    request(NEW_LINK, 0, &link(index, if up { UP } else { 0 }, UP))
}

/// `struct ifinfomsg`: which link, its flags, and which of the flags are to change.
fn link(index: u32, flags: u32, change: u32) -> [u8; 16] {
    let mut message = [0; 16];
    message[4..8].copy_from_slice(&index.to_ne_bytes());
    message[8..12].copy_from_slice(&flags.to_ne_bytes());
    message[12..16].copy_from_slice(&change.to_ne_bytes());
    message
}

/// `struct rtattr` with its payload, filled up to four bytes.
fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 4).unwrap_or(u16::MAX);
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// `struct nlmsghdr` and what follows it; sequence number and port are left to the kernel.
fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 16).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((REQUEST_AND_ACK | flags).to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

/// Sends a request and waits for its acknowledgement.
fn request(kind: u16, flags: u16, body: &[u8]) -> Result<()> {
    // NETLINK_ROUTE is the family's protocol 0.
    let route = socket(AddressFamily::NETLINK, SocketType::RAW, None)
        .context("open a route netlink socket")?;
    let message = message(kind, flags, body);
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&route, &message, SendFlags::empty(), &kernel).context("send the request")?;
    let mut answer = [0; 1024];
    let (length, _) = recv(&route, &mut answer, RecvFlags::empty()).context("read the answer")?;
    check(&answer[..length])
}

/// The kernel's answer: a header, then a negative errno or 0.
fn check(answer: &[u8]) -> Result<()> {
    let kind = answer.get(4..6).context("a short answer")?;
    ensure!(
        kind == ANSWER.to_ne_bytes(),
        "an answer of another kind: {answer:?}"
    );
    let error = answer.get(16..20).context("a short answer")?;
    match i32::from_ne_bytes(error.try_into().context("a short answer")?) {
        0 => Ok(()),
        error => Err(Errno::from_raw_os_error(-error)).context("the kernel refused"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_has_its_length_without_the_filling() {
        assert_eq!(
            attribute(NAME, &text("h0")),
            [7_u16.to_ne_bytes(), 3_u16.to_ne_bytes(), *b"h0", [0, 0]].concat()
        );
    }

    #[test]
    fn a_request_to_raise_a_flag_names_the_link_and_the_flag() {
        let bytes = message(NEW_LINK, 0, &link(5, UP, UP));
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[0..4], 32_u32.to_ne_bytes());
        assert_eq!(bytes[20..24], 5_u32.to_ne_bytes());
        assert_eq!(bytes[24..28], bytes[28..32]);
    }

    #[test]
    fn an_acknowledgement_is_an_error_message_with_error_zero() {
        let mut answer = [0; 36];
        answer[4..6].copy_from_slice(&ANSWER.to_ne_bytes());
        assert!(check(&answer).is_ok());
        answer[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        let refused = format!("{:#}", check(&answer).unwrap_err());
        assert_eq!(
            refused,
            "the kernel refused: Operation not permitted (os error 1)"
        );
        assert!(check(&answer[..10]).is_err());
    }
}
