//! The layout that the BPF programs and the agent share: records, kinds, the kernel fields the programs read.
//!
//! Owns: what a record looks like in memory (`repr(C)`, no padding, native byte order) and the list of kernel fields
//! whose offsets the agent resolves from BTF at load time. Does not own: what a record means for a volume (the
//! agent's `probe` and `watch`), nor how it is produced (`src/main.rs`).
#![cfg_attr(target_arch = "bpf", no_std)]

mod fields;
mod record;

pub use fields::{Field, TypeOwner};
pub use record::{
    AnaBody, AnaPendingBody, ConnectBody, Controller, ControllerBody, FailoverBody, HeadBody,
    Header, IdentityBody, Kind, LegBody, MAX_GROUP_NSIDS, ReconnectBody, StateBody, text,
};

/// The value of a field offset that the running kernel does not have.
pub const ABSENT: u32 = u32::MAX;

/// `status` of a reconnect decision on kernels whose `nvmf_should_reconnect` is not given one (before 6.10).
pub const NO_STATUS: i32 = i32::MIN;

/// Bit numbers in the kernel's flag words. Macros there, so BTF does not know them; the same in every kernel that has
/// them (6.1, 6.6, 6.12, 7.2, EL9, EL10).
pub mod bits {
    /// `nvme_ns.flags`: an I/O failed with an ANA status and the ANA log has not been read since.
    pub const NS_ANA_PENDING: u32 = 2;
    /// `nvme_ns.flags`: capacity agrees with the head's; cleared first when the leg is removed.
    pub const NS_READY: u32 = 4;
    /// `nvme_ns_head.flags`: the multipath block device exists.
    pub const HEAD_DISK_LIVE: u32 = 0;
    /// `nvme_ctrl.flags`: `fast_io_fail_tmo` has run out.
    pub const CTRL_FAILFAST_EXPIRED: u32 = 0;
}

/// `enum nvme_ctrl_state`, the same in every kernel examined; the agent checks it against BTF before it attaches.
pub mod state {
    /// Created, never connected.
    pub const NEW: u32 = 0;
    /// In service.
    pub const LIVE: u32 = 1;
    /// Tearing its queues down.
    pub const RESETTING: u32 = 2;
    /// Trying to connect.
    pub const CONNECTING: u32 = 3;
    /// Being deleted; still routed to.
    pub const DELETING: u32 = 4;
    /// Being deleted; no I/O any more.
    pub const DELETING_NOIO: u32 = 5;
    /// Gone for good.
    pub const DEAD: u32 = 6;

    /// Whether `nvme_change_ctrl_state` would store `new` over `old` (its transition table, core.c). It is called many
    /// times with changes that it refuses; those are no events.
    #[inline(always)]
    pub const fn allowed(old: u32, new: u32) -> bool {
        match new {
            LIVE => old == CONNECTING,
            RESETTING => old == NEW || old == LIVE,
            CONNECTING => old == NEW || old == RESETTING,
            DELETING => old == LIVE || old == RESETTING || old == CONNECTING,
            DELETING_NOIO => old == DELETING || old == DEAD,
            DEAD => old == DELETING,
            _ => false,
        }
    }
}

/// `enum nvme_ana_state` as it stands in the log page.
pub mod ana {
    /// Optimized.
    pub const OPTIMIZED: u32 = 1;
    /// Non-optimized.
    pub const NONOPTIMIZED: u32 = 2;

    /// Whether the kernel routes I/O to a leg in this state.
    #[inline(always)]
    pub const fn accessible(state: u32) -> bool {
        state == OPTIMIZED || state == NONOPTIMIZED
    }
}

/// NVMe status words as the host driver keeps them (phase bit shifted out).
pub mod status {
    /// Status code type and status code, without More and Do Not Retry.
    pub const CODE_MASK: u16 = 0x7ff;

    /// Whether it is one of the three ANA statuses (persistent loss, inaccessible, transition).
    #[inline(always)]
    pub const fn is_ana(status: u16) -> bool {
        matches!(status & CODE_MASK, 0x301..=0x303)
    }
}
