//! PDUs from the host, read whole however they are cut into segments.

use std::fmt;
use std::io::{self, Read};

use super::bytes::{field, le16, le32};
use super::entry::Entry;
use super::{flag, kind};
use crate::target::limits::{H2C_DATA, IN_CAPSULE};

const COMMON: usize = 8;
const HANDSHAKE: u8 = 128;
const COMMAND: u8 = 72;
const DATA: u8 = 24;

/// A PDU from the host, after the handshake.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A command capsule and the data in it.
    Command { entry: Entry, data: Vec<u8> },
    /// Data that an R2T asked for.
    Data(HostData),
    /// The host gives up on this connection; the reason it gives.
    Terminate { reason: u16 },
}

/// One H2CData PDU.
#[derive(Debug)]
pub(crate) struct HostData {
    pub(crate) cid: u16,
    pub(crate) tag: u16,
    /// From the beginning of the command's data, bytes.
    pub(crate) offset: u32,
    pub(crate) last: bool,
    pub(crate) data: Vec<u8>,
}

/// What the host asks for in its ICReq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handshake {
    /// Alignment of the data in C2HData PDUs, in dwords, 0's based.
    pub(crate) alignment: u8,
    /// Header and data digest, bits 0 and 1.
    pub(crate) digests: u8,
}

/// Fatal error status of a C2HTermReq (transport specification, figure 29).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum FatalError {
    InvalidHeaderField = 0x01,
    Sequence = 0x02,
    OutOfRange = 0x04,
    LimitExceeded = 0x05,
    UnsupportedParameter = 0x06,
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub(crate) enum Malformed {
    /// The connection broke, or ended in the middle of a PDU.
    Io(io::Error),
    /// The host broke the protocol: what to tell it, the offset of the wrong field, and the header it sent.
    Protocol {
        error: FatalError,
        field: u32,
        header: Vec<u8>,
    },
}

impl Malformed {
    fn at(error: FatalError, field: u32, header: &[u8]) -> Self {
        Self::Protocol {
            error,
            field,
            header: header.to_vec(),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Protocol {
                error,
                field,
                header,
            } => {
                let kind = header.first().copied().unwrap_or_default();
                write!(
                    f,
                    "{error:?} at offset {field} of a PDU of type {kind:#04x}"
                )
            }
        }
    }
}

impl From<io::Error> for Malformed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads the first PDU of a connection; nothing if the host left without a word.
pub(crate) fn read_handshake(stream: &mut impl Read) -> Result<Option<Handshake>, Malformed> {
    let Some(header) = read_header(stream, |kind| (kind == kind::ICREQ).then_some(HANDSHAKE))?
    else {
        return Ok(None);
    };
    if le32(&header, 4) != u32::from(HANDSHAKE) {
        return Err(Malformed::at(FatalError::InvalidHeaderField, 4, &header));
    }
    // PDU format version: 0 is the only one.
    if le16(&header, 8) != 0 {
        return Err(Malformed::at(FatalError::UnsupportedParameter, 8, &header));
    }
    // More than 31 would put the data further off than a byte can say.
    if header[10] > 31 {
        return Err(Malformed::at(FatalError::UnsupportedParameter, 10, &header));
    }
    Ok(Some(Handshake {
        alignment: header[10],
        digests: header[11] & 0x03,
    }))
}

/// Reads the next PDU; nothing at the end of the stream.
pub(crate) fn read(stream: &mut impl Read) -> Result<Option<Incoming>, Malformed> {
    let expected = |kind| match kind {
        kind::COMMAND => Some(COMMAND),
        kind::H2C_DATA | kind::H2C_TERM => Some(DATA),
        _ => None,
    };
    let Some(header) = read_header(stream, expected)? else {
        return Ok(None);
    };
    match header[0] {
        kind::COMMAND => {
            let data = read_data(stream, &header, IN_CAPSULE)?;
            Ok(Some(Incoming::Command {
                entry: Entry::new(field(&header, COMMON)),
                data,
            }))
        }
        kind::H2C_DATA => {
            let data = read_data(stream, &header, H2C_DATA)?;
            if le32(&header, 16) != u32::try_from(data.len()).unwrap_or(u32::MAX) {
                return Err(Malformed::at(FatalError::InvalidHeaderField, 16, &header));
            }
            Ok(Some(Incoming::Data(HostData {
                cid: le16(&header, 8),
                tag: le16(&header, 10),
                offset: le32(&header, 12),
                last: header[1] & flag::LAST != 0,
                data,
            })))
        }
        // What remains is the host's termination; the header of ours that it quotes is not needed.
        _ => Ok(Some(Incoming::Terminate {
            reason: le16(&header, 8),
        })),
    }
}

