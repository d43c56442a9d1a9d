//! PDUs to the host.

use super::bytes::{length, put};
use super::entry::Completion;
use super::pdu::{FatalError, Malformed};
use super::{flag, kind};
use crate::target::limits::H2C_DATA;

/// Where the host wants the data of C2HData PDUs to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alignment(u8);

impl Alignment {
    /// From an ICReq's HPDA: dwords, 0's based, 31 at most.
    pub(crate) fn from_dwords(zero_based: u8) -> Self {
        Self((zero_based.min(31) + 1) * 4)
    }

    fn data_offset(self, header: u8) -> u8 {
        header.next_multiple_of(self.0)
    }
}

/// The answer to the handshake: no digests, no alignment wish, data PDUs of [`H2C_DATA`].
pub(crate) fn icresp() -> Vec<u8> {
    let mut pdu = header(kind::ICRESP, 0, 128, 0, 0);
    put(&mut pdu, 12, &H2C_DATA.to_le_bytes());
    pdu
}

/// A command's completion.
pub(crate) fn response(completion: &Completion) -> Vec<u8> {
    let mut pdu = header(kind::RESPONSE, 0, 24, 0, 0);
    put(&mut pdu, 8, &completion.bytes());
    pdu
}

/// A command's data, all of it in one PDU. The completion follows in a PDU of its own.
pub(crate) fn c2h_data(cid: u16, data: &[u8], alignment: Alignment) -> Vec<u8> {
    let offset = alignment.data_offset(24);
    let padding = offset - 24;
    let mut pdu = header(
        kind::C2H_DATA,
        flag::LAST,
        24,
        offset,
        u32::from(padding) + length(data),
    );
    put(&mut pdu, 8, &cid.to_le_bytes());
    put(&mut pdu, 16, &length(data).to_le_bytes());
    pdu.extend(std::iter::repeat_n(0, padding.into()));
    pdu.extend_from_slice(data);
    pdu
}

/// Asks for a command's data, all of it.
pub(crate) fn r2t(cid: u16, tag: u16, bytes: u32) -> Vec<u8> {
    let mut pdu = header(kind::R2T, 0, 24, 0, 0);
    put(&mut pdu, 8, &cid.to_le_bytes());
    put(&mut pdu, 10, &tag.to_le_bytes());
    put(&mut pdu, 16, &bytes.to_le_bytes());
    pdu
}

/// Gives up on a connection whose host broke the protocol; nothing if the connection itself broke.
pub(crate) fn c2h_term(reason: &Malformed) -> Option<Vec<u8>> {
    let Malformed::Protocol {
        error,
        field,
        header: quoted,
    } = reason
    else {
        return None;
    };
    let mut pdu = header(kind::C2H_TERM, 0, 24, 0, length(quoted));
    put(&mut pdu, 8, &code(*error).to_le_bytes());
    put(&mut pdu, 10, &field.to_le_bytes());
    pdu.extend_from_slice(quoted);
    Some(pdu)
}

fn code(error: FatalError) -> u16 {
    error as u16
}

/// A header of `hlen` bytes, zero after the common part, for a PDU with `payload` bytes behind it.
fn header(kind: u8, flags: u8, hlen: u8, pdo: u8, payload: u32) -> Vec<u8> {
    let mut pdu = vec![0; hlen.into()];
    put(&mut pdu, 0, &[kind, flags, hlen, pdo]);
    put(&mut pdu, 4, &(u32::from(hlen) + payload).to_le_bytes());
    pdu
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_begins_where_the_host_wants_it() {
        let plain = c2h_data(7, b"abcd", Alignment::from_dwords(0));
        assert_eq!(plain[..8], [0x07, 0x04, 24, 24, 28, 0, 0, 0]);
        assert_eq!(plain[24..], *b"abcd");
        let aligned = c2h_data(7, b"abcd", Alignment::from_dwords(15));
        assert_eq!(aligned[..8], [0x07, 0x04, 24, 64, 68, 0, 0, 0]);
        assert_eq!(aligned[16..20], [4, 0, 0, 0]);
        assert_eq!(aligned[64..], *b"abcd");
        assert_eq!(c2h_data(7, b"", Alignment::from_dwords(31))[3], 128);
    }

    #[test]
    fn a_termination_quotes_the_header_it_is_about() {
        let reason = Malformed::Protocol {
            error: FatalError::Sequence,
            field: 0x0102,
            header: vec![9; 8],
        };
        let pdu = c2h_term(&reason).unwrap();
        assert_eq!(pdu[..8], [0x03, 0, 24, 0, 32, 0, 0, 0]);
        assert_eq!(pdu[8..14], [0x02, 0, 0x02, 0x01, 0, 0]);
        assert_eq!(pdu[24..], [9; 8]);
    }

    #[test]
    fn the_handshake_is_answered_without_digests() {
        let pdu = icresp();
        assert_eq!(pdu[..12], [0x01, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(pdu[12..16], H2C_DATA.to_le_bytes());
        assert_eq!(pdu.len(), 128);
    }
}
