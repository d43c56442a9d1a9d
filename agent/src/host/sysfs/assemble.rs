//! The model from what a walk read.
//!
//! Never fails. What could not be read, what is missing although its object cannot be without it, and
//! what does not fit together is named in [`Host::unchecked`]; the object stays in the model with what
//! is known of it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::raw::{Name, RawDir, RawTree};
use crate::fabric::{
    AnaGroup, AnaState, Attr, Cntlid, Controller, ControllerCounters, ControllerKind,
    ControllerName, ControllerState, DiscoveryKind, DiskName, Endpoint, Fault, Generation, Head,
    HeadCounters, Host, Layout, Leg, LegCounters, Limit, Multipath, Namespace, Nqn, Nsid, Sectors,
    Subsystem, SubsystemKind, SubsystemName, SysfsAddress, Transport, Unchecked, Uuid,
};

const ENOENT: i32 = rustix::io::Errno::NOENT.raw_os_error();
const ENODEV: i32 = rustix::io::Errno::NODEV.raw_os_error();
const ENOTDIR: i32 = rustix::io::Errno::NOTDIR.raw_os_error();
const ELOOP: i32 = rustix::io::Errno::LOOP.raw_os_error();

/// Makes the model of what was read.
pub(super) fn assemble(tree: RawTree) -> Host {
    let mut assembly = Assembly::default();
    for (object, fault) in &tree.unlisted {
        assembly.unchecked((*object).to_owned(), fault);
    }
    assembly.multipath(&tree);
    for dir in &tree.dirs {
        assembly.directory(dir);
    }
    drop(tree);
    assembly.finish()
}

#[derive(Default)]
struct Assembly {
    host: Host,
    /// One allocation per name: a host's controllers share few.
    nqns: HashSet<Nqn>,
    links: HashMap<ControllerName, SubsystemName>,
    legs: Vec<DiskPart<Leg>>,
    heads: Vec<DiskPart<Option<Head>>>,
}

/// A disk with what it says about its namespace.
struct DiskPart<T> {
    disk: DiskName,
    subsystem: Option<SubsystemName>,
    nsid: Option<Nsid>,
    uuid: Option<Uuid>,
    part: T,
}

impl Assembly {
    fn unchecked(&mut self, object: String, reason: &dyn std::fmt::Display) {
        self.host.unchecked.push(Unchecked {
            object,
            reason: reason.to_string(),
        });
    }

    fn multipath(&mut self, tree: &RawTree) {
        self.host.multipath = match &tree.multipath {
            Some(Ok(text)) => {
                let told = Multipath::from_parameter(text);
                if told.is_none() {
                    self.unchecked(
                        "nvme_core".to_owned(),
                        &format!("multipath: {}", Fault::Malformed),
                    );
                }
                told
            }
            Some(Err(fault)) => {
                self.unchecked("nvme_core".to_owned(), &format!("multipath: {fault}"));
                None
            }
            None => None,
        };
        // The parameter says it best. Without it the shape of one leg's name does.
        if self.host.multipath.is_none()
            && tree
                .dirs
                .iter()
                .any(|dir| matches!(dir.name, Name::Leg { disk, .. } if disk.controller.is_some()))
        {
            self.host.multipath = Some(Multipath::On);
        }
    }

