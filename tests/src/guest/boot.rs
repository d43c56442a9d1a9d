//! From a bare kernel to a machine with file systems, modules, a loopback and an NVMe host identity.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::modules;
use crate::lab::attribute;
use crate::lab::host::{HOST_ID, HOST_NQN};
use crate::lab::netlink;

/// What is mounted before modules are loaded, in order: type and place.
const MOUNTS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
];

/// Returns the running kernel's release.
pub(super) fn up() -> Result<String> {
    for (kind, place) in MOUNTS {
        mount_at(kind, place)?;
    }
    let kernel = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    modules::load_all(&modules::folder())?;
    mount_at("configfs", "/sys/kernel/config")?;
    netlink::loopback_up()?;
    host_identity()?;
    Ok(kernel)
}

fn mount_at(kind: &str, place: &str) -> Result<()> {
    fs::create_dir_all(place).with_context(|| format!("mkdir {place}"))?;
    match mount(kind, place, kind, MountFlags::empty(), None) {
        // The kernel mounts some itself when it is built to.
        Ok(()) | Err(Errno::BUSY) => Ok(()),
        Err(errno) => Err(errno).with_context(|| format!("mount {kind} on {place}")),
    }
}

fn host_identity() -> Result<()> {
    let dir = Path::new("/etc/nvme");
    fs::create_dir_all(dir).with_context(|| format!("mkdir {}", dir.display()))?;
    attribute::write(&dir.join("hostnqn"), &format!("{HOST_NQN}\n"))?;
    attribute::write(&dir.join("hostid"), &format!("{HOST_ID}\n"))
}
