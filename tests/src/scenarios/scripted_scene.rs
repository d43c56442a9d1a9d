//! The scripted target beside a kernel host: two ports of one subsystem in the guest's own process, and direct I/O on its
//! volumes.

use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::OFlags;

use crate::lab::host::{Controller, Endpoint, Head, Host};
use crate::lab::target::SERVICE;
use crate::lab::wait::{self, Look};
use crate::target::{ExportPlan, NamespacePlan, Plan, PortPlan, SubsystemPlan, Target};

/// The subsystem.
pub(super) const NQN: &str = "nqn.2023-02.io.simplyblock:lab:scripted:a";
/// The namespace that both ports serve.
pub(super) const SHARED: u32 = 1;
/// A namespace that only the first port serves.
pub(super) const ALONE: u32 = 2;

/// How long the host may take for what it does in milliseconds on a real processor.
pub(super) const SOON: Duration = Duration::from_secs(10);

/// A target whose first port serves both namespaces and whose second is as `second` says.
pub(super) fn target(second: ExportPlan) -> Result<Target> {
    let ports = [(2, ExportPlan::new(NQN)), (3, second)];
    let ports = ports.map(|(last, export)| (Ipv4Addr::new(127, 0, 0, last), export));
    serving(&[SHARED, ALONE], ports)
}

/// A target of these namespaces whose ports, at these addresses, serve what they are told to.
pub(super) fn serving(
    nsids: &[u32],
    ports: impl IntoIterator<Item = (Ipv4Addr, ExportPlan)>,
) -> Result<Target> {
    let namespaces = nsids.iter().copied().map(NamespacePlan::new);
    let subsystem = namespaces.fold(SubsystemPlan::new(NQN), SubsystemPlan::namespace);
    let plan = Plan::new().subsystem(subsystem);
    let plan = ports.into_iter().fold(plan, |plan, (address, export)| {
        plan.port(PortPlan::new((address, SERVICE).into()).export(export))
    });
    Target::start(&plan)
}

/// Where a port of the target is for the host.
pub(super) fn endpoint(target: &Target, port: usize) -> Result<Endpoint> {
    let SocketAddr::V4(address) = target.port(port).address() else {
        bail!("port {port} is not on IPv4");
    };
    Ok(Endpoint {
        nqn: NQN.to_owned(),
        traddr: *address.ip(),
        trsvcid: address.port(),
    })
}

/// Connects to a port of the target.
pub(super) fn connect(host: &Host, target: &Target, port: usize) -> Result<Controller> {
    host.connect(endpoint(target, port)?)
}

/// Waits until a leg is as wanted: in an ANA state, or not there.
pub(super) fn wait_for_leg(controller: &Controller, nsid: u32, wanted: Option<&str>) -> Result<()> {
    let what = format!(
        "the leg of {} to namespace {nsid} to be {wanted:?}",
        controller.name
    );
    wait::until(&what, SOON, || {
        let seen = controller.leg(nsid)?;
        Ok(if seen.as_deref() == wanted {
            Look::Seen(())
        } else {
            Look::NotYet(format!("{seen:?}"))
        })
    })
}

/// A volume under direct I/O.
#[derive(Debug)]
pub(super) struct Volume(File);

impl Volume {
    /// Opens the device of a head.
    pub(super) fn open(head: &Head) -> Result<Self> {
        let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(direct);
        let opened = options.open(&head.device);
        opened
            .map(Self)
            .with_context(|| format!("open {}", head.device.display()))
    }

    /// Writes so many bytes at an offset, and reads the same back.
    pub(super) fn write_and_verify(&self, offset: u64, length: usize, seed: u8) -> Result<()> {
        let mut buffer = Buffer::new(length);
        let pattern: Vec<u8> = (0..=250).cycle().skip(seed.into()).take(length).collect();
        buffer.bytes_mut().copy_from_slice(&pattern);
        let what = || format!("{length} bytes at {offset}");
        self.0
            .write_all_at(buffer.bytes_mut(), offset)
            .with_context(|| format!("write {}", what()))?;
        buffer.bytes_mut().fill(0xff);
        self.0
            .read_exact_at(buffer.bytes_mut(), offset)
            .with_context(|| format!("read {}", what()))?;
        ensure!(
            buffer.bytes_mut() == pattern,
            "{}: read something else than written",
            what()
        );
        Ok(())
    }

    /// Asks the device to make everything durable.
    pub(super) fn flush(&self) -> Result<()> {
        self.0.sync_all().context("flush")
    }
}

/// Memory that direct I/O accepts.
struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    const ALIGNMENT: usize = 4096;

    fn new(length: usize) -> Self {
        let memory = vec![0; length + Self::ALIGNMENT];
        let start = memory.as_ptr().align_offset(Self::ALIGNMENT);
        Self {
            memory,
            start,
            length,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}
