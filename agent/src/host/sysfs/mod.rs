//! One scan of sysfs into the model.
//!
//! Three parts: `walk` reads, on threads that may block and be left behind; `raw` is what it read, as
//! text; `assemble` makes the model of it, a pure function that never fails: what does not fit together
//! is named in [`Host::unchecked`].
//!
//! Only the attributes in `attributes` are ever opened: secrets are not among them.

mod assemble;
mod attributes;
mod raw;
mod walk;

use std::fs;
use std::io;
use std::path::PathBuf;

use super::SysRoot;
use crate::fabric::{DiskName, HeadCounters, Host, Multipath};
pub use attributes::Detail;
pub use walk::Patience;

/// The scan could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// What stands for `/sys` is no directory that can be opened.
    #[error("opening the sysfs directory {path}")]
    Root {
        /// What stands for `/sys`.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No thread to read on.
    #[error("starting a thread to read sysfs on")]
    Thread {
        /// Why not.
        source: io::Error,
    },
}

/// Reads a host's NVMe topology. A host without NVMe is an empty one.
///
/// # Errors
/// When what stands for `/sys` is not a directory, or no thread can be started. Whatever goes wrong
/// with a single object is in [`Host::unchecked`] instead.
pub fn scan(root: &SysRoot) -> Result<Host, ScanError> {
    Scanner::new(root.clone()).scan()
}

/// Whether native multipath is on, by the driver's parameter; none without it.
#[must_use]
pub fn multipath(root: &SysRoot) -> Option<Multipath> {
    let parameter = root.sys().join("module/nvme_core/parameters/multipath");
    Multipath::from_parameter(&fs::read_to_string(parameter).ok()?)
}

/// A head's own counters as they are now, where the kernel has them.
#[must_use]
pub fn head_counters(root: &SysRoot, head: DiskName) -> HeadCounters {
    let folder = root.sys().join(format!("block/{head}/diag"));
    let read = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    HeadCounters {
        requeued: read("io_requeue_no_usable_path_count"),
        failed: read("io_fail_no_available_path_count"),
    }
}

/// Scans one host again and again, and remembers which reads of earlier scans never came back, so that
/// an attribute that hangs costs one thread and not one per scan.
#[derive(Debug)]
pub struct Scanner {
    root: SysRoot,
    detail: Detail,
    patience: Patience,
    stuck: walk::Stuck,
}

impl Scanner {
    /// A scanner of this host.
    #[must_use]
    pub fn new(root: SysRoot) -> Self {
        Self {
            root,
            detail: Detail::default(),
            patience: Patience::default(),
            stuck: walk::Stuck::default(),
        }
    }

    /// The same with more read of each object.
    #[must_use]
    pub fn with_detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// The same with other bounds on reads that block.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// Reads the host's NVMe topology.
    ///
    /// # Errors
    /// As [`scan`].
    pub fn scan(&self) -> Result<Host, ScanError> {
        let tree = walk::read_tree(self.root.sys(), self.detail, self.patience, &self.stuck)?;
        let mut host = assemble::assemble(tree);
        host.kernel = self.node_line("proc/sys/kernel/osrelease");
        host.boot_id = self.node_line("proc/sys/kernel/random/boot_id");
        Ok(host)
    }

    /// A one-line file of the node, where the node is known and has it.
    fn node_line(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.node(path)?).ok()?;
        Some(text.trim())
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
    }
}
