//! The kernel's NVMe target (nvmet), driven through configfs: one subsystem with namespaces in memory, TCP ports on the loopback.
//!
//! `root` is `/sys/kernel/config/nvmet` in the guest and a folder in unit tests. What this target cannot be made to do
//! (reject, hang, lie) is the scripted target's part.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::attribute;
use super::clock::BootNs;
use super::host::Endpoint;

/// Where configfs shows the target.
pub const NVMET: &str = "/sys/kernel/config/nvmet";

/// The IANA port of NVMe/TCP.
pub const SERVICE: u16 = 4420;
/// Size of a namespace. Its file is sparse.
const NAMESPACE_BYTES: u64 = 16 << 20;
/// The ANA group that every port and namespace is in unless told otherwise.
const GROUP: u32 = 1;

/// Asymmetric namespace access, as configfs spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnaState {
    /// Serves, preferred.
    Optimized,
    /// Serves.
    NonOptimized,
    /// Answers every command with "asymmetric access inaccessible".
    Inaccessible,
    /// Will not serve again.
    PersistentLoss,
    /// Between two states; commands are answered with "asymmetric access transition".
    Change,
}

impl AnaState {
    fn text(self) -> &'static str {
        match self {
            Self::Optimized => "optimized",
            Self::NonOptimized => "non-optimized",
            Self::Inaccessible => "inaccessible",
            Self::PersistentLoss => "persistent-loss",
            Self::Change => "change",
        }
    }
}

/// One subsystem of the kernel's target.
#[derive(Debug)]
pub struct Target {
    root: PathBuf,
    store: PathBuf,
    nqn: String,
}

impl Target {
    /// Makes the subsystem, open to any host. Its namespaces' files will be in `store`.
    pub fn create(root: &Path, store: &Path, nqn: &str) -> Result<Self> {
        let target = Self {
            root: root.to_owned(),
            store: store.to_owned(),
            nqn: nqn.to_owned(),
        };
        attribute::create_dir(&target.dir())?;
        attribute::write(&target.dir().join("attr_allow_any_host"), "1")?;
        Ok(target)
    }

    /// The subsystem's NQN.
    pub fn nqn(&self) -> &str {
        &self.nqn
    }

    /// Adds a namespace in the common ANA group.
    pub fn namespace(&self, nsid: u32) -> Result<()> {
        self.namespace_in(nsid, GROUP)
    }

    /// Adds a namespace in an ANA group of its own choice.
    pub fn namespace_in(&self, nsid: u32, group: u32) -> Result<()> {
        let file = self.store.join(format!("{}.{nsid}", self.nqn));
        File::create(&file)
            .and_then(|created| created.set_len(NAMESPACE_BYTES))
            .with_context(|| format!("create {}", file.display()))?;
        let dir = self.dir().join("namespaces").join(nsid.to_string());
        attribute::create_dir(&dir)?;
        attribute::write(&dir.join("device_path"), &file.to_string_lossy())?;
        attribute::write(&dir.join("device_uuid"), &uuid(nsid))?;
        // The file is in memory: direct I/O is not to be had.
        attribute::write(&dir.join("buffered_io"), "1")?;
        attribute::write(&dir.join("ana_grpid"), &group.to_string())?;
        attribute::write(&dir.join("enable"), "1")
    }

    /// Takes a namespace away from every port, with an event to the hosts, or gives it back. The moment returned is just
    /// before.
    pub fn serve(&self, nsid: u32, served: bool) -> Result<BootNs> {
        let dir = self.dir().join("namespaces").join(nsid.to_string());
        let before = BootNs::now();
        attribute::write(&dir.join("enable"), if served { "1" } else { "0" })?;
        Ok(before)
    }

    /// A port by its number, whether it is open or not. Number 1 is at 127.0.0.2, 2 at 127.0.0.3 and so on.
    pub fn port(&self, number: u8) -> Port<'_> {
        Port {
            target: self,
            number,
        }
    }

    fn dir(&self) -> PathBuf {
        self.root.join("subsystems").join(&self.nqn)
    }
}

/// A TCP port of the target.
#[derive(Debug, Clone, Copy)]
pub struct Port<'t> {
    target: &'t Target,
    number: u8,
}

