//! The records themselves. A record is a [`Header`] followed by the body that its [`Kind`] names.

#[cfg(not(target_arch = "bpf"))]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// How many namespace ids an ANA record carries; a larger group is told by its id.
pub const MAX_GROUP_NSIDS: usize = 64;

/// Sizes of texts, with the terminating zero. A longer one is cut: the last byte is then not zero.
pub mod text {
    /// NVMe qualified name (223 characters, NVMe base specification 4.7).
    pub const NQN: usize = 224;
    /// Transport address; the longest form is a pair of Fibre Channel names.
    pub const ADDRESS: usize = 64;
    /// Transport, service id, interface name, command name.
    pub const SHORT: usize = 16;
}

/// What happened; the number stands in [`Header::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// `nvme_change_ctrl_state`, entry, for a change that it will store. Body: [`StateBody`].
    State = 1,
    /// `nvme_kick_requeue_lists` with the controller live: live has been stored. Body: [`ControllerBody`].
    Live = 2,
    /// The same with the controller connecting: `fast_io_fail_tmo` has run out. Body: [`ControllerBody`].
    FailfastExpired = 3,
    /// `nvme_start_ctrl`, or the agent read the controller's `state`: all of its identity. Body: [`IdentityBody`].
    Identity = 4,
    /// `nvme_uninit_ctrl`. Body: [`ControllerBody`].
    Gone = 5,
    /// `nvme_update_ana_state`, one group of the log that has namespaces. Body: [`AnaBody`].
    Ana = 6,
    /// `nvme_failover_req` with an ANA status, first of its kind: the leg is not routed to until the log is read.
    /// Body: [`AnaPendingBody`].
    AnaPending = 7,
    /// `nvme_mpath_set_live`: accessible state stored on a live controller. Body: [`LegBody`].
    LegLive = 8,
    /// `nvme_mpath_add_disk` has returned. Body: [`LegBody`].
    LegAdded = 9,
    /// `nvme_ns_remove`, entry. Body: [`LegBody`].
    LegRemoved = 10,
    /// The agent read the leg's `ana_state`: its words as they are. Body: [`LegBody`].
    LegSnapshot = 11,
    /// `nvmf_connect_admin_queue` has returned. Body: [`ConnectBody`].
    Connect = 12,
    /// `nvmf_should_reconnect`, entry. Body: [`ReconnectBody`].
    Reconnect = 13,
    /// `nvme_mpath_set_live` of a head that has no disk yet. Body: [`HeadBody`].
    HeadAdded = 14,
    /// The head's disk is about to be deleted. Body: [`HeadBody`].
    HeadRemoved = 15,
    /// `nvme_failover_req`, those of one leg on one CPU taken together. Body: [`FailoverBody`].
    Failover = 16,
    /// `nvme_stop_keep_alive` of a controller that is resetting: its transport tears it down. Body: [`ControllerBody`].
    Recovery = 17,
    /// `nvme_keep_alive_end_io` with an error. Body: [`ControllerBody`].
    KeepAliveFailed = 18,
    /// `nvme_tcp_setup_ctrl` has returned: what a whole attempt came to, socket errors included. Body: [`ConnectBody`].
    Attempt = 19,
}

impl Kind {
    /// The kind of a header's number; none for one that this agent does not know.
    pub const fn from_raw(raw: u16) -> Option<Self> {
        Some(match raw {
            1 => Kind::State,
            2 => Kind::Live,
            3 => Kind::FailfastExpired,
            4 => Kind::Identity,
            5 => Kind::Gone,
            6 => Kind::Ana,
            7 => Kind::AnaPending,
            8 => Kind::LegLive,
            9 => Kind::LegAdded,
            10 => Kind::LegRemoved,
            11 => Kind::LegSnapshot,
            12 => Kind::Connect,
            13 => Kind::Reconnect,
            14 => Kind::HeadAdded,
            15 => Kind::HeadRemoved,
            16 => Kind::Failover,
            17 => Kind::Recovery,
            18 => Kind::KeepAliveFailed,
            19 => Kind::Attempt,
            _ => return None,
        })
    }
}

