//! Controllers: their states, their identity, their end.

use aya_ebpf::{
    helpers::{bpf_get_current_comm, bpf_get_current_pid_tgid, generated::bpf_get_current_task},
    macros::kprobe,
    programs::ProbeContext,
};
use pathwarden_ebpf::{ControllerBody, IdentityBody, Kind, StateBody, state};

use super::{
    emit::{now, record},
    kernel::{
        copy, copy_text, copy_text_at, fill_controller, offset, read_u32, read_u64, try_read,
    },
};

/// `bool nvme_change_ctrl_state(ctrl, new)`: every writer of the state but the first.
#[kprobe]
pub fn change_state(ctx: ProbeContext) -> u32 {
    let at = now();
    let pointer: u64 = ctx.arg(0).unwrap_or(0);
    let new: u32 = ctx.arg(1).unwrap_or(u32::MAX);
    let old = read_u32(pointer, offset::CTRL_STATE());
    if pointer == 0 || !state::allowed(old, new) {
        return 0;
    }
    debug_line!(&ctx, "controller {:x}: state {} to {}", pointer, old, new);
    if old == state::NEW {
        identity(at, pointer);
    }
    record::<StateBody>(Kind::State, at, |body| unsafe {
        fill_controller(&raw mut (*body).controller, pointer);
        (*body).new = new;
        (*body).tgid = (bpf_get_current_pid_tgid() >> 32) as u32;
        (*body).command = bpf_get_current_comm().unwrap_or([0; 16]);
        (*body).kernel_thread = kernel_thread();
        (*body).reserved = 0;
    });
    0
}

/// `PF_KTHREAD` of the running task (include/linux/sched.h, the same in every kernel examined).
#[inline(always)]
fn kernel_thread() -> u32 {
    const PF_KTHREAD: u32 = 0x0020_0000;
    let task = unsafe { bpf_get_current_task() };
    match try_read::<u32>(task, offset::TASK_FLAGS()) {
        Some(flags) => (flags & PF_KTHREAD != 0) as u32,
        None => 2,
    }
}

/// `void nvme_kick_requeue_lists(ctrl)`: has two callers, one stores live, the other has found the fail-fast time up
/// (core.c `nvme_change_ctrl_state`, `nvme_failfast_work`).
#[kprobe]
pub fn kick_requeue(ctx: ProbeContext) -> u32 {
    let at = now();
    let pointer: u64 = ctx.arg(0).unwrap_or(0);
    let kind = match read_u32(pointer, offset::CTRL_STATE()) {
        state::LIVE => Kind::Live,
        state::CONNECTING => Kind::FailfastExpired,
        _ => return 0,
    };
    controller(kind, at, pointer);
    0
}

/// `void nvme_start_ctrl(ctrl)`: after the first connect and after each reconnect; identity, CNTLID and options are
/// all valid.
#[kprobe]
pub fn start_ctrl(ctx: ProbeContext) -> u32 {
    let at = now();
    identity(at, ctx.arg(0).unwrap_or(0));
    0
}

/// `void nvme_stop_keep_alive(ctrl)`: the first thing that a transport's error recovery does (tcp.c, rdma.c), and a
/// reset that was asked for.
#[kprobe]
pub fn stop_keep_alive(ctx: ProbeContext) -> u32 {
    let at = now();
    let pointer: u64 = ctx.arg(0).unwrap_or(0);
    if read_u32(pointer, offset::CTRL_STATE()) == state::RESETTING {
        controller(Kind::Recovery, at, pointer);
    }
    0
}

/// `nvme_keep_alive_end_io(request, status[, …])`: only an error is an event.
#[kprobe]
pub fn keep_alive_end(ctx: ProbeContext) -> u32 {
    let at = now();
    let request: u64 = ctx.arg(0).unwrap_or(0);
    let status: u64 = ctx.arg(1).unwrap_or(0);
    // blk_status_t is a byte.
    if status & 0xff != 0 {
        let pointer = read_u64(request, offset::REQUEST_END_IO_DATA());
        if pointer != 0 {
            controller(Kind::KeepAliveFailed, at, pointer);
        }
    }
    0
}

/// `void nvme_uninit_ctrl(ctrl)`: the one end that every controller has, connected or not.
#[kprobe]
pub fn uninit_ctrl(ctx: ProbeContext) -> u32 {
    let at = now();
    controller(Kind::Gone, at, ctx.arg(0).unwrap_or(0));
    0
}

#[inline(always)]
fn controller(kind: Kind, at: u64, pointer: u64) {
    record::<ControllerBody>(kind, at, |body| unsafe {
        fill_controller(&raw mut (*body).controller, pointer);
    });
}

/// All that tells this controller from others, from the options it was connected with. Local drives have none.
#[inline(always)]
pub fn identity(at: u64, pointer: u64) {
    let options = read_u64(pointer, offset::CTRL_OPTS());
    if options == 0 {
        return;
    }
    record::<IdentityBody>(Kind::Identity, at, |body| unsafe {
        fill_controller(&raw mut (*body).controller, pointer);
        copy_text(
            &raw mut (*body).transport,
            options,
            offset::OPTS_TRANSPORT(),
        );
        copy_text(
            &raw mut (*body).subsysnqn,
            options,
            offset::OPTS_SUBSYSNQN(),
        );
        copy_text(&raw mut (*body).traddr, options, offset::OPTS_TRADDR());
        copy_text(&raw mut (*body).trsvcid, options, offset::OPTS_TRSVCID());
        copy_text(
            &raw mut (*body).host_traddr,
            options,
            offset::OPTS_HOST_TRADDR(),
        );
        copy_text(
            &raw mut (*body).host_iface,
            options,
            offset::OPTS_HOST_IFACE(),
        );
        let host = read_u64(options, offset::OPTS_HOST());
        let nqn = if host == 0 {
            0
        } else {
            host + offset::HOST_NQN() as u64
        };
        copy_text_at(&raw mut (*body).hostnqn, nqn);
        (*body).hostid = [0; 16];
        if host != 0 {
            copy(
                (&raw mut (*body).hostid).cast(),
                host + offset::HOST_ID() as u64,
                16,
            );
        }
        (*body).max_reconnects = read_u32(options, offset::OPTS_MAX_RECONNECTS()) as i32;
        (*body).reserved = [0; 3];
    });
}
