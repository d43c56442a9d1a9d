//! Why there are no probes, in one line that names what is missing.

use std::path::PathBuf;

use super::btf;

/// The probes cannot be used; looks at sysfs still can.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The binary has no BPF object.
    #[error("built without probes (the BPF object was not there when this binary was built)")]
    NotBuilt,
    /// The driver is not there.
    #[error("the NVMe host driver is not loaded (no module nvme_core)")]
    NoDriver,
    /// The kernel has no type information.
    #[error("the kernel has no BTF ({file} does not exist)")]
    NoBtf {
        /// The file that should be there.
        file: PathBuf,
    },
    /// Type information is there and cannot be read.
    #[error("BTF cannot be read from {file}")]
    UnreadableBtf {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// Type information is there and makes no sense.
    #[error("BTF in {file} is not understood")]
    BadBtf {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        error: btf::Error,
    },
    /// A field that the probes need.
    #[error("the kernel's BTF has no {structure}.{member} (is CONFIG_NVME_MULTIPATH off?)")]
    NoField {
        /// The struct.
        structure: &'static str,
        /// The member; empty for the struct itself.
        member: &'static str,
    },
    /// The driver numbers its controller states otherwise.
    #[error(
        "the driver's controller states are not the known ones (live {live:?}, connecting {connecting:?})"
    )]
    OtherStates {
        /// The number of live.
        live: Option<u32>,
        /// The number of connecting.
        connecting: Option<u32>,
    },
    /// The kernel has no kprobes for perf.
    #[error("the kernel has no kprobes ({file} does not exist)")]
    NoKprobes {
        /// The file that should be there.
        file: PathBuf,
    },
    /// Permissions.
    #[error("not permitted to load BPF programs (needs root, or CAP_BPF and CAP_PERFMON)")]
    NotPermitted,
    /// The object was not accepted.
    #[error("the BPF object cannot be loaded")]
    Load(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A probe that windows cannot do without.
    #[error("probe {function} cannot be attached: {reason}")]
    Mandatory {
        /// The kernel function.
        function: &'static str,
        /// Why.
        reason: String,
    },
}
