//! The host side: connects through `/dev/nvme-fabrics`, watches controllers in sysfs, disconnects.
//!
//! Needs no nvme-cli: what it does is what any host does, in the fewest calls.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::attribute;
use super::clock::{BootNs, Span};
use super::wait::{self, Look};

/// The lab's host NQN; goes with [`HOST_ID`].
pub const HOST_NQN: &str = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";
/// The lab's host identifier.
pub const HOST_ID: &str = "11111111-2222-3333-4444-555555555555";

const FABRICS: &str = "/dev/nvme-fabrics";

/// Where a controller connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// NQN of the subsystem.
    pub nqn: String,
    /// IPv4 address of the port.
    pub traddr: Ipv4Addr,
    /// TCP port.
    pub trsvcid: u16,
}

/// How a controller behaves when its target is gone; seconds.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Between two attempts to reconnect.
    pub reconnect_delay: u32,
    /// Until the controller is given up.
    pub ctrl_loss_tmo: u32,
    /// Until I/O fails instead of being held; it is held for ever without.
    pub fast_io_fail_tmo: Option<u32>,
    /// Until an unanswered keep-alive is a lost controller; the kernel's own without.
    pub keep_alive_tmo: Option<u32>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            reconnect_delay: 1,
            ctrl_loss_tmo: 60,
            fast_io_fail_tmo: None,
            keep_alive_tmo: None,
        }
    }
}

/// Who connects: targets tell hosts apart by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostIdentity {
    /// Its NQN.
    pub nqn: &'static str,
    /// Its identifier, a UUID.
    pub id: &'static str,
}

impl Default for HostIdentity {
    /// The lab's, which is also in /etc/nvme.
    fn default() -> Self {
        Self {
            nqn: HOST_NQN,
            id: HOST_ID,
        }
    }
}

/// The kernel's NVMe host.
#[derive(Debug)]
pub struct Host {
    sys: PathBuf,
}

impl Host {
    /// The host that `sys` (normally `/sys`) shows.
    pub fn new(sys: &Path) -> Self {
        Self {
            sys: sys.to_owned(),
        }
    }

    /// Connects and waits until the controller is live.
    pub fn connect(&self, to: impl Into<Endpoint>) -> Result<Controller> {
        self.connect_with(to, Timeouts::default())
    }

    /// Connects as somebody else and waits until the controller is live.
    pub fn connect_as(&self, host: HostIdentity, to: impl Into<Endpoint>) -> Result<Controller> {
        self.connect_by(&to.into(), host, Timeouts::default())
    }

    /// Connects with other time-outs and waits until the controller is live.
    pub fn connect_with(&self, to: impl Into<Endpoint>, timeouts: Timeouts) -> Result<Controller> {
        self.connect_by(&to.into(), HostIdentity::default(), timeouts)
    }

    fn connect_by(
        &self,
        to: &Endpoint,
        host: HostIdentity,
        timeouts: Timeouts,
    ) -> Result<Controller> {
        let begin = BootNs::now();
        let instance = write_options(&options(to, host, timeouts))
            .with_context(|| format!("connect to {} at {}:{}", to.nqn, to.traddr, to.trsvcid))?;
        let name = format!("nvme{instance}");
        let controller = Controller {
            dir: self.sys.join("class/nvme").join(&name),
            name,
            connected: Span {
                begin,
                end: BootNs::now(),
            },
        };
        controller.wait_for("live", Duration::from_secs(10))?;
        Ok(controller)
    }

    /// Waits for the multipath block device of a namespace: it appears once a path is live and accessible.
    pub fn head(&self, nqn: &str, nsid: u32) -> Result<Head> {
        wait::until(
            &format!("a head of {nqn} namespace {nsid}"),
            Duration::from_secs(10),
            || {
                let disks = attribute::entries(&self.sys.join("block"))?;
                // A disk can go while it is read: one whose attributes are not there is not the one.
                let head = disks.iter().find(|disk| {
                    let is = |file: &str, value: &str| {
                        attribute::read(&disk.join(file)).is_ok_and(|read| read == value)
                    };
                    // Legs (`nvme0c1n1`) are listed beside heads (`nvme0n1`).
                    !attribute::name(disk).contains('c')
                        && is("device/subsysnqn", nqn)
                        && is("nsid", &nsid.to_string())
                });
                Ok(match head {
                    Some(disk) => Look::Seen(Head {
                        device: Path::new("/dev").join(attribute::name(disk)),
                    }),
                    None => Look::NotYet(format!("{} block devices", disks.len())),
                })
            },
        )
    }