impl Port<'_> {
    /// Opens the port in this ANA state and serves the subsystem on it.
    pub fn open(&self, state: AnaState) -> Result<()> {
        attribute::create_dir(&self.dir())?;
        for (file, value) in [
            ("addr_trtype", "tcp"),
            ("addr_adrfam", "ipv4"),
            ("addr_traddr", &self.address().to_string()),
            ("addr_trsvcid", &SERVICE.to_string()),
        ] {
            attribute::write(&self.dir().join(file), value)?;
        }
        self.ana(state)?;
        self.restore()
    }

    /// Moves the common ANA group on this port; the moment returned is just before.
    pub fn ana(&self, state: AnaState) -> Result<BootNs> {
        self.ana_group(GROUP, state)
    }

    /// Moves an ANA group on this port, adding it first if need be; the moment returned is just before.
    pub fn ana_group(&self, group: u32, state: AnaState) -> Result<BootNs> {
        let dir = self.dir().join("ana_groups").join(group.to_string());
        if !dir.exists() {
            attribute::create_dir(&dir)?;
        }
        let before = BootNs::now();
        attribute::write(&dir.join("ana_state"), state.text())?;
        Ok(before)
    }

    /// Takes the subsystem off this port: its controllers lose their connections and, no subsystem being left,
    /// the port refuses new ones. The moment returned is just before.
    pub fn vanish(&self) -> Result<BootNs> {
        let before = BootNs::now();
        attribute::unlink(&self.link())?;
        Ok(before)
    }

    /// Serves the subsystem on this port (again).
    pub fn restore(&self) -> Result<()> {
        attribute::link(&self.target.dir(), &self.link())
    }

    fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(127, 0, 0, self.number.saturating_add(1))
    }

    fn dir(&self) -> PathBuf {
        self.target.root.join("ports").join(self.number.to_string())
    }

    fn link(&self) -> PathBuf {
        self.dir().join("subsystems").join(&self.target.nqn)
    }
}

impl From<&Port<'_>> for Endpoint {
    fn from(port: &Port<'_>) -> Self {
        Self {
            nqn: port.target.nqn.clone(),
            traddr: port.address(),
            trsvcid: SERVICE,
        }
    }
}

/// Removes every port and every subsystem: the target as it was at boot.
pub fn wipe(root: &Path) -> Result<()> {
    for port in attribute::entries(&root.join("ports"))? {
        for link in attribute::entries(&port.join("subsystems"))? {
            attribute::unlink(&link)?;
        }
        for group in attribute::entries(&port.join("ana_groups"))? {
            // The common group is part of the port.
            if attribute::name(&group) != GROUP.to_string() {
                attribute::remove_dir(&group)?;
            }
        }
        attribute::remove_dir(&port)?;
    }
    for subsystem in attribute::entries(&root.join("subsystems"))? {
        for link in attribute::entries(&subsystem.join("allowed_hosts"))? {
            attribute::unlink(&link)?;
        }
        for namespace in attribute::entries(&subsystem.join("namespaces"))? {
            attribute::write(&namespace.join("enable"), "0")?;
            attribute::remove_dir(&namespace)?;
        }
        attribute::remove_dir(&subsystem)?;
    }
    Ok(())
}

/// A namespace's UUID: the same in every run.
fn uuid(nsid: u32) -> String {
    format!("7a1de000-0000-4000-8000-{nsid:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What configfs makes by itself.
    fn configfs() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for made in ["subsystems", "ports", "store"] {
            fs::create_dir(root.path().join(made)).unwrap();
        }
        root
    }

    /// Makes the folders that configfs would add inside a new subsystem or port.
    fn furnish(dir: &Path, inside: &[&str]) {
        for made in inside {
            fs::create_dir_all(dir.join(made)).unwrap();
        }
    }

    fn served(root: &Path) -> Target {
        let target = Target::create(root, &root.join("store"), "nqn.test:a").unwrap();
        furnish(
            &root.join("subsystems/nqn.test:a"),
            &["namespaces", "allowed_hosts"],
        );
        target
    }

    #[test]
    fn a_namespace_is_a_file_enabled_last_in_its_group() {
        let root = configfs();
        served(root.path()).namespace_in(3, 2).unwrap();
        let namespace = root.path().join("subsystems/nqn.test:a/namespaces/3");
        let read = |file: &str| attribute::read(&namespace.join(file)).unwrap();
        assert_eq!(read("ana_grpid"), "2");
        assert_eq!(read("enable"), "1");
        assert_eq!(read("device_uuid"), "7a1de000-0000-4000-8000-000000000003");
        assert_eq!(
            fs::metadata(read("device_path")).unwrap().len(),
            NAMESPACE_BYTES
        );
    }

    #[test]
    fn a_port_vanishes_and_comes_back_by_its_link() {
        let root = configfs();
        let target = served(root.path());
        let port = root.path().join("ports/2");
        fs::create_dir(&port).unwrap();
        furnish(&port, &["ana_groups/1", "subsystems"]);
        target.port(2).ana(AnaState::NonOptimized).unwrap();
        target.port(2).restore().unwrap();
        let state = attribute::read(&port.join("ana_groups/1/ana_state")).unwrap();
        assert_eq!(state, "non-optimized");
        let link = port.join("subsystems/nqn.test:a");
        assert_eq!(
            fs::read_link(&link).unwrap(),
            root.path().join("subsystems/nqn.test:a")
        );
        target.port(2).vanish().unwrap();
        assert!(link.symlink_metadata().is_err());
    }

    #[test]
    fn ports_have_addresses_of_their_own() {
        let root = configfs();
        let target = served(root.path());
        let endpoint = Endpoint::from(&target.port(2));
        assert_eq!(endpoint.traddr.to_string(), "127.0.0.3");
        assert_eq!(
            (endpoint.trsvcid, endpoint.nqn.as_str()),
            (4420, "nqn.test:a")
        );
    }

    #[test]
    fn wiping_an_untouched_target_does_nothing() {
        wipe(configfs().path()).unwrap();
    }
}