    fn directory(&mut self, dir: &RawDir) {
        if let Err(fault) = dir.inode {
            let (reason, may_be_there) = match fault {
                // It was listed, and is not there: gone in between, or a link to nowhere.
                Fault::Errno(ENOENT | ENODEV) => ("gone while the host was read".to_owned(), false),
                // A link to itself, or to something that is no object of the kernel's.
                Fault::Errno(ENOTDIR | ELOOP) => (format!("not opened: {fault}"), false),
                other => (format!("not opened: {other}"), true),
            };
            self.unchecked(dir.name.object(), &reason);
            if let (true, Name::Controller(name)) = (may_be_there, dir.name) {
                self.host.controllers.push(Controller::unknown(name));
            }
            return;
        }
        let mut fields = Fields {
            dir,
            faults: Vec::new(),
            nqns: &mut self.nqns,
        };
        match dir.name {
            Name::Subsystem(name) => {
                let subsystem = fields.subsystem(name);
                for controller in &dir.links {
                    if let Some(other) = self.links.insert(*controller, name)
                        && other != name
                    {
                        let reason = format!("linked from {other} and {name}");
                        self.host.unchecked.push(Unchecked {
                            object: controller.to_string(),
                            reason,
                        });
                    }
                }
                self.host.subsystems.push(subsystem);
            }
            Name::Controller(name) => {
                let controller = fields.controller(name);
                self.host.controllers.push(controller);
            }
            Name::Leg { disk, controller } => {
                let leg = fields.leg(disk, controller, self.host.multipath);
                self.legs.push(leg);
            }
            Name::Head { disk, subsystem } => {
                let head = fields.head(disk, subsystem);
                self.heads.push(head);
            }
        }
        // One entry a fault: an object that goes while it is read has the same one many times.
        let mut by_fault: Vec<(Fault, Vec<&str>)> = Vec::new();
        for (attribute, fault) in fields.faults {
            match by_fault.iter_mut().find(|(other, _)| *other == fault) {
                Some((_, attributes)) => attributes.push(attribute),
                None => by_fault.push((fault, vec![attribute])),
            }
        }
        for (fault, mut attributes) in by_fault {
            attributes.sort_unstable();
            self.unchecked(
                dir.name.object(),
                &format_args!("{}: {fault}", attributes.join(", ")),
            );
        }
    }

    fn finish(mut self) -> Host {
        self.host.sort();
        self.attach();
        self.place_disks();
        self.host.sort();
        self.host
    }

    /// Finds each controller's subsystem: by the subsystem's link, else by the number in the name of one
    /// of its legs, else by its NQN where only one subsystem has that.
    fn attach(&mut self) {
        let mut by_leg = HashMap::new();
        for part in &self.legs {
            if part.part.layout != Layout::Plain {
                let owner = SubsystemName::from_instance(part.disk.owner);
                by_leg.entry(part.part.controller).or_insert(owner);
            }
        }
        let mut by_nqn: HashMap<Nqn, Option<SubsystemName>> = HashMap::new();
        for subsystem in &self.host.subsystems {
            if let Attr::Value(nqn) = &subsystem.nqn {
                by_nqn
                    .entry(nqn.clone())
                    .and_modify(|only| *only = None)
                    .or_insert(Some(subsystem.name));
            }
        }
        let known: HashMap<_, _> = self
            .host
            .subsystems
            .iter()
            .map(|s| (s.name, s.nqn.clone()))
            .collect();
        let mut disagreeing = HashSet::new();
        for controller in &mut self.host.controllers {
            let nqn = controller.subsysnqn.value();
            controller.subsystem = self
                .links
                .get(&controller.name)
                .or_else(|| {
                    by_leg
                        .get(&controller.name)
                        .filter(|name| known.contains_key(name))
                })
                .copied()
                .or_else(|| nqn.and_then(|nqn| by_nqn.get(nqn).copied().flatten()));
            let subsystem = controller
                .subsystem
                .and_then(|name| known.get_key_value(&name));
            if let (Some(says), Some((name, Attr::Value(its)))) = (nqn, subsystem)
                && says != its
            {
                disagreeing.insert(*name);
            }
        }
        for subsystem in disagreeing {
            self.unchecked(
                subsystem.to_string(),
                &"subsysnqn: not that of its controllers",
            );
        }
    }

