//! The words as they are, asked for by the agent: it reads a sysfs file, the kernel's show function gets the object,
//! and the record is written from that. No list of the kernel's is walked, and the answer stands in the same ring, on
//! the same clock, as the events around it.

use aya_ebpf::{
    bindings::bpf_pidns_info, helpers::generated::bpf_get_ns_current_pid_tgid, macros::kprobe,
    programs::ProbeContext,
};
use pathwarden_ebpf::Kind;

use super::{
    controller::identity,
    emit::now,
    kernel::{offset, read_u64},
    leg::leg,
};

/// The agent's thread group, as its own pid namespace numbers it; 0: no snapshots.
#[unsafe(no_mangle)]
static AGENT_TGID: u32 = 0;
/// Device and inode of that pid namespace (a pod has its own).
#[unsafe(no_mangle)]
static AGENT_PIDNS_DEVICE: u64 = 0;
#[unsafe(no_mangle)]
static AGENT_PIDNS_INODE: u64 = 0;

/// `ssize_t ana_state_show(dev, attr, buf)` of a leg's disk.
#[kprobe]
pub fn show_ana_state(ctx: ProbeContext) -> u32 {
    let at = now();
    if !asked_by_agent() {
        return 0;
    }
    let device: u64 = ctx.arg(0).unwrap_or(0);
    // The device is a member of its block_device (dev_to_bdev).
    let bdev = device - offset::BDEV_DEVICE() as u64;
    let disk = read_u64(bdev, offset::BDEV_DISK());
    let ns = read_u64(disk, offset::DISK_PRIVATE_DATA());
    leg(Kind::LegSnapshot, at, ns);
    0
}

/// `ssize_t nvme_sysfs_show_state(dev, attr, buf)` of a controller.
#[kprobe]
pub fn show_state(ctx: ProbeContext) -> u32 {
    let at = now();
    if asked_by_agent() {
        let device: u64 = ctx.arg(0).unwrap_or(0);
        identity(at, read_u64(device, offset::DEVICE_DRIVER_DATA()));
    }
    0
}

#[inline(always)]
fn asked_by_agent() -> bool {
    let (tgid, device, inode) = unsafe {
        (
            core::ptr::read_volatile(&raw const AGENT_TGID),
            core::ptr::read_volatile(&raw const AGENT_PIDNS_DEVICE),
            core::ptr::read_volatile(&raw const AGENT_PIDNS_INODE),
        )
    };
    let mut ids = bpf_pidns_info { pid: 0, tgid: 0 };
    let size = size_of::<bpf_pidns_info>() as u32;
    let found = unsafe { bpf_get_ns_current_pid_tgid(device, inode, &raw mut ids, size) };
    found == 0 && tgid != 0 && ids.tgid == tgid
}
