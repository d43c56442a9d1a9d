//! Bytes of the ring to records.

use pathwarden_ebpf::{
    AnaBody, AnaPendingBody, ConnectBody, ControllerBody, FailoverBody, HeadBody, Header,
    IdentityBody, Kind, LegBody, ReconnectBody, StateBody,
};
use zerocopy::FromBytes;

/// A body with what it tells.
#[derive(Debug, Clone)]
pub(super) enum Body {
    State(StateBody),
    Live(ControllerBody),
    FailfastExpired(ControllerBody),
    Identity(Box<IdentityBody>),
    Gone(ControllerBody),
    Ana(Box<AnaBody>),
    AnaPending(AnaPendingBody),
    LegLive(LegBody),
    LegAdded(LegBody),
    LegRemoved(LegBody),
    LegSnapshot(LegBody),
    Connect(ConnectBody),
    Reconnect(ReconnectBody),
    HeadAdded(Box<HeadBody>),
    HeadRemoved(Box<HeadBody>),
    Failover(FailoverBody),
    Recovery(ControllerBody),
    KeepAliveFailed(ControllerBody),
    Attempt(ConnectBody),
}

/// A record.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) header: Header,
    pub(super) body: Body,
}

/// The bytes are not a record: the object and the agent disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{length} bytes of kind {kind:?} are no record")]
pub struct Malformed {
    kind: Option<u16>,
    length: usize,
}

pub(super) fn decode(bytes: &[u8]) -> Result<Record, Malformed> {
    let malformed = |kind| Malformed {
        kind,
        length: bytes.len(),
    };
    let (header, rest) = Header::read_from_prefix(bytes).map_err(|_| malformed(None))?;
    let kind = Kind::from_raw(header.kind).ok_or(malformed(Some(header.kind)))?;
    body(kind, rest)
        .map(|body| Record { header, body })
        .ok_or(malformed(Some(header.kind)))
}

fn body(kind: Kind, bytes: &[u8]) -> Option<Body> {
    fn read<T: FromBytes>(bytes: &[u8]) -> Option<T> {
        T::read_from_bytes(bytes).ok()
    }
    Some(match kind {
        Kind::State => Body::State(read(bytes)?),
        Kind::Live => Body::Live(read(bytes)?),
        Kind::FailfastExpired => Body::FailfastExpired(read(bytes)?),
        Kind::Identity => Body::Identity(Box::new(read(bytes)?)),
        Kind::Gone => Body::Gone(read(bytes)?),
        Kind::Ana => Body::Ana(Box::new(read(bytes)?)),
        Kind::AnaPending => Body::AnaPending(read(bytes)?),
        Kind::LegLive => Body::LegLive(read(bytes)?),
        Kind::LegAdded => Body::LegAdded(read(bytes)?),
        Kind::LegRemoved => Body::LegRemoved(read(bytes)?),
        Kind::LegSnapshot => Body::LegSnapshot(read(bytes)?),
        Kind::Connect => Body::Connect(read(bytes)?),
        Kind::Reconnect => Body::Reconnect(read(bytes)?),
        Kind::HeadAdded => Body::HeadAdded(Box::new(read(bytes)?)),
        Kind::HeadRemoved => Body::HeadRemoved(Box::new(read(bytes)?)),
        Kind::Failover => Body::Failover(read(bytes)?),
        Kind::Recovery => Body::Recovery(read(bytes)?),
        Kind::KeepAliveFailed => Body::KeepAliveFailed(read(bytes)?),
        Kind::Attempt => Body::Attempt(read(bytes)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_record_are_named() {
        assert_eq!(
            decode(&[0; 3]).unwrap_err(),
            Malformed {
                kind: None,
                length: 3
            }
        );
        assert_eq!(
            decode(&[0; 24]).unwrap_err(),
            Malformed {
                kind: Some(0),
                length: 24
            }
        );
        let mut short = [0; 30];
        short[20] = Kind::Live as u8;
        assert_eq!(
            decode(&short).unwrap_err(),
            Malformed {
                kind: Some(2),
                length: 30
            }
        );
    }
}