    /// Disconnects every fabrics controller and waits until they are gone.
    pub fn disconnect_all(&self) -> Result<()> {
        for controller in self.fabrics_controllers()? {
            // One that deletes itself meanwhile is as good as deleted.
            if let Err(error) = controller.disconnect()
                && controller.dir.exists()
            {
                return Err(error);
            }
        }
        wait::until(
            "all controllers to be gone",
            Duration::from_secs(20),
            || {
                let left = self.fabrics_controllers()?;
                let names: Vec<_> = left.iter().map(|left| left.name.as_str()).collect();
                Ok(if names.is_empty() {
                    Look::Seen(())
                } else {
                    Look::NotYet(names.join(", "))
                })
            },
        )
    }

    fn fabrics_controllers(&self) -> Result<Vec<Controller>> {
        let mut found = Vec::new();
        for dir in attribute::entries(&self.sys.join("class/nvme"))? {
            let pcie = attribute::read(&dir.join("transport")).is_ok_and(|read| read == "pcie");
            if !pcie {
                let unknown = Span {
                    begin: BootNs(0),
                    end: BootNs(0),
                };
                found.push(Controller {
                    name: attribute::name(&dir),
                    dir,
                    connected: unknown,
                });
            }
        }
        Ok(found)
    }
}

/// One association with the target.
#[derive(Debug, Clone)]
pub struct Controller {
    /// The kernel's name, such as `nvme0`; reused once the controller is gone.
    pub name: String,
    /// When it was connected: nothing else was connecting then, which is how the trace finds it.
    pub connected: Span,
    dir: PathBuf,
}

impl Controller {
    /// Its state as sysfs says it.
    pub fn state(&self) -> Result<String> {
        self.attribute("state")
    }

    /// Any attribute that sysfs has of it.
    pub fn attribute(&self, file: &str) -> Result<String> {
        attribute::read(&self.dir.join(file))
    }

