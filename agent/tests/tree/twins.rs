//! Twins: the same host told differently. Each must get the same answer.

use std::collections::BTreeMap;

use super::{Controller, DiskKind, Node, Subsystem, Tree, parse};

/// What becomes of an attribute that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// ENOENT.
    Missing,
    /// ENXIO, which stands for every errno that a driver gives.
    Errno,
    /// EISDIR on reading.
    ReadError,
    /// Never comes back.
    Blocks,
    /// More than an attribute can be.
    Megabyte,
    /// Not text.
    Binary,
    /// Zero bytes among its text.
    Nul,
}

impl Fault {
    pub(super) fn node(self) -> Option<Node> {
        Some(match self {
            Self::Missing => return None,
            Self::Errno => Node::Socket,
            Self::ReadError => Node::Dir,
            Self::Blocks => Node::Fifo,
            Self::Megabyte => Node::File("x".repeat(1 << 20)),
            Self::Binary => Node::Binary,
            Self::Nul => Node::File("a\0b\n".to_owned()),
        })
    }
}

/// How the kernel or a tool spells addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AddressSpelling {
    #[default]
    AsWritten,
    /// Blanks between the fields.
    Blanks,
    /// IPv6 digits in capitals.
    Capitals,
    /// With the socket's own address.
    WithSource,
}

impl AddressSpelling {
    pub(super) fn respell(self, address: &str) -> String {
        match self {
            Self::AsWritten => address.to_owned(),
            Self::Blanks => address
                .replace(",trsvcid", " trsvcid")
                .replace(",host_", " host_"),
            Self::Capitals => {
                let (zone, hex) = (address.find('%'), |text: &str| {
                    text.replace("traddr=fe80", "traddr=FE80")
                        .replace("2001:db8", "2001:DB8")
                });
                match zone {
                    Some(at) => format!("{}{}", hex(&address[..at]), &address[at..]),
                    None => hex(address),
                }
            }
            Self::WithSource if address.contains("src_addr") || !address.contains("traddr=") => {
                address.to_owned()
            }
            Self::WithSource => format!("{address},src_addr=10.9.9.9"),
        }
    }
}

impl Tree {
    /// Every number another one; relations stay.
    pub(crate) fn renumbered(&self, seed: u32) -> Self {
        let shift = |number: u32, by: u32| (number * 7 + by) % 1009;
        let mut twin = self.clone();
        // Paths of extra files would have to follow; fixtures that have some are not renumbered.
        if !self.extra.is_empty() {
            return twin;
        }
        let controller = |controller: &mut Controller, namespaces: u32| {
            controller
                .attributes
                .entry("cntlid".to_owned())
                .or_insert_with(|| Some((controller.number + 1).to_string()));
            controller.number = shift(controller.number, seed);
            for disk in &mut controller.disks {
                let nsid = disk.namespace.to_string();
                disk.attributes
                    .entry("nsid".to_owned())
                    .or_insert(Some(nsid));
                disk.namespace = shift(disk.namespace, namespaces);
            }
        };
        for subsystem in &mut twin.subsystems {
            let heads = seed + 3 + subsystem.number;
            subsystem.number = shift(subsystem.number, seed + 1);
            let said: BTreeMap<u32, _> = subsystem
                .namespaces
                .iter()
                .map(|ns| (ns.number, ns.attributes.get("nsid").cloned()))
                .collect();
            for one in &mut subsystem.controllers {
                for disk in &mut one.disks {
                    if let Some(Some(nsid)) = said.get(&disk.namespace) {
                        disk.attributes
                            .entry("nsid".to_owned())
                            .or_insert(nsid.clone());
                    }
                }
                controller(one, heads);
            }
            for namespace in &mut subsystem.namespaces {
                let nsid = namespace.number.to_string();
                namespace
                    .attributes
                    .entry("nsid".to_owned())
                    .or_insert(Some(nsid));
                namespace.number = shift(namespace.number, heads);
            }
        }
        for one in &mut twin.unattached {
            controller(one, seed);
        }
        twin
    }

