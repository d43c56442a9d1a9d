//! One connection of the test host.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::submission::Submission;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection, and what is under way on it.
#[derive(Debug)]
pub struct Queue {
    stream: TcpStream,
    last_cid: u16,
    /// Data of writes that wait for an R2T.
    outgoing: HashMap<u16, Vec<u8>>,
    /// Data of reads whose completion has not come.
    incoming: HashMap<u16, Vec<u8>>,
    /// Completions that nobody asked for yet.
    completions: Vec<Completion>,
    /// MAXH2CDATA, from the handshake.
    chunk: usize,
    /// R2Ts served.
    pub r2ts: u32,
}

/// Where a command's data is.
#[derive(Debug, Clone, Copy)]
pub enum Outgoing<'d> {
    /// It has none, or room for so many bytes from the controller.
    Room(u32),
    /// In the capsule.
    InCapsule(&'d [u8]),
    /// To be asked for by R2T.
    OnRequest(&'d [u8]),
}

/// A completion and the data that came before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The command's identifier.
    pub cid: u16,
    /// Status, the phase bit shifted out.
    pub status: u16,
    /// Dwords 0 and 1.
    pub result: u64,
    /// The submission queue's head.
    pub head: u16,
    /// The queue's number.
    pub queue: u16,
    /// Data from the controller.
    pub data: Vec<u8>,
}

/// What came instead of an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing, for as long as was waited.
    Silence,
    /// The end of the connection.
    Closed,
    /// The target gave up on the connection: fatal error status and information.
    Terminated(u16, u32),
    /// Something the protocol does not allow, or another error of the connection.
    Wrong(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence => f.write_str("the target does not answer"),
            Self::Closed => f.write_str("the target closed the connection"),
            Self::Terminated(status, field) => {
                write!(
                    f,
                    "the target terminated the connection: {status:#x} at {field}"
                )
            }
            Self::Wrong(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silence,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Wrong(error.to_string()),
        }
    }
}

