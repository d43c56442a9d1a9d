//! The kernel fields that the programs read, written down once: a `static` each in the BPF object, a row each in the
//! agent's table, which fills the statics from BTF before the object is loaded. No offset stands in this repository.

/// Which type information a field's struct is looked up in first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeOwner {
    /// The module's own, then the kernel's (a kernel with the driver built in has it there).
    Module(&'static str),
    /// The kernel's.
    Kernel,
}

/// One row: where the agent finds the offset of a field and under which name the object wants it.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name of the `static` in the BPF object.
    pub global: &'static str,
    /// Where the struct is defined.
    pub owner: TypeOwner,
    /// The struct.
    pub structure: &'static str,
    /// The member; anonymous structs and unions are looked through. Empty: the size of the struct is wanted.
    pub member: &'static str,
    /// Without it the probes cannot run; others degrade what is known.
    pub required: bool,
}

/// Calls `$each!` with every row.
#[macro_export]
macro_rules! kernel_fields {
    ($each:ident) => {
        $each! {
            CTRL_STATE nvme_ctrl "state" Core required,
            CTRL_INSTANCE nvme_ctrl "instance" Core required,
            CTRL_FLAGS nvme_ctrl "flags" Core required,
            CTRL_OPTS nvme_ctrl "opts" Core required,
            CTRL_DEVICE nvme_ctrl "device" Core optional,
            CTRL_CNTLID nvme_ctrl "cntlid" Core optional,
            CTRL_SUBSYS nvme_ctrl "subsys" Core optional,
            SUBSYS_INSTANCE nvme_subsystem "instance" Core optional,
            SUBSYS_SUBNQN nvme_subsystem "subnqn" Core optional,
            CTRL_NR_RECONNECTS nvme_ctrl "nr_reconnects" Core optional,
            CTRL_ANA_LOG_BUF nvme_ctrl "ana_log_buf" Core required,
            OPTS_TRANSPORT nvmf_ctrl_options "transport" Core required,
            OPTS_SUBSYSNQN nvmf_ctrl_options "subsysnqn" Core required,
            OPTS_TRADDR nvmf_ctrl_options "traddr" Core required,
            OPTS_TRSVCID nvmf_ctrl_options "trsvcid" Core required,
            OPTS_HOST_TRADDR nvmf_ctrl_options "host_traddr" Core optional,
            OPTS_HOST_IFACE nvmf_ctrl_options "host_iface" Core optional,
            OPTS_HOST nvmf_ctrl_options "host" Core optional,
            OPTS_DISCOVERY nvmf_ctrl_options "discovery_nqn" Core optional,
            OPTS_MAX_RECONNECTS nvmf_ctrl_options "max_reconnects" Core optional,
            HOST_NQN nvmf_host "nqn" Core optional,
            HOST_ID nvmf_host "id" Core optional,
            NS_CTRL nvme_ns "ctrl" Core required,
            NS_HEAD nvme_ns "head" Core required,
            NS_FLAGS nvme_ns "flags" Core required,
            NS_ANA_STATE nvme_ns "ana_state" Core required,
            NS_ANA_GRPID nvme_ns "ana_grpid" Core optional,
            HEAD_NS_ID nvme_ns_head "ns_id" Core required,
            HEAD_IDS nvme_ns_head "ids" Core required,
            HEAD_FLAGS nvme_ns_head "flags" Core required,
            HEAD_DISK nvme_ns_head "disk" Core required,
            HEAD_INSTANCE nvme_ns_head "instance" Core optional,
            HEAD_SUBSYS nvme_ns_head "subsys" Core optional,
            IDS_UUID nvme_ns_ids "uuid" Core required,
            REQUEST_STATUS nvme_request "status" Core required,
            REQUEST_SIZE request "" Kernel required,
            REQUEST_Q request "q" Kernel required,
            REQUEST_START request "start_time_ns" Kernel optional,
            REQUEST_END_IO_DATA request "end_io_data" Kernel optional,
            QUEUE_QUEUEDATA request_queue "queuedata" Kernel required,
            BIO_BDEV bio "bi_bdev" Kernel optional,
            DISK_PART0 gendisk "part0" Kernel optional,
            BDEV_OPENERS block_device "bd_openers" Kernel optional,
            TASK_FLAGS task_struct "flags" Kernel optional,
            DISK_PRIVATE_DATA gendisk "private_data" Kernel required,
            BDEV_DISK block_device "bd_disk" Kernel required,
            BDEV_DEVICE block_device "bd_device" Kernel required,
            DEVICE_DRIVER_DATA device "driver_data" Kernel required,
            DEVICE_KOBJ device "kobj" Kernel optional,
            KOBJECT_SD kobject "sd" Kernel optional,
            KERNFS_NODE_ID kernfs_node "id" Kernel optional,
        }
    };
}

macro_rules! owner {
    (Core) => {
        TypeOwner::Module("nvme_core")
    };
    (Kernel) => {
        TypeOwner::Kernel
    };
}

macro_rules! required {
    (required) => {
        true
    };
    (optional) => {
        false
    };
}

macro_rules! table {
    ($($global:ident $structure:ident $member:literal $owner:ident $required:ident,)*) => {
        impl Field {
            /// Every field that the programs read.
            pub const ALL: &'static [Field] = &[$(Field {
                global: stringify!($global),
                owner: owner!($owner),
                structure: stringify!($structure),
                member: $member,
                required: required!($required),
            }),*];
        }
    };
}
kernel_fields!(table);