    /// Controllers are listed by their class only, or linked from their subsystems only.
    pub(crate) fn listed_by(&self, class: bool) -> Self {
        Self {
            class_lists: class,
            subsystems_link: !class,
            ..self.clone()
        }
    }

    /// With this many healthy subsystems, local drives, and everything else that stands beside NVMe objects.
    pub(crate) fn crowded(&self, crowd: u32) -> Self {
        let mut twin = self.clone();
        let first = 20_000;
        for number in first..first + crowd {
            let leg = |controller: u32, port: u32, ana: &str| {
                format!(
                    "controller {controller} address=traddr=10.77.{}.{},trsvcid={port}\nleg 1 {ana}\n",
                    (number - first) / 100,
                    (number - first) % 100 + 1,
                )
            };
            let text = format!(
                "subsystem {number} nqn=nqn.2019-01.com.example:crowd-{number}\nhead 1\n{}{}",
                leg(number, 4420, "optimized"),
                leg(number + 10_000, 4421, "non-optimized"),
            );
            twin.subsystems.extend(parse(&text).subsystems);
        }
        for number in [40_000, 40_001] {
            let text = format!(
                "subsystem {number} nqn=\"nqn.2014.08.org.nvmexpress:1bb11bb1SERIAL{number}            Example SSD 530 4000\"\n\
                 head 1\n\
                 controller {number} transport=pcie address=0000:{}:00.0 -hostnqn -hostid -ctrl_loss_tmo -reconnect_delay \
                 -fast_io_fail_tmo -delete_controller\nleg 1 -ana_state\n",
                number - 39_939,
            );
            twin.subsystems.extend(parse(&text).subsystems);
        }
        let ctl = "devices/virtual/nvme-fabrics/ctl";
        for path in [
            format!("{ctl}/nvme{first}/power"),
            format!("{ctl}/nvme{first}/hwmon3"),
            format!("{ctl}/nvme{first}/ng{first}n1"),
            "class/nvme-generic/ng0n1".to_owned(),
            "class/nvme/nvme-fabrics".to_owned(),
            "block/sda".to_owned(),
            "block/nvme-generic".to_owned(),
        ] {
            twin.extra.insert(path, Node::Dir);
        }
        twin
    }

    /// Without an attribute, wherever it would be.
    pub(crate) fn without(&self, attribute: &str) -> Self {
        let mut twin = self.clone();
        twin.stripped.push(attribute.to_owned());
        twin
    }

    /// With secrets beside the attributes.
    pub(crate) fn with_secrets(&self, secret: &str) -> Self {
        let mut twin = self.clone();
        for name in ["dhchap_secret", "dhchap_ctrl_secret", "tls_key"] {
            twin.secrets.push((name.to_owned(), secret.to_owned()));
        }
        twin
    }

    pub(crate) fn spelled(&self, addresses: AddressSpelling) -> Self {
        Self {
            addresses,
            ..self.clone()
        }
    }

    pub(crate) fn with_fault(&self, path: &str, fault: Fault) -> Self {
        let mut twin = self.clone();
        twin.faults.insert(path.to_owned(), fault);
        twin
    }

    /// The kernel's name of the object that an attribute's path belongs to.
    pub(crate) fn object_of(path: &str) -> Option<&str> {
        path.rsplit('/').nth(1)
    }

    /// Every attribute of every object, by path.
    pub(crate) fn attribute_paths(&self) -> Vec<String> {
        let files = self.files().into_iter();
        files
            .filter(|(path, node)| matches!(node, Node::File(_)) && path.starts_with("devices/"))
            .map(|(path, _)| path)
            .collect()
    }

    /// The subsystems' numbers with their NQNs, for tests that look one up.
    pub(crate) fn nqns(&self) -> Vec<String> {
        self.subsystems.iter().filter_map(Subsystem::nqn).collect()
    }

    pub(crate) fn has_plain_disks(&self) -> bool {
        let controllers = self.subsystems.iter().flat_map(|s| &s.controllers);
        controllers
            .flat_map(|c| &c.disks)
            .any(|disk| disk.kind == DiskKind::Plain)
    }
}

impl Subsystem {
    pub(crate) fn nqn(&self) -> Option<String> {
        self.attributes.get("nqn").cloned().flatten()
    }
}