impl Queue {
    /// Connects the stream; no handshake yet.
    pub fn dial(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            last_cid: 0,
            outgoing: HashMap::new(),
            incoming: HashMap::new(),
            completions: Vec::new(),
            chunk: 0,
            r2ts: 0,
        })
    }

    /// Connects and shakes hands.
    pub fn open(address: SocketAddr) -> Result<Self, Failure> {
        let mut queue = Self::dial(address)?;
        queue.handshake(0, 0)?;
        Ok(queue)
    }

    /// How long to wait for an answer from now on.
    pub fn patience(&self, limit: Duration) -> Result<(), Failure> {
        Ok(self.stream.set_read_timeout(Some(limit))?)
    }

    /// Asks for an alignment of data (dwords, 0's based) and for digests; the ICResp.
    pub fn handshake(&mut self, alignment: u8, digests: u8) -> Result<Vec<u8>, Failure> {
        let mut icreq = [0; 128];
        icreq[2] = 128;
        icreq[4] = 128;
        icreq[10] = alignment;
        icreq[11] = digests;
        self.raw(&icreq)?;
        let (header, _) = self.pdu()?;
        if header[0] != 0x01 || header.len() != 128 {
            return Err(Failure::Wrong(format!("no ICResp: {header:?}")));
        }
        self.chunk = usize::try_from(u32_at(&header, 12)).unwrap_or(usize::MAX);
        Ok(header)
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Sends a command; its identifier.
    pub fn submit(&mut self, command: Submission, data: Outgoing<'_>) -> Result<u16, Failure> {
        self.last_cid = self.last_cid.wrapping_add(1);
        let cid = self.last_cid;
        let (pointer, capsule) = match data {
            Outgoing::Room(length) => (descriptor(0x5a, length), &[][..]),
            Outgoing::InCapsule(data) => (descriptor(0x01, length(data)), data),
            Outgoing::OnRequest(data) => {
                self.outgoing.insert(cid, data.to_vec());
                (descriptor(0x5a, length(data)), &[][..])
            }
        };
        // FUSE and PSDT, byte 1: SGLs are used.
        let entry = command
            .set(1, &[0x40])
            .set(2, &cid.to_le_bytes())
            .set(24, &pointer);
        let mut pdu = vec![0x04, 0, 72, if capsule.is_empty() { 0 } else { 72 }];
        pdu.extend((72 + length(capsule)).to_le_bytes());
        pdu.extend(entry.0);
        pdu.extend(capsule);
        self.raw(&pdu)?;
        Ok(cid)
    }

    /// Sends a command and waits for its completion.
    pub fn run(&mut self, command: Submission, data: Outgoing<'_>) -> Result<Completion, Failure> {
        let cid = self.submit(command, data)?;
        self.completion(cid)
    }

    /// Waits for a command's completion; others that come are kept.
    pub fn completion(&mut self, cid: u16) -> Result<Completion, Failure> {
        loop {
            if let Some(at) = self.completions.iter().position(|found| found.cid == cid) {
                return Ok(self.completions.swap_remove(at));
            }
            self.step()?;
        }
    }

    /// Waits for the end of the connection; what comes before is forgotten.
    pub fn end(&mut self) -> Failure {
        loop {
            if let Err(failure) = self.step() {
                return failure;
            }
        }
    }

    /// Reads one PDU and does what it asks for.
    fn step(&mut self) -> Result<(), Failure> {
        let (header, data) = self.pdu()?;
        let cid = u16_at(&header, 8);
        match header[0] {
            0x03 => return Err(Failure::Terminated(cid, u32_at(&header, 10))),
            0x05 => {
                let cid = u16_at(&header, 20);
                self.outgoing.remove(&cid);
                self.completions.push(Completion {
                    cid,
                    status: u16_at(&header, 22) >> 1,
                    result: u64::from(u32_at(&header, 8)) | u64::from(u32_at(&header, 12)) << 32,
                    head: u16_at(&header, 16),
                    queue: u16_at(&header, 18),
                    data: self.incoming.remove(&cid).unwrap_or_default(),
                });
            }
            0x07 => {
                let so_far = self.incoming.entry(cid).or_default();
                let offset = usize::try_from(u32_at(&header, 12)).unwrap_or(usize::MAX);
                if offset != so_far.len() || u32_at(&header, 16) != length(&data) {
                    return Err(Failure::Wrong(format!("data out of place: {header:?}")));
                }
                so_far.extend(data);
            }
            0x09 => self.serve_r2t(&header)?,
            other => return Err(Failure::Wrong(format!("a PDU of type {other:#04x}"))),
        }
        Ok(())
    }

    fn serve_r2t(&mut self, header: &[u8]) -> Result<(), Failure> {
        self.r2ts += 1;
        let (cid, tag) = (u16_at(header, 8), u16_at(header, 10));
        let at = |at| usize::try_from(u32_at(header, at)).unwrap_or(usize::MAX);
        let (start, count) = (at(12), at(16));
        let data = self
            .outgoing
            .get(&cid)
            .and_then(|data| data.get(start..start + count));
        let Some(data) = data.map(<[u8]>::to_vec) else {
            return Err(Failure::Wrong(format!(
                "R2T for what was not offered: {header:?}"
            )));
        };
        let mut sent = 0;
        for part in data.chunks(self.chunk) {
            let last = sent + part.len() == data.len();
            let mut pdu = vec![0x06, if last { 0x04 } else { 0 }, 24, 24];
            pdu.extend((24 + length(part)).to_le_bytes());
            pdu.extend(cid.to_le_bytes());
            pdu.extend(tag.to_le_bytes());
            pdu.extend(
                u32::try_from(start + sent)
                    .unwrap_or(u32::MAX)
                    .to_le_bytes(),
            );
            pdu.extend(length(part).to_le_bytes());
            pdu.extend([0; 4]);
            pdu.extend(part);
            self.raw(&pdu)?;
            sent += part.len();
        }
        Ok(())
    }

    /// One PDU from the target: its header and its data.
    fn pdu(&mut self) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        let mut common = [0; 8];
        self.stream.read_exact(&mut common)?;
        let [_, _, hlen, pdo, ..] = common;
        let total = usize::try_from(u32_at(&common, 4)).unwrap_or(usize::MAX);
        if hlen < 8 || total < hlen.into() {
            return Err(Failure::Wrong(format!(
                "a header of wrong lengths: {common:?}"
            )));
        }
        let mut pdu = common.to_vec();
        pdu.resize(total, 0);
        self.stream.read_exact(&mut pdu[8..])?;
        let data = pdu.split_off(usize::from(pdo.max(hlen)).min(total));
        pdu.truncate(hlen.into());
        Ok((pdu, data))
    }
}

/// An SGL descriptor: address 0, so long, of this type.
fn descriptor(kind: u8, length: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[8..12].copy_from_slice(&length.to_le_bytes());
    bytes[15] = kind;
    bytes
}

fn length(data: &[u8]) -> u32 {
    u32::try_from(data.len()).unwrap_or(u32::MAX)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
