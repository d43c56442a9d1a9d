//! Legs: ANA, membership, and the moment an I/O finds one unusable.

use aya_ebpf::{
    helpers::{bpf_get_current_pid_tgid, generated::bpf_ktime_get_ns},
    macros::{kprobe, kretprobe, map},
    maps::{LruHashMap, LruPerCpuHashMap},
    programs::{ProbeContext, RetProbeContext},
};
use pathwarden_ebpf::{
    AnaBody, AnaPendingBody, FailoverBody, Kind, LegBody, MAX_GROUP_NSIDS, bits, status,
};

use super::{
    emit::{now, record},
    kernel::{copy, fill_controller, offset, read_u32, read_u64, try_read},
};

/// Legs whose addition has begun, by thread. Least recently used: a return that the kernel did not report leaves no
/// entry behind for ever.
#[map]
static ADDING: LruHashMap<u64, u64> = LruHashMap::with_max_entries(256, 0);

/// `int nvme_update_ana_state(ctrl, desc, data)`: once for each group of a log that was read. Its states are stored
/// right after; an accessible one counts from [`set_live`] on.
#[kprobe]
pub fn update_ana(ctx: ProbeContext) -> u32 {
    let at = now();
    let pointer: u64 = ctx.arg(0).unwrap_or(0);
    let group: u64 = ctx.arg(1).unwrap_or(0);
    // struct nvme_ana_group_desc is the log page's wire format (NVM Express base specification, figure "ANA Group
    // Descriptor"): group id, number of namespaces, change count, state, namespace ids.
    let count: u32 = try_read(group, 4).unwrap_or(0);
    if count == 0 {
        return 0;
    }
    debug_line!(
        &ctx,
        "controller {:x}: an ANA group of {} namespaces",
        pointer,
        count
    );
    let held = if count > MAX_GROUP_NSIDS as u32 {
        MAX_GROUP_NSIDS as u32
    } else {
        count
    };
    record::<AnaBody>(Kind::Ana, at, |body| unsafe {
        fill_controller(&raw mut (*body).controller, pointer);
        (*body).group = read_u32(group, 0);
        (*body).state = (try_read::<u8>(group, 16).unwrap_or(0) & 0x0f) as u32;
        (*body).nsid_count = count;
        (*body).nsids_held = held;
        (*body).nsids = [0; MAX_GROUP_NSIDS];
        copy((&raw mut (*body).nsids).cast(), group + 32, held * 4);
    });
    0
}

/// `void nvme_mpath_set_live(ns)`: the accessible state is stored and the leg's controller is live. The first of a head
/// gives it its disk.
#[kprobe]
pub fn mpath_set_live(ctx: ProbeContext) -> u32 {
    let at = now();
    let ns: u64 = ctx.arg(0).unwrap_or(0);
    leg(Kind::LegLive, at, ns);
    let head = read_u64(ns, offset::NS_HEAD());
    if head != 0 && !has_disk(head) {
        super::head::head(Kind::HeadAdded, at, head);
    }
    0
}

/// What failed over on one leg and was not told yet. One for each CPU, so that nothing is counted twice or missed.
#[repr(C)]
#[derive(Clone, Copy)]
struct Failovers {
    told_ns: u64,
    oldest_ns: u64,
    count: u64,
}

#[map]
static FAILOVERS: LruPerCpuHashMap<u64, Failovers> = LruPerCpuHashMap::with_max_entries(4096, 0);

/// How long failovers of a leg are taken together: a storm of them is thousands in a second.
const FAILOVER_SPAN_NS: u64 = 100_000_000;

/// `void nvme_failover_req(request)`: an I/O failed with a path error. The first ANA status of a leg is an event of its
/// own: it makes the kernel stop routing there; later ones find the flag set.
#[kprobe]
pub fn failover_req(ctx: ProbeContext) -> u32 {
    let at = now();
    let request: u64 = ctx.arg(0).unwrap_or(0);
    // nvme_request stands behind the request it belongs to (blk_mq_rq_to_pdu).
    let pdu = request + offset::REQUEST_SIZE() as u64;
    let code: u16 = try_read(pdu, offset::REQUEST_STATUS()).unwrap_or(0);
    let queue = read_u64(request, offset::REQUEST_Q());
    let ns = read_u64(queue, offset::QUEUE_QUEUEDATA());
    if ns == 0 {
        return 0;
    }
    if status::is_ana(code) {
        ana_pending(at, ns, code);
    }
    failed_over(at, ns, code, sent_at(request, at));
    0
}

#[inline(always)]
fn ana_pending(at: u64, ns: u64, code: u16) {
    let ctrl = read_u64(ns, offset::NS_CTRL());
    let pending = read_u64(ns, offset::NS_FLAGS()) & (1 << bits::NS_ANA_PENDING) != 0;
    if pending || read_u64(ctrl, offset::CTRL_ANA_LOG_BUF()) == 0 {
        return;
    }
    record::<AnaPendingBody>(Kind::AnaPending, at, |body| unsafe {
        fill_leg(&raw mut (*body).leg, ns);
        (*body).status = code as u32;
        (*body).reserved = 0;
    });
}

