//! Objects to files, where a 6.8 kernel has them.

use std::collections::BTreeMap;

use super::{Attributes, Controller, Disk, DiskKind, Namespace, Node, Subsystem, Tree};

const CONTROLLER: [(&str, &str); 14] = [
    ("transport", "tcp"),
    ("state", "live"),
    ("cntrltype", "io"),
    ("dctype", "none"),
    ("kato", "5"),
    ("reconnect_delay", "10"),
    ("ctrl_loss_tmo", "600"),
    ("fast_io_fail_tmo", "off"),
    ("queue_count", "9"),
    ("sqsize", "127"),
    (
        "hostnqn",
        "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-0000-4000-8000-00000000000a",
    ),
    ("hostid", "aaaaaaaa-0000-4000-8000-00000000000a"),
    ("numa_node", "-1"),
    ("delete_controller", ""),
];

const SUBSYSTEM: [(&str, &str); 5] = [
    ("subsystype", "nvm"),
    ("iopolicy", "numa"),
    ("model", "Example Volume                          "),
    ("serial", "ha                  "),
    ("firmware_rev", "25.01   "),
];

impl Tree {
    /// Every file, by its path below `/sys`.
    pub(crate) fn files(&self) -> BTreeMap<String, Node> {
        let mut files = Files::default();
        files.dir("class/nvme");
        files.dir("class/nvme-subsystem");
        files.dir("block");
        if let Some(multipath) = &self.multipath {
            files.file("module/nvme_core/parameters/multipath", multipath);
        }
        for subsystem in &self.subsystems {
            self.subsystem(&mut files, subsystem);
        }
        for controller in &self.unattached {
            self.controller(&mut files, None, controller);
        }
        let mut files = files.0;
        files.extend(self.extra.clone());
        for (path, fault) in &self.faults {
            files.remove(path);
            if let Some(node) = fault.node() {
                files.insert(path.clone(), node);
            }
        }
        files
    }

    fn subsystem(&self, files: &mut Files, subsystem: &Subsystem) {
        let name = format!("nvme-subsys{}", subsystem.number);
        let home = format!("devices/virtual/nvme-subsystem/{name}");
        files.dir(&home);
        files.link(
            &format!("class/nvme-subsystem/{name}"),
            &format!("../../{home}"),
        );
        let mut attributes = with_defaults(&SUBSYSTEM, &subsystem.attributes);
        if let Some(nqn) = attributes.remove("nqn") {
            attributes.entry("subsysnqn".to_owned()).or_insert(nqn);
        }
        self.attributes(files, &home, &attributes);
        for namespace in &subsystem.namespaces {
            if namespace.has_head {
                self.head(files, &home, subsystem.number, namespace);
            }
        }
        for controller in &subsystem.controllers {
            self.controller(files, Some(subsystem), controller);
            if self.subsystems_link {
                files.link(
                    &format!("{home}/nvme{}", controller.number),
                    &format!("../../nvme-fabrics/ctl/nvme{}", controller.number),
                );
            }
        }
    }

    fn head(&self, files: &mut Files, home: &str, subsystem: u32, namespace: &Namespace) {
        let disk = format!("nvme{subsystem}n{}", namespace.number);
        let path = format!("{home}/{disk}");
        files.dir(&path);
        files.link(&format!("block/{disk}"), &format!("../{path}"));
        let nsid = namespace.number.to_string();
        let defaults = [("hidden", "0"), ("size", "204800"), ("nsid", nsid.as_str())];
        self.attributes(
            files,
            &path,
            &with_defaults(&defaults, &namespace.attributes),
        );
    }

    fn controller(
        &self,
        files: &mut Files,
        subsystem: Option<&Subsystem>,
        controller: &Controller,
    ) {
        let name = format!("nvme{}", controller.number);
        let home = format!("devices/virtual/nvme-fabrics/ctl/{name}");
        files.dir(&home);
        if self.class_lists {
            files.link(&format!("class/nvme/{name}"), &format!("../../{home}"));
        }
        let mut attributes = with_defaults(&CONTROLLER, &controller.attributes);
        let cntlid = (controller.number + 1).to_string();
        attributes
            .entry("cntlid".to_owned())
            .or_insert(Some(cntlid));
        let nqn = subsystem.and_then(|s| s.attributes.get("nqn").or(s.attributes.get("subsysnqn")));
        let nqn = nqn.cloned().unwrap_or_else(|| Some("(efault)".to_owned()));
        attributes.entry("subsysnqn".to_owned()).or_insert(nqn);
        if let Some(Some(address)) = attributes.get_mut("address") {
            *address = self.addresses.respell(address);
        }
        self.attributes(files, &home, &attributes);
        for (name, text) in &self.secrets {
            files.file(&format!("{home}/{name}"), text);
        }
        for disk in &controller.disks {
            self.disk(files, &home, subsystem, controller.number, disk);
        }
    }

    fn disk(
        &self,
        files: &mut Files,
        home: &str,
        subsystem: Option<&Subsystem>,
        controller: u32,
        disk: &Disk,
    ) {
        let owner = subsystem.map_or(0, |s| s.number);
        let name = match disk.kind {
            DiskKind::Leg => format!("nvme{owner}c{controller}n{}", disk.namespace),
            DiskKind::Private => format!("nvme{owner}n{}", disk.namespace),
            DiskKind::Plain => format!("nvme{controller}n{}", disk.namespace),
        };
        let path = format!("{home}/{name}");
        files.dir(&path);
        files.link(&format!("block/{name}"), &format!("../{path}"));
        let namespace = subsystem
            .and_then(|s| s.namespaces.iter().find(|ns| ns.number == disk.namespace))
            .map(|ns| ns.attributes.clone())
            .unwrap_or_default();
        let hidden = if disk.kind == DiskKind::Leg { "1" } else { "0" };
        let nsid = disk.namespace.to_string();
        let defaults = [
            ("hidden", hidden),
            ("size", "204800"),
            ("nsid", nsid.as_str()),
        ];
        let mut attributes = with_defaults(&defaults, &disk.attributes);
        for name in ["nsid", "uuid"] {
            if let (Some(value), false) = (namespace.get(name), disk.attributes.contains_key(name))
            {
                attributes.insert(name.to_owned(), value.clone());
            }
        }
        // The kernel shows a group wherever it shows a state.
        let group = attributes.get("nsid").cloned().flatten();
        if attributes.get("ana_state").is_some_and(Option::is_some) {
            attributes.entry("ana_grpid".to_owned()).or_insert(group);
        }
        self.attributes(files, &path, &attributes);
    }

    fn attributes(&self, files: &mut Files, home: &str, attributes: &Attributes) {
        for (name, value) in attributes {
            if let Some(text) = value
                && !self.stripped.contains(name)
            {
                files.file(&format!("{home}/{name}"), text);
            }
        }
    }
}

fn with_defaults(defaults: &[(&str, &str)], given: &Attributes) -> Attributes {
    let mut attributes: Attributes = defaults
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())))
        .collect();
    attributes.extend(given.clone());
    attributes
}

#[derive(Default)]
struct Files(BTreeMap<String, Node>);

impl Files {
    fn dir(&mut self, path: &str) {
        self.0.insert(path.to_owned(), Node::Dir);
    }

    fn file(&mut self, path: &str, text: &str) {
        // The kernel ends every attribute with a line feed.
        self.0
            .insert(path.to_owned(), Node::File(format!("{text}\n")));
    }

    fn link(&mut self, path: &str, target: &str) {
        self.0
            .insert(path.to_owned(), Node::Link(target.to_owned()));
    }
}
