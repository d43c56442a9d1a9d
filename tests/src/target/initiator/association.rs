//! A host's association with one controller, set up in the steps of the Linux driver.

use std::net::SocketAddr;
use std::time::Duration;

use super::queue::{Completion, Failure, Outgoing, Queue};
use super::submission::Submission;

/// Who the test host is.
#[derive(Debug, Clone, Copy)]
pub struct HostName<'n> {
    /// Its NQN.
    pub nqn: &'n str,
    /// Its identifier.
    pub id: [u8; 16],
}

impl Default for HostName<'_> {
    fn default() -> Self {
        Self {
            nqn: "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555",
            id: [0x11; 16],
        }
    }
}

/// An admin queue and what is known of its controller.
#[derive(Debug)]
pub struct Association {
    /// The admin queue.
    pub admin: Queue,
    /// The controller's number.
    pub cntlid: u16,
    address: SocketAddr,
    nqn: String,
    host: HostName<'static>,
}

/// A group of the ANA log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSeen {
    /// Its number.
    pub group: u32,
    /// Its state, as the log spells it.
    pub state: u8,
    /// Its namespaces.
    pub nsids: Vec<u32>,
}

impl Association {
    /// Handshake and Connect of the admin queue; the Connect's completion if it is not good.
    pub fn begin(address: SocketAddr, nqn: &str) -> Result<Result<Self, Completion>, Failure> {
        Self::begin_as(HostName::default(), address, nqn)
    }

    /// The same as another host.
    pub fn begin_as(
        host: HostName<'static>,
        address: SocketAddr,
        nqn: &str,
    ) -> Result<Result<Self, Completion>, Failure> {
        let mut admin = Queue::open(address)?;
        let data = connect_data(host, 0xffff, nqn);
        let done = admin.run(Submission::connect(0), Outgoing::InCapsule(&data))?;
        if done.status != 0 {
            return Ok(Err(done));
        }
        let cntlid = u16::try_from(done.result & 0xffff).unwrap_or_default();
        Ok(Ok(Self {
            admin,
            cntlid,
            address,
            nqn: nqn.to_owned(),
            host,
        }))
    }

    /// The whole way to a live controller: Connect, enable, identify, queues, events.
    pub fn live(address: SocketAddr, nqn: &str) -> Result<Self, Failure> {
        let mut association = Self::begin(address, nqn)?
            .map_err(|done| Failure::Wrong(format!("Connect: {:#x}", done.status)))?;
        association.enable()?;
        association.identify(0x01, 0)?;
        association.ana()?;
        association.good(
            Submission::set_feature(0x07, 0x0003_0003),
            Outgoing::Room(0),
        )?;
        association.good(Submission::set_feature(0x0b, 0x900), Outgoing::Room(0))?;
        Ok(association)
    }

    /// Reads CAP, enables the controller and waits until it is ready.
    pub fn enable(&mut self) -> Result<(), Failure> {
        self.good(Submission::property_get(0x00, true), Outgoing::Room(0))?;
        self.good(
            Submission::property_set(0x14, 0x0046_0001),
            Outgoing::Room(0),
        )?;
        let status = self.good(Submission::property_get(0x1c, false), Outgoing::Room(0))?;
        if status.result & 1 == 0 {
            return Err(Failure::Wrong(format!(
                "not ready: CSTS {:#x}",
                status.result
            )));
        }
        Ok(())
    }

    /// Runs a command of the admin queue that has to succeed.
    pub fn good(&mut self, command: Submission, data: Outgoing<'_>) -> Result<Completion, Failure> {
        let done = self.admin.run(command, data)?;
        if done.status != 0 {
            return Err(Failure::Wrong(format!(
                "{:02x?}: status {:#x}",
                command.0[0], done.status
            )));
        }
        Ok(done)
    }

    /// An Identify page.
    pub fn identify(&mut self, cns: u8, nsid: u32) -> Result<Vec<u8>, Failure> {
        Ok(self
            .good(Submission::identify(cns, nsid), Outgoing::Room(4096))?
            .data)
    }

    /// A part of a log.
    pub fn log(&mut self, log: u8, bytes: u32, offset: u64) -> Result<Vec<u8>, Failure> {
        Ok(self
            .good(Submission::log(log, bytes, offset), Outgoing::Room(bytes))?
            .data)
    }

    /// The numbers of the namespaces.
    pub fn namespaces(&mut self) -> Result<Vec<u32>, Failure> {
        let page = self.identify(0x02, 0)?;
        Ok(page
            .chunks_exact(4)
            .map(le32)
            .take_while(|nsid| *nsid != 0)
            .collect())
    }

    /// The ANA log, read whole.
    pub fn ana(&mut self) -> Result<Vec<GroupSeen>, Failure> {
        let log = self.log(0x0c, 16 + 32 * 32 + 4 * 1024, 0)?;
        let count = le32(&log[8..]) & 0xffff;
        let mut rest = &log[16..];
        let mut groups = Vec::new();
        for _ in 0..count {
            let (descriptor, after) = rest.split_at(32);
            let members = usize::try_from(le32(&descriptor[4..])).unwrap_or(usize::MAX);
            let (nsids, after) = after.split_at(4 * members);
            rest = after;
            groups.push(GroupSeen {
                group: le32(descriptor),
                state: descriptor[16],
                nsids: nsids.chunks_exact(4).map(le32).collect(),
            });
        }
        Ok(groups)
    }

    /// Parks an event request; its identifier.
    pub fn park(&mut self) -> Result<u16, Failure> {
        self.admin
            .submit(Submission::event_request(), Outgoing::Room(0))
    }

    /// Waits for the event that answers a parked request: dword 0.
    pub fn event(&mut self, parked: u16, limit: Duration) -> Result<u64, Failure> {
        self.admin.patience(limit)?;
        let told = self.admin.completion(parked);
        self.admin.patience(Duration::from_secs(5))?;
        told.map(|done| done.result)
    }

    /// Connects an I/O queue; the Connect's completion if it is not good.
    pub fn queue(&self, number: u16) -> Result<Result<Queue, Completion>, Failure> {
        let mut queue = Queue::open(self.address)?;
        let data = connect_data(self.host, self.cntlid, &self.nqn);
        let done = queue.run(Submission::connect(number), Outgoing::InCapsule(&data))?;
        Ok(if done.status == 0 {
            Ok(queue)
        } else {
            Err(done)
        })
    }
}

/// Connect's 1024 bytes.
pub(super) fn connect_data(host: HostName<'_>, cntlid: u16, nqn: &str) -> Vec<u8> {
    let mut data = vec![0; 1024];
    data[..16].copy_from_slice(&host.id);
    data[16..18].copy_from_slice(&cntlid.to_le_bytes());
    data[256..256 + nqn.len()].copy_from_slice(nqn.as_bytes());
    data[512..512 + host.nqn.len()].copy_from_slice(host.nqn.as_bytes());
    data
}

fn le32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