    fn place_disks(&mut self) {
        let mut namespaces: HashMap<(SubsystemName, u32), Namespace> = HashMap::new();
        let attached: HashMap<_, _> = self
            .host
            .controllers
            .iter()
            .map(|c| (c.name, c.subsystem))
            .collect();
        let mut homeless = Vec::new();
        for part in std::mem::take(&mut self.legs) {
            let subsystem = attached.get(&part.part.controller).copied().flatten();
            match subsystem {
                Some(subsystem) => {
                    let named = SubsystemName::from_instance(part.disk.owner);
                    if part.part.layout == Layout::Multipath && named != subsystem {
                        homeless.push((
                            part.disk,
                            format!("named after {named}, found in {subsystem}"),
                        ));
                    }
                    let namespace = part.namespace_in(&mut namespaces, subsystem);
                    if let (Some(has), Some(says)) = (namespace.nsid, part.nsid)
                        && has != says
                    {
                        homeless.push((
                            part.disk,
                            format!("nsid {says} where its siblings have {has}"),
                        ));
                    }
                    namespace.legs.push(part.part);
                }
                None => homeless.push((part.disk, "its controller has no subsystem".to_owned())),
            }
        }
        for part in std::mem::take(&mut self.heads) {
            // A disk that only `block` lists: a head's name begins with its subsystem's number.
            let named = SubsystemName::from_instance(part.disk.owner);
            let subsystem = part.subsystem.or_else(|| {
                let on = self.host.multipath == Some(Multipath::On);
                self.host.subsystem(named).filter(|_| on).map(|s| s.name)
            });
            match subsystem {
                Some(subsystem) => {
                    let namespace = part.namespace_in(&mut namespaces, subsystem);
                    if let (Some(has), Some(says)) = (namespace.nsid, part.nsid)
                        && has != says
                    {
                        homeless
                            .push((part.disk, format!("nsid {says} where its legs have {has}")));
                    }
                    namespace.head = part.part;
                }
                None => homeless.push((part.disk, "belongs to no subsystem".to_owned())),
            }
        }
        for (disk, reason) in homeless {
            self.unchecked(disk.to_string(), &reason);
        }
        let mut by_subsystem: HashMap<SubsystemName, Vec<Namespace>> = HashMap::new();
        for ((subsystem, _), namespace) in namespaces {
            by_subsystem.entry(subsystem).or_default().push(namespace);
        }
        for subsystem in &mut self.host.subsystems {
            subsystem.namespaces = by_subsystem.remove(&subsystem.name).unwrap_or_default();
        }
    }
}

impl<T> DiskPart<T> {
    fn namespace_in<'n>(
        &self,
        namespaces: &'n mut HashMap<(SubsystemName, u32), Namespace>,
        subsystem: SubsystemName,
    ) -> &'n mut Namespace {
        let instance = self.disk.head;
        let namespace = namespaces
            .entry((subsystem, instance))
            .or_insert_with(|| Namespace {
                instance,
                nsid: None,
                uuid: None,
                head: None,
                legs: Vec::new(),
            });
        namespace.nsid = namespace.nsid.or(self.nsid);
        namespace.uuid = namespace.uuid.or(self.uuid);
        namespace
    }
}

/// One directory's attributes, typed, with what went wrong.
struct Fields<'a> {
    dir: &'a RawDir,
    faults: Vec<(&'static str, Fault)>,
    nqns: &'a mut HashSet<Nqn>,
}

