//! What connects and reconnects come to.

use aya_ebpf::{
    helpers::bpf_get_current_pid_tgid,
    macros::{kprobe, kretprobe, map},
    maps::LruHashMap,
    programs::{ProbeContext, RetProbeContext},
};
use pathwarden_ebpf::{ConnectBody, Kind, NO_STATUS, ReconnectBody};

use super::{
    emit::{now, record},
    kernel::{fill_controller, offset, read_u32, read_u64},
};

/// Whether `nvmf_should_reconnect` of this kernel is given the status (since 6.10; backported by some): filled in from
/// its prototype. Where it is not, the register holds something else.
#[unsafe(no_mangle)]
static RECONNECT_HAS_STATUS: u32 = 0;

/// Controllers inside `nvmf_connect_admin_queue`, by thread.
#[map]
static CONNECTING: LruHashMap<u64, u64> = LruHashMap::with_max_entries(1024, 0);

/// `int nvmf_connect_admin_queue(ctrl)`, entry.
#[kprobe]
pub fn connect(ctx: ProbeContext) -> u32 {
    let ctrl: u64 = ctx.arg(0).unwrap_or(0);
    // A full map is no loss: the next reconnect decision tells the result too, where the kernel passes it.
    let _ = CONNECTING.insert(&bpf_get_current_pid_tgid(), &ctrl, 0);
    0
}

/// Its return: positive is the target's NVMe status, negative an errno.
#[kretprobe]
pub fn connect_return(ctx: RetProbeContext) -> u32 {
    let at = now();
    returned(Kind::Connect, at, &CONNECTING, ctx.ret());
    0
}

/// Controllers inside `nvme_tcp_setup_ctrl`, by thread.
#[map]
static SETTING_UP: LruHashMap<u64, u64> = LruHashMap::with_max_entries(1024, 0);

/// `int nvme_tcp_setup_ctrl(ctrl, new)`, entry. Wanted where `nvmf_should_reconnect` is not given a status: a socket
/// that does not connect never gets as far as the Connect command.
#[kprobe]
pub fn setup(ctx: ProbeContext) -> u32 {
    let ctrl: u64 = ctx.arg(0).unwrap_or(0);
    // A full map is no loss: the attempt's result is then not known, which is said.
    let _ = SETTING_UP.insert(&bpf_get_current_pid_tgid(), &ctrl, 0);
    0
}

/// Its return, as [`connect_return`].
#[kretprobe]
pub fn setup_return(ctx: RetProbeContext) -> u32 {
    let at = now();
    returned(Kind::Attempt, at, &SETTING_UP, ctx.ret());
    0
}

#[inline(always)]
fn returned(kind: Kind, at: u64, inside: &LruHashMap<u64, u64>, result: i32) {
    let thread = bpf_get_current_pid_tgid();
    let Some(ctrl) = inside.get_ptr(&thread).map(|ctrl| unsafe { *ctrl }) else {
        return;
    };
    let _ = inside.remove(&thread);
    record::<ConnectBody>(kind, at, |body| unsafe {
        fill_controller(&raw mut (*body).controller, ctrl);
        (*body).result = result;
        (*body).reserved = 0;
    });
}

/// `bool nvmf_should_reconnect(ctrl[, status])`, entry: once for each attempt that failed, and once with 0 when the
/// first is scheduled.
#[kprobe]
pub fn reconnect(ctx: ProbeContext) -> u32 {
    let at = now();
    let ctrl: u64 = ctx.arg(0).unwrap_or(0);
    let has_status = unsafe { core::ptr::read_volatile(&raw const RECONNECT_HAS_STATUS) } != 0;
    let status = if has_status {
        ctx.arg(1).unwrap_or(NO_STATUS)
    } else {
        NO_STATUS
    };
    record::<ReconnectBody>(Kind::Reconnect, at, |body| unsafe {
        fill_controller(&raw mut (*body).controller, ctrl);
        (*body).status = status;
        let options = read_u64(ctrl, offset::CTRL_OPTS());
        (*body).max_reconnects = read_u32(options, offset::OPTS_MAX_RECONNECTS()) as i32;
    });
    0
}
