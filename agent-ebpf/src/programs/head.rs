//! Heads: the multipath disks, and the I/O that is sent to them while there is no leg to send it over.

use aya_ebpf::{
    macros::{kprobe, map},
    maps::PerCpuHashMap,
    programs::ProbeContext,
};
use pathwarden_ebpf::{HeadBody, Kind, bits};

use super::{
    emit::{now, record},
    kernel::{copy, copy_text_at, offset, read_u32, read_u64, try_read},
};

/// `void nvme_mpath_shutdown_disk(head)`, in newer kernels `nvme_remove_head(head)`: the disk goes, and with it the I/O
/// that was held. Called as well for heads that have none.
#[kprobe]
pub fn head_gone(ctx: ProbeContext) -> u32 {
    let at = now();
    let pointer: u64 = ctx.arg(0).unwrap_or(0);
    if read_u64(pointer, offset::HEAD_FLAGS()) & (1 << bits::HEAD_DISK_LIVE) != 0 {
        head(Kind::HeadRemoved, at, pointer);
    }
    0
}

/// Submissions to each head, by the two numbers in its name.
#[map]
static SUBMITTED: PerCpuHashMap<u64, u64> = PerCpuHashMap::with_max_entries(1024, 0);

/// `void nvme_ns_head_submit_bio(bio)`: every I/O. Attached only while a window is open.
#[kprobe]
pub fn head_submit_bio(ctx: ProbeContext) -> u32 {
    let bio: u64 = ctx.arg(0).unwrap_or(0);
    let bdev = read_u64(bio, offset::BIO_BDEV());
    let disk = read_u64(bdev, offset::BDEV_DISK());
    let head = read_u64(disk, offset::DISK_PRIVATE_DATA());
    let subsystem = read_u64(head, offset::HEAD_SUBSYS());
    let (Some(owner), Some(own)) = (
        try_read::<u32>(subsystem, offset::SUBSYS_INSTANCE()),
        try_read::<u32>(head, offset::HEAD_INSTANCE()),
    ) else {
        return 0;
    };
    let name = (owner as u64) << 32 | own as u64;
    match SUBMITTED.get_ptr_mut(&name) {
        Some(count) => unsafe { *count += 1 },
        // A full map: these are then not counted, and the count is told as inexact anyhow.
        None => {
            let _ = SUBMITTED.insert(&name, &1, 0);
        }
    }
    0
}

/// One record with what tells a head from others.
#[inline(always)]
pub fn head(kind: Kind, at: u64, pointer: u64) {
    record::<HeadBody>(kind, at, |body| unsafe {
        (*body).pointer = pointer;
        (*body).flags = read_u64(pointer, offset::HEAD_FLAGS());
        let subsystem = read_u64(pointer, offset::HEAD_SUBSYS());
        let nqn = match subsystem {
            0 => 0,
            subsystem => subsystem + offset::SUBSYS_SUBNQN() as u64,
        };
        copy_text_at(&raw mut (*body).nqn, nqn);
        (*body).uuid = [0; 16];
        let ids = offset::HEAD_IDS() as u64 + offset::IDS_UUID() as u64;
        copy((&raw mut (*body).uuid).cast(), pointer + ids, 16);
        (*body).nsid = read_u32(pointer, offset::HEAD_NS_ID());
        (*body).instance = read_u32(pointer, offset::HEAD_INSTANCE()) as i32;
        let disk = read_u64(pointer, offset::HEAD_DISK());
        let whole = read_u64(disk, offset::DISK_PART0());
        (*body).openers = try_read(whole, offset::BDEV_OPENERS()).unwrap_or(-1);
        (*body).reserved = 0;
    });
}