macro_rules! layout {
    ($(#[$doc:meta])* struct $name:ident: $size:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        #[cfg_attr(not(target_arch = "bpf"), derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        const _: () = assert!(size_of::<$name>() == $size, "layout changed");
    };
}

layout! {
    /// In front of every record.
    struct Header: 24 {
        /// `CLOCK_BOOTTIME` at the probe, nanoseconds.
        boot_ns: u64,
        /// Counts the records of one CPU, lost ones included; the first is 1. A gap is a loss.
        sequence: u64,
        /// CPU that ran the probe.
        cpu: u32,
        /// [`Kind`].
        kind: u16,
        /// Reserved, 0.
        reserved: u16,
    }
}

layout! {
    /// A controller as the kernel has it at that moment.
    struct Controller: 48 {
        /// Address of the `nvme_ctrl`; reused after it is freed.
        pointer: u64,
        /// Inode of its sysfs directory: tells apart two that had the same number. 0 when it has no directory.
        generation: u64,
        /// `nvme_ctrl.flags`.
        flags: u64,
        /// The number in `nvmeN`.
        instance: i32,
        /// `nvme_ctrl.state`.
        state: u32,
        /// Attempts since it was last live.
        reconnects: i32,
        /// NVMe controller id; 0 before the first connect.
        cntlid: u16,
        /// 1 for a fabrics controller, 0 for a local drive.
        fabrics: u8,
        /// 1 for a discovery controller.
        discovery: u8,
        /// Reserved, 0.
        reserved: u64,
    }
}

layout! {
    /// Body of [`Kind::Live`], [`Kind::FailfastExpired`], [`Kind::Gone`], [`Kind::Recovery`] and
    /// [`Kind::KeepAliveFailed`].
    struct ControllerBody: 48 {
        /// Whose.
        controller: Controller,
    }
}

layout! {
    /// Body of [`Kind::State`]; the old state is `controller.state`.
    struct StateBody: 80 {
        /// Whose.
        controller: Controller,
        /// The state about to be stored.
        new: u32,
        /// Thread group that asked; of no meaning when the change came from an interrupt.
        tgid: u32,
        /// Its command name.
        command: [u8; text::SHORT],
        /// 1 for a thread of the kernel's own, 0 for a process's; 2 where it cannot be told.
        kernel_thread: u32,
        /// Reserved, 0.
        reserved: u32,
    }
}

layout! {
    /// Body of [`Kind::Identity`].
    struct IdentityBody: 704 {
        /// Whose.
        controller: Controller,
        /// `tcp`, `rdma`, `fc`, `loop`.
        transport: [u8; text::SHORT],
        /// Subsystem NQN as given at connect.
        subsysnqn: [u8; text::NQN],
        /// Target address.
        traddr: [u8; text::ADDRESS],
        /// Target service id.
        trsvcid: [u8; text::SHORT],
        /// Source address, if one was given.
        host_traddr: [u8; text::ADDRESS],
        /// Source interface, if one was given.
        host_iface: [u8; text::SHORT],
        /// Host NQN.
        hostnqn: [u8; text::NQN],
        /// Host id (a UUID in text order).
        hostid: [u8; 16],
        /// Attempts allowed after a loss; -1 without end.
        max_reconnects: i32,
        /// Reserved, 0.
        reserved: [u32; 3],
    }
}

layout! {
    /// Body of [`Kind::Ana`].
    struct AnaBody: 320 {
        /// Whose log.
        controller: Controller,
        /// ANA group.
        group: u32,
        /// Its state as in the log.
        state: u32,
        /// How many namespaces the group has on this controller.
        nsid_count: u32,
        /// How many of them stand in `nsids`.
        nsids_held: u32,
        /// The first of them.
        nsids: [u32; MAX_GROUP_NSIDS],
    }
}

layout! {
    /// A leg as the kernel has it; body of [`Kind::LegLive`], [`Kind::LegAdded`], [`Kind::LegRemoved`],
    /// [`Kind::LegSnapshot`].
    struct LegBody: 112 {
        /// Its controller.
        controller: Controller,
        /// Address of the `nvme_ns`.
        pointer: u64,
        /// `nvme_ns.flags`.
        flags: u64,
        /// `nvme_ns_head.flags`.
        head_flags: u64,
        /// Namespace UUID; all zero when it has none.
        uuid: [u8; 16],
        /// Namespace id.
        nsid: u32,
        /// `nvme_ns.ana_state`.
        ana_state: u32,
        /// ANA group; 0 without ANA.
        group: u32,
        /// The last number in the head's name.
        head_instance: i32,
        /// [`LegBody::HAS_ANA`], [`LegBody::MULTIPATH`].
        traits: u32,
        /// The first number in the leg's name; -1 before the first identify.
        subsystem_instance: i32,
    }
}

layout! {
    /// Body of [`Kind::AnaPending`].
    struct AnaPendingBody: 120 {
        /// The leg.
        leg: LegBody,
        /// The status that the I/O failed with.
        status: u32,
        /// Reserved, 0.
        reserved: u32,
    }
}

layout! {
    /// A head as the kernel has it; body of [`Kind::HeadAdded`] and [`Kind::HeadRemoved`].
    struct HeadBody: 272 {
        /// Address of the `nvme_ns_head`.
        pointer: u64,
        /// `nvme_ns_head.flags`.
        flags: u64,
        /// Its subsystem's NQN.
        nqn: [u8; text::NQN],
        /// Namespace UUID; all zero when it has none.
        uuid: [u8; 16],
        /// Namespace id.
        nsid: u32,
        /// The last number in its name.
        instance: i32,
        /// How many have its disk open; -1 where it cannot be told.
        openers: i32,
        /// Reserved, 0.
        reserved: u32,
    }
}

layout! {
    /// Body of [`Kind::Failover`].
    struct FailoverBody: 136 {
        /// The leg.
        leg: LegBody,
        /// The last status.
        status: u32,
        /// How many since the last such record of this leg on this CPU.
        count: u32,
        /// When the oldest of them was sent, boot clock; 0 where it cannot be told.
        oldest_ns: u64,
        /// Reserved, 0.
        reserved: u64,
    }
}

layout! {
    /// Body of [`Kind::Connect`] and [`Kind::Attempt`].
    struct ConnectBody: 56 {
        /// Whose.
        controller: Controller,
        /// 0 connected; positive: NVMe status of the answer; negative: errno.
        result: i32,
        /// Reserved, 0.
        reserved: u32,
    }
}

layout! {
    /// Body of [`Kind::Reconnect`].
    struct ReconnectBody: 56 {
        /// Whose.
        controller: Controller,
        /// What the last attempt came to, as [`ConnectBody::result`]; [`crate::NO_STATUS`] where the kernel does not
        /// say.
        status: i32,
        /// Attempts allowed; -1 without end.
        max_reconnects: i32,
    }
}

impl LegBody {
    /// Bit of `traits`: the controller has an ANA log.
    pub const HAS_ANA: u32 = 1;
    /// Bit of `traits`: the namespace has a head, so the kernel chooses among legs.
    pub const MULTIPATH: u32 = 2;
}