    /// The ANA state of its leg to a namespace; nothing if it has no such leg.
    pub fn leg(&self, nsid: u32) -> Result<Option<String>> {
        for entry in attribute::entries(&self.dir)? {
            let has_it =
                attribute::read(&entry.join("nsid")).is_ok_and(|read| read == nsid.to_string());
            if has_it && let Ok(state) = attribute::read(&entry.join("ana_state")) {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// Waits until its state is `state`.
    pub fn wait_for(&self, state: &str, limit: Duration) -> Result<()> {
        wait::until(&format!("{} to be {state}", self.name), limit, || {
            let seen = self.state()?;
            Ok(if seen == state {
                Look::Seen(())
            } else {
                Look::NotYet(seen)
            })
        })
    }

    /// Deletes it; returns once the kernel has.
    pub fn disconnect(&self) -> Result<()> {
        attribute::write(&self.dir.join("delete_controller"), "1")
    }
}

#[cfg(test)]
impl Controller {
    /// One that is only a name.
    pub(crate) fn named(name: &str) -> Self {
        let never = Span {
            begin: BootNs(0),
            end: BootNs(0),
        };
        Self {
            name: name.to_owned(),
            connected: never,
            dir: PathBuf::new(),
        }
    }
}

/// The multipath block device of a namespace.
#[derive(Debug)]
pub struct Head {
    /// Its device node.
    pub device: PathBuf,
}

/// The option string that the kernel's `nvmf_parse_options` reads.
fn options(to: &Endpoint, host: HostIdentity, timeouts: Timeouts) -> String {
    let mut options = format!(
        "transport=tcp,traddr={},trsvcid={},nqn={},hostnqn={},hostid={},\
         reconnect_delay={},ctrl_loss_tmo={}",
        to.traddr,
        to.trsvcid,
        to.nqn,
        host.nqn,
        host.id,
        timeouts.reconnect_delay,
        timeouts.ctrl_loss_tmo
    );
    let optional = [
        ("fast_io_fail_tmo", timeouts.fast_io_fail_tmo),
        ("keep_alive_tmo", timeouts.keep_alive_tmo),
    ];
    for (key, value) in optional {
        options.extend(value.map(|value| format!(",{key}={value}")));
    }
    options
}

/// Writes the options and returns the new controller's instance number. Blocks for the whole first connect.
fn write_options(options: &str) -> Result<u32> {
    let mut fabrics = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(FABRICS)
        .with_context(|| format!("open {FABRICS}"))?;
    fabrics
        .write_all(options.as_bytes())
        .with_context(|| format!("write {options:?} to {FABRICS}"))?;
    let mut answer = [0; 128];
    let length = fabrics
        .read(&mut answer)
        .with_context(|| format!("read {FABRICS}"))?;
    instance(&String::from_utf8_lossy(&answer[..length]))
}

/// The instance in the kernel's answer, `instance=0,cntlid=1`.
fn instance(answer: &str) -> Result<u32> {
    let mut fields = answer
        .trim_end()
        .split(',')
        .filter_map(|field| field.split_once('='));
    let Some((_, value)) = fields.find(|(key, _)| *key == "instance") else {
        bail!("{FABRICS} answered {answer:?}, without an instance");
    };
    ensure!(
        !value.starts_with('-'),
        "{FABRICS} answered {answer:?}: nothing was connected"
    );
    value
        .parse()
        .with_context(|| format!("{FABRICS} answered {answer:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instance_is_read_from_the_kernels_answer() {
        assert_eq!(instance("instance=12,cntlid=3\n").unwrap(), 12);
        assert!(instance("instance=-1,cntlid=-1,transport=%s\n").is_err());
        assert!(instance("").is_err());
    }

    #[test]
    fn the_options_name_the_endpoint_the_host_and_the_time_outs() {
        let to = Endpoint {
            nqn: "nqn.test:a".to_owned(),
            traddr: Ipv4Addr::new(127, 0, 0, 2),
            trsvcid: 4420,
        };
        let text = options(
            &to,
            HostIdentity::default(),
            Timeouts {
                ctrl_loss_tmo: 30,
                ..Timeouts::default()
            },
        );
        assert!(text.starts_with("transport=tcp,traddr=127.0.0.2,trsvcid=4420,nqn=nqn.test:a,"));
        assert!(text.contains(",hostnqn=nqn.2014-08.org.nvmexpress:uuid:11111111-"));
        assert!(text.ends_with(",reconnect_delay=1,ctrl_loss_tmo=30"));
        let patience = Timeouts {
            fast_io_fail_tmo: Some(2),
            ..Timeouts::default()
        };
        let text = options(&to, HostIdentity::default(), patience);
        assert!(text.ends_with(",ctrl_loss_tmo=60,fast_io_fail_tmo=2"));
    }

    #[test]
    fn a_head_is_found_by_its_subsystem_and_nsid_among_other_disks() {
        let sys = tempfile::tempdir().unwrap();
        let disks = [
            ("nvme0n1", "nqn.a"),
            ("nvme1c1n1", "nqn.b"),
            ("nvme1n1", "nqn.b"),
        ];
        for (disk, nqn) in disks {
            let dir = sys.path().join("block").join(disk);
            fs::create_dir_all(dir.join("device")).unwrap();
            fs::write(dir.join("device/subsysnqn"), format!("{nqn}\n")).unwrap();
            fs::write(dir.join("nsid"), "1\n").unwrap();
        }
        fs::create_dir_all(sys.path().join("block/sda")).unwrap();
        let head = Host::new(sys.path()).head("nqn.b", 1).unwrap();
        assert_eq!(head.device, Path::new("/dev/nvme1n1"));
    }
}