impl Fields<'_> {
    /// An attribute that the object may be without.
    fn text(&mut self, attribute: &'static str) -> Attr<&str> {
        let outcome = match self.dir.reading(attribute) {
            None => return Attr::Unset,
            Some(Ok(text)) => match text.trim_ascii() {
                "" => return Attr::Unset,
                "(efault)" | "(null)" => Err(Fault::HalfMade),
                _ => Ok(text),
            },
            Some(Err(fault)) => Err(fault),
        };
        match outcome {
            Ok(text) => Attr::Value(text),
            Err(fault) => {
                self.faults.push((attribute, fault));
                Attr::Unreadable(fault)
            }
        }
    }

    /// The same, made into a value.
    fn parsed<T>(&mut self, attribute: &'static str, parse: impl Fn(&str) -> Option<T>) -> Attr<T> {
        let parsed = self
            .text(attribute)
            .and_then(|text| match parse(text.trim_ascii()) {
                Some(value) => Attr::Value(value),
                None => Attr::Unreadable(Fault::Malformed),
            });
        if matches!(parsed, Attr::Unreadable(Fault::Malformed))
            && !self.faults.iter().any(|(name, _)| *name == attribute)
        {
            self.faults.push((attribute, Fault::Malformed));
        }
        parsed
    }

    fn number<T: std::str::FromStr>(&mut self, attribute: &'static str) -> Attr<T> {
        self.parsed(attribute, |text| text.parse().ok())
    }

    fn boxed(&mut self, attribute: &'static str) -> Option<Box<str>> {
        self.text(attribute)
            .value()
            .map(|text| text.trim_ascii().into())
    }

    /// An attribute that every object of this kind has.
    fn required<T>(&mut self, attribute: &'static str, value: Attr<T>) -> Attr<T> {
        match value {
            Attr::Unset => {
                self.faults.push((attribute, Fault::Missing));
                Attr::Unreadable(Fault::Missing)
            }
            known => known,
        }
    }

    fn nqn(&mut self, attribute: &'static str) -> Attr<Nqn> {
        let nqns = std::mem::take(self.nqns);
        let nqn = match self.text(attribute) {
            Attr::Value(text) => {
                Attr::Value(nqns.get(text).cloned().unwrap_or_else(|| Nqn::new(text)))
            }
            Attr::Unset => Attr::Unset,
            Attr::Unreadable(fault) => Attr::Unreadable(fault),
        };
        *self.nqns = nqns;
        if let Attr::Value(nqn) = &nqn {
            self.nqns.insert(nqn.clone());
        }
        nqn
    }

    fn subsystem(&mut self, name: SubsystemName) -> Subsystem {
        let nqn = self.nqn("subsysnqn");
        Subsystem {
            name,
            nqn: self.required("subsysnqn", nqn),
            kind: self.parsed("subsystype", |text| Some(SubsystemKind::new(text))),
            model: self.boxed("model"),
            serial: self.boxed("serial"),
            firmware: self.boxed("firmware_rev"),
            iopolicy: self.boxed("iopolicy"),
            namespaces: Vec::new(),
        }
    }

    fn controller(&mut self, name: ControllerName) -> Controller {
        let transport = self.parsed("transport", |text| Some(Transport::new(text)));
        let transport = self.required("transport", transport);
        let (endpoint, src_addr) = self.endpoint(&transport);
        let state_text = self.boxed("state");
        if state_text.is_none() && !self.faults.iter().any(|(name, _)| *name == "state") {
            self.faults.push(("state", Fault::Missing));
        }
        let state = state_text
            .as_deref()
            .map_or(ControllerState::Unknown, ControllerState::from_sysfs);
        let subsysnqn = self.nqn("subsysnqn");
        let mut hostnqn = self.nqn("hostnqn");
        let limit = Limit::from_sysfs;
        let mut reconnect_delay = self.parsed("reconnect_delay", limit);
        let mut ctrl_loss_tmo = self.parsed("ctrl_loss_tmo", limit);
        if transport.value().is_some_and(Transport::is_fabric) {
            // The kernel shows these of whatever was connected (`nvme_dev_attrs_are_visible`, 6.1 to 7.2).
            hostnqn = self.required("hostnqn", hostnqn);
            reconnect_delay = self.required("reconnect_delay", reconnect_delay);
            ctrl_loss_tmo = self.required("ctrl_loss_tmo", ctrl_loss_tmo);
        }
        Controller {
            name,
            generation: self.dir.inode.ok().map(Generation),
            subsystem: None,
            subsysnqn: self.required("subsysnqn", subsysnqn),
            endpoint,
            src_addr,
            hostnqn,
            hostid: self.number("hostid"),
            cntlid: self.number("cntlid").map(Cntlid),
            kind: self.parsed("cntrltype", |text| Some(ControllerKind::new(text))),
            discovery: self.parsed("dctype", |text| Some(DiscoveryKind::new(text))),
            transport,
            state,
            unknown_state: state_text.filter(|_| state == ControllerState::Unknown),
            reconnect_delay,
            ctrl_loss_tmo,
            fast_io_fail_tmo: self.parsed("fast_io_fail_tmo", limit),
            kato: self.parsed("kato", limit),
            deletable: Some(self.dir.deletable),
            counters: ControllerCounters {
                errors: self.counter("diag/command_error_count"),
                resets: self.counter("diag/reset_count"),
                reconnects: self.counter("diag/reconnect_count"),
            },
        }
    }

    fn endpoint(&mut self, transport: &Attr<Transport>) -> (Attr<Endpoint>, Option<Box<str>>) {
        let address = self.text("address");
        let (text, transport) = match (address, transport) {
            (Attr::Value(text), Attr::Value(transport)) => (text, transport),
            (Attr::Value(_), _) => return (Attr::Unreadable(Fault::Missing), None),
            (Attr::Unreadable(fault), _) => return (Attr::Unreadable(fault), None),
            (Attr::Unset, Attr::Value(Transport::Tcp | Transport::Rdma | Transport::Fc)) => {
                return (self.required("address", Attr::Unset), None);
            }
            (Attr::Unset, _) => return (Attr::Unset, None),
        };
        let address = SysfsAddress::parse(text);
        let source = address.src_addr.map(Into::into);
        (Endpoint::from_sysfs(transport, &address), source)
    }

    /// A counter says nothing about its object: one that cannot be read is not there.
    fn counter(&self, attribute: &str) -> Option<u64> {
        self.dir.reading(attribute)?.ok()?.trim_ascii().parse().ok()
    }

    /// The UUID, unless it is that of a namespace without one.
    fn uuid(&mut self) -> Option<Uuid> {
        self.number::<Uuid>("uuid")
            .value()
            .copied()
            .filter(|uuid| !uuid.is_nil())
    }

    fn nsid(&mut self) -> Option<Nsid> {
        let nsid = self.number("nsid").map(Nsid);
        self.required("nsid", nsid).value().copied()
    }

    fn size(&mut self) -> Attr<Sectors> {
        let size = self.number("size").map(Sectors);
        self.required("size", size)
    }

    fn leg(
        &mut self,
        disk: DiskName,
        controller: ControllerName,
        multipath: Option<Multipath>,
    ) -> DiskPart<Leg> {
        let layout = match (disk.controller, multipath) {
            (Some(_), _) => Layout::Multipath,
            (None, Some(Multipath::Off)) => Layout::Plain,
            (None, _) => Layout::Private,
        };
        let group = self.number("ana_grpid").map(AnaGroup);
        let mut ana = self.parsed("ana_state", AnaState::from_sysfs);
        if ana == Attr::Unset && group != Attr::Unset {
            // The kernel shows both or neither.
            ana = self.required("ana_state", ana);
        }
        DiskPart {
            disk,
            subsystem: None,
            nsid: self.nsid(),
            uuid: self.uuid(),
            part: Leg {
                name: disk,
                controller,
                layout,
                ana,
                group: group.value().copied(),
                size: self.size(),
                counters: LegCounters {
                    retries: self
                        .counter("diag/command_retries_count")
                        .or_else(|| self.counter("diag/command_retry_count")),
                    errors: self.counter("diag/command_error_count"),
                    failovers: self.counter("diag/multipath_failover_count"),
                },
            },
        }
    }

    fn head(&mut self, disk: DiskName, subsystem: Option<SubsystemName>) -> DiskPart<Option<Head>> {
        let delay: Attr<u64> = self.number("delayed_removal_secs");
        DiskPart {
            disk,
            subsystem,
            nsid: self.nsid(),
            uuid: self.uuid(),
            part: Some(Head {
                name: disk,
                size: self.size(),
                delayed_removal: delay.value().copied().map(Duration::from_secs),
                counters: HeadCounters {
                    requeued: self.counter("diag/io_requeue_no_usable_path_count"),
                    failed: self.counter("diag/io_fail_no_available_path_count"),
                },
            }),
        }
    }
}