#[inline(always)]
fn failed_over(at: u64, ns: u64, code: u16, sent_ns: u64) {
    let Some(failovers) = FAILOVERS.get_ptr_mut(&ns) else {
        let first = Failovers {
            told_ns: at,
            oldest_ns: 0,
            count: 0,
        };
        // A full map costs the count of those that are taken together, not the first of them.
        let _ = FAILOVERS.insert(&ns, &first, 0);
        tell_failovers(at, ns, code, 1, sent_ns);
        return;
    };
    unsafe {
        (*failovers).count += 1;
        let oldest = (*failovers).oldest_ns;
        if sent_ns != 0 && (oldest == 0 || sent_ns < oldest) {
            (*failovers).oldest_ns = sent_ns;
        }
        if at - (*failovers).told_ns >= FAILOVER_SPAN_NS {
            let (count, oldest) = ((*failovers).count, (*failovers).oldest_ns);
            (*failovers).told_ns = at;
            (*failovers).oldest_ns = 0;
            (*failovers).count = 0;
            tell_failovers(at, ns, code, count, oldest);
        }
    }
}

#[inline(always)]
fn tell_failovers(at: u64, ns: u64, code: u16, count: u64, oldest_ns: u64) {
    record::<FailoverBody>(Kind::Failover, at, |body| unsafe {
        fill_leg(&raw mut (*body).leg, ns);
        (*body).status = code as u32;
        (*body).count = count as u32;
        (*body).oldest_ns = oldest_ns;
        (*body).reserved = 0;
    });
}

/// When an I/O was sent, on the boot clock; the block layer stamps requests with the monotonic one. 0 for one without.
#[inline(always)]
fn sent_at(request: u64, at: u64) -> u64 {
    let sent = read_u64(request, offset::REQUEST_START());
    let monotonic = unsafe { bpf_ktime_get_ns() };
    if sent == 0 || sent > monotonic || monotonic - sent > at {
        return 0;
    }
    at - (monotonic - sent)
}

#[inline(always)]
fn has_disk(head: u64) -> bool {
    read_u64(head, offset::HEAD_FLAGS()) & (1 << bits::HEAD_DISK_LIVE) != 0
}

/// `void nvme_mpath_add_disk(ns, anagrpid)`, entry: remembers the leg for [`add_disk_return`].
#[kprobe]
pub fn add_disk(ctx: ProbeContext) -> u32 {
    let ns: u64 = ctx.arg(0).unwrap_or(0);
    // A full map is no loss: the leg is then found by the next audit.
    let _ = ADDING.insert(&bpf_get_current_pid_tgid(), &ns, 0);
    0
}

/// Its return: ANA state and flags of the new leg are what they will be.
#[kretprobe]
pub fn add_disk_return(_: RetProbeContext) -> u32 {
    let at = now();
    let thread = bpf_get_current_pid_tgid();
    let Some(ns) = ADDING.get_ptr(&thread).map(|ns| unsafe { *ns }) else {
        return 0;
    };
    let _ = ADDING.remove(&thread);
    leg(Kind::LegAdded, at, ns);
    0
}

/// `void nvme_ns_remove(ns)`, entry: the leg is about to become not ready and leave the head's list.
#[kprobe]
pub fn ns_remove(ctx: ProbeContext) -> u32 {
    let at = now();
    leg(Kind::LegRemoved, at, ctx.arg(0).unwrap_or(0));
    0
}

/// One record with all of a leg's words.
#[inline(always)]
pub fn leg(kind: Kind, at: u64, ns: u64) {
    record::<LegBody>(kind, at, |body| unsafe { fill_leg(body, ns) });
}

#[inline(always)]
unsafe fn fill_leg(body: *mut LegBody, ns: u64) {
    let ctrl = read_u64(ns, offset::NS_CTRL());
    let head = read_u64(ns, offset::NS_HEAD());
    unsafe {
        fill_controller(&raw mut (*body).controller, ctrl);
        (*body).pointer = ns;
        (*body).flags = read_u64(ns, offset::NS_FLAGS());
        (*body).head_flags = read_u64(head, offset::HEAD_FLAGS());
        (*body).uuid = [0; 16];
        let ids = offset::HEAD_IDS() as u64 + offset::IDS_UUID() as u64;
        copy((&raw mut (*body).uuid).cast(), head + ids, 16);
        (*body).nsid = read_u32(head, offset::HEAD_NS_ID());
        (*body).ana_state = read_u32(ns, offset::NS_ANA_STATE());
        (*body).group = read_u32(ns, offset::NS_ANA_GRPID());
        (*body).head_instance = read_u32(head, offset::HEAD_INSTANCE()) as i32;
        let mut traits = 0;
        if read_u64(ctrl, offset::CTRL_ANA_LOG_BUF()) != 0 {
            traits |= LegBody::HAS_ANA;
        }
        if read_u64(head, offset::HEAD_DISK()) != 0 {
            traits |= LegBody::MULTIPATH;
        }
        (*body).traits = traits;
        let subsystem = read_u64(ctrl, offset::CTRL_SUBSYS());
        (*body).subsystem_instance = try_read(subsystem, offset::SUBSYS_INSTANCE()).unwrap_or(-1);
    }
}
