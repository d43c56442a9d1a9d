//! Getting a record out: one ring for all CPUs, a count per CPU in front of it.

use aya_ebpf::{
    helpers::{bpf_get_smp_processor_id, bpf_ktime_get_boot_ns},
    macros::map,
    maps::{PerCpuArray, RingBuf},
};
use pathwarden_ebpf::{Header, Kind};

/// Default size; the agent may set another at load time.
const RING_BYTES: u32 = 512 * 1024;

#[map]
static EVENTS: RingBuf = RingBuf::with_byte_size(RING_BYTES, 0);

/// Records begun on this CPU. Programs do not nest on a CPU (the kernel skips the inner one), so no atomics.
#[map]
static SEQUENCE: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// Records that found the ring full.
#[map]
static LOST: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

#[repr(C)]
struct Record<B> {
    header: Header,
    body: B,
}

/// The boot clock. A program reads it first: what it reads after takes time that is none of the event's.
#[inline(always)]
pub fn now() -> u64 {
    unsafe { bpf_ktime_get_boot_ns() }
}

/// Sends one record of a time, whose body `fill` writes in place. A full ring costs the record, never the kernel: the sequence
/// number is spent, so the agent sees the gap.
#[inline(always)]
pub fn record<B: 'static>(kind: Kind, boot_ns: u64, fill: impl FnOnce(*mut B)) {
    let Some(counter) = SEQUENCE.get_ptr_mut(0) else {
        return;
    };
    let sequence = unsafe { *counter } + 1;
    unsafe { *counter = sequence };
    let Some(mut entry) = EVENTS.reserve::<Record<B>>(0) else {
        if let Some(lost) = LOST.get_ptr_mut(0) {
            unsafe { *lost += 1 };
        }
        return;
    };
    let record = entry.as_mut_ptr();
    unsafe {
        (*record).header = Header {
            boot_ns,
            sequence,
            cpu: bpf_get_smp_processor_id(),
            kind: kind as u16,
            reserved: 0,
        };
        fill(&raw mut (*record).body);
    }
    entry.submit(0);
}
