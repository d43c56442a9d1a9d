//! The loopback interface. The kernel gives it 127.0.0.1/8 as it comes up, and with that all of 127.0.0.0/8.

use anyhow::{Context as _, Result, ensure};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

/// `RTM_NEWLINK` (linux/rtnetlink.h): sets what is given of a link that exists.
const NEW_LINK: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK` (linux/netlink.h).
const REQUEST_AND_ACK: u16 = 1 | 4;
/// `NLMSG_ERROR` (linux/netlink.h): also the acknowledgement, with error 0.
const ANSWER: u16 = 2;
/// `IFF_UP` (linux/if.h).
const UP: u32 = 1;
/// The loopback is the first interface of every network namespace.
const INDEX: i32 = 1;

/// Brings it up.
pub(super) fn up() -> Result<()> {
    // NETLINK_ROUTE is the family's protocol 0.
    let route = socket(AddressFamily::NETLINK, SocketType::RAW, None)
        .context("open a route netlink socket")?;
    sendto(
        &route,
        &set_up(),
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )
    .context("send the request")?;
    let mut answer = [0; 256];
    let (length, _) = recv(&route, &mut answer, RecvFlags::empty()).context("read the answer")?;
    check(&answer[..length])
}

/// `struct nlmsghdr` and `struct ifinfomsg` that raise the flag.
fn set_up() -> [u8; 32] {
    let mut message = [0; 32];
    message[0..4].copy_from_slice(&32_u32.to_ne_bytes());
    message[4..6].copy_from_slice(&NEW_LINK.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_AND_ACK.to_ne_bytes());
    message[20..24].copy_from_slice(&INDEX.to_ne_bytes());
    // The flags, and which of them are to change.
    message[24..28].copy_from_slice(&UP.to_ne_bytes());
    message[28..32].copy_from_slice(&UP.to_ne_bytes());
    message
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