/// Reads a PDU's header, whose length its kind decides; a kind without one is not allowed here.
fn read_header(
    stream: &mut impl Read,
    length: impl Fn(u8) -> Option<u8>,
) -> Result<Option<Vec<u8>>, Malformed> {
    let mut common = [0; COMMON];
    // The end of the stream between two PDUs is a host that left; within one it is an error.
    let first = loop {
        match stream.read(&mut common) {
            Ok(0) => return Ok(None),
            Ok(count) => break count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    };
    stream.read_exact(&mut common[first..])?;
    let Some(expected) = length(common[0]) else {
        return Err(Malformed::at(FatalError::Sequence, 0, &common));
    };
    // Digests were not agreed on.
    if common[1] & flag::DIGESTS != 0 {
        return Err(Malformed::at(FatalError::InvalidHeaderField, 1, &common));
    }
    if common[2] != expected {
        return Err(Malformed::at(FatalError::InvalidHeaderField, 2, &common));
    }
    if le32(&common, 4) < u32::from(expected) {
        return Err(Malformed::at(FatalError::InvalidHeaderField, 4, &common));
    }
    let mut header = common.to_vec();
    header.resize(expected.into(), 0);
    stream.read_exact(&mut header[COMMON..])?;
    Ok(Some(header))
}

/// Reads what follows a header up to the PDU's end: padding up to the data's offset, then the data.
fn read_data(stream: &mut impl Read, header: &[u8], limit: u32) -> Result<Vec<u8>, Malformed> {
    let [_, _, hlen, pdo, ..] = field::<COMMON>(header, 0);
    let rest = le32(header, 4) - u32::from(hlen);
    if rest == 0 {
        return Ok(Vec::new());
    }
    let Some(padding) = pdo.checked_sub(hlen) else {
        return Err(Malformed::at(FatalError::InvalidHeaderField, 3, header));
    };
    let Some(length) = rest.checked_sub(padding.into()) else {
        return Err(Malformed::at(FatalError::InvalidHeaderField, 3, header));
    };
    if length > limit {
        return Err(Malformed::at(FatalError::LimitExceeded, 4, header));
    }
    stream.read_exact(&mut vec![0; padding.into()])?;
    let mut data = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    stream.read_exact(&mut data)?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that gives one byte at a time.
    struct Dribble<'b>(&'b [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn command(pdo: u8, padding: usize, data: &[u8]) -> Vec<u8> {
        let mut pdu = vec![kind::COMMAND, 0, COMMAND, pdo];
        let length = usize::from(COMMAND) + padding + data.len();
        pdu.extend(u32::try_from(length).unwrap().to_le_bytes());
        pdu.extend([0x42; Entry::SIZE]);
        pdu.extend(vec![0; padding]);
        pdu.extend(data);
        pdu
    }

    fn protocol_error(stream: &[u8]) -> (FatalError, u32) {
        match read(&mut &stream[..]) {
            Err(Malformed::Protocol { error, field, .. }) => (error, field),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pdu_in_single_bytes_is_read_whole_and_so_is_the_next() {
        let mut stream = command(72, 0, b"data");
        stream.extend(command(0, 0, b""));
        let mut stream = Dribble(&stream);
        let Some(Incoming::Command { entry, data }) = read(&mut stream).unwrap() else {
            panic!()
        };
        assert_eq!((entry.opcode(), data.as_slice()), (0x42, &b"data"[..]));
        let Some(Incoming::Command { data, .. }) = read(&mut stream).unwrap() else {
            panic!()
        };
        assert!(data.is_empty());
        assert!(read(&mut stream).unwrap().is_none());
    }

    #[test]
    fn padding_before_the_data_is_skipped() {
        let stream = command(80, 8, b"data");
        let Some(Incoming::Command { data, .. }) = read(&mut &stream[..]).unwrap() else {
            panic!()
        };
        assert_eq!(data, b"data");
    }

    #[test]
    fn a_stream_that_ends_inside_a_pdu_is_broken() {
        let stream = command(72, 0, b"data");
        for end in [1, 8, 40, 74] {
            assert!(
                matches!(read(&mut &stream[..end]), Err(Malformed::Io(_))),
                "{end}"
            );
        }
    }

    #[test]
    fn wrong_headers_are_named_by_field() {
        let with = |at: usize, byte: u8| {
            let mut pdu = command(72, 0, b"data");
            pdu[at] = byte;
            pdu
        };
        assert_eq!(protocol_error(&with(0, 0x05)), (FatalError::Sequence, 0));
        assert_eq!(
            protocol_error(&with(1, 0x01)),
            (FatalError::InvalidHeaderField, 1)
        );
        assert_eq!(
            protocol_error(&with(2, 64)),
            (FatalError::InvalidHeaderField, 2)
        );
        assert_eq!(
            protocol_error(&with(3, 8)),
            (FatalError::InvalidHeaderField, 3)
        );
        assert_eq!(
            protocol_error(&with(3, 200)),
            (FatalError::InvalidHeaderField, 3)
        );
        assert_eq!(
            protocol_error(&with(4, 8)),
            (FatalError::InvalidHeaderField, 4)
        );
        assert_eq!(protocol_error(&with(6, 1)), (FatalError::LimitExceeded, 4));
    }

    #[test]
    fn a_handshake_must_be_of_the_known_version_and_come_first() {
        let mut icreq = vec![0; 128];
        icreq[2] = 128;
        icreq[4] = 128;
        icreq[11] = 3;
        let read = |bytes: &[u8]| read_handshake(&mut &bytes[..]);
        assert_eq!(
            read(&icreq).unwrap(),
            Some(Handshake {
                alignment: 0,
                digests: 3
            })
        );
        icreq[8] = 1;
        let Err(Malformed::Protocol { error, field, .. }) = read(&icreq) else {
            panic!()
        };
        assert_eq!((error, field), (FatalError::UnsupportedParameter, 8));
        let Err(Malformed::Protocol { error, .. }) = read(&command(72, 0, b"")) else {
            panic!()
        };
        assert_eq!(error, FatalError::Sequence);
        assert_eq!(read(b"").unwrap(), None);
    }
}
