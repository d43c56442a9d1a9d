//! Bytes on the wire: the PDUs of NVMe/TCP (transport specification 1.0, 3.6) and the queue entries inside them.
//!
//! Nothing here knows what a command means. Structures are read and written by the offsets of the specification.

pub(crate) mod bytes;
mod entry;
mod pdu;
mod reply;

pub(crate) use entry::{Completion, DataPointer, Entry};
pub(crate) use pdu::{FatalError, Handshake, HostData, Incoming, Malformed, read, read_handshake};
pub(crate) use reply::{Alignment, c2h_data, c2h_term, icresp, r2t, response};

/// PDU types (transport specification, figure 22).
mod kind {
    pub(super) const ICREQ: u8 = 0x00;
    pub(super) const ICRESP: u8 = 0x01;
    pub(super) const H2C_TERM: u8 = 0x02;
    pub(super) const C2H_TERM: u8 = 0x03;
    pub(super) const COMMAND: u8 = 0x04;
    pub(super) const RESPONSE: u8 = 0x05;
    pub(super) const H2C_DATA: u8 = 0x06;
    pub(super) const C2H_DATA: u8 = 0x07;
    pub(super) const R2T: u8 = 0x09;
}

/// PDU flags: digests follow, last PDU of a transfer.
mod flag {
    pub(super) const DIGESTS: u8 = 0x03;
    pub(super) const LAST: u8 = 0x04;
}
