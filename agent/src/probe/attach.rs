//! Loading the object and attaching each program, with a report of what came of it.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use aya::{
    Ebpf, EbpfError, EbpfLoader,
    maps::RingBuf,
    programs::{KProbe, Program, ProgramError},
};
use pathwarden_ebpf::Field;

use super::{
    Unavailable,
    debug_lines::DebugLines,
    fields::{self, KernelFields},
    object,
    plan::{PROBES, Probe, When},
    programs::Programs,
    ring::Ring,
};

/// What became of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeState {
    /// It fires, in this function.
    Attached(&'static str),
    /// It is attached when a window opens, and detached when it closes.
    OnDemand,
    /// This kernel does without, and why.
    NotWanted(&'static str),
    /// It does not fire, and why.
    Missing(String),
}

/// What became of all of them.
#[derive(Debug, Clone)]
pub struct AttachReport {
    /// In the order of [`PROBES`].
    pub probes: Vec<(&'static Probe, ProbeState)>,
    /// What the programs know of this kernel.
    pub fields: KernelFields,
}

impl AttachReport {
    /// How many fire.
    #[must_use]
    pub fn attached(&self) -> usize {
        let fires = |state: &ProbeState| matches!(state, ProbeState::Attached(_));
        self.probes.iter().filter(|(_, state)| fires(state)).count()
    }

    /// How many should: those that do, and those that are missed because nothing else tells the same.
    #[must_use]
    pub fn wanted(&self) -> usize {
        let wanted = |(probe, state): &&(&Probe, ProbeState)| match state {
            ProbeState::Attached(_) => true,
            ProbeState::Missing(_) => probe.otherwise.is_none(),
            ProbeState::OnDemand | ProbeState::NotWanted(_) => false,
        };
        self.probes.iter().filter(wanted).count()
    }
}

/// Programs that run.
#[derive(Debug)]
pub struct Attached {
    /// Their events.
    pub ring: Ring,
    /// What came of each.
    pub report: AttachReport,
    /// Themselves.
    pub programs: Programs,
}

/// Loads the object for the running kernel and attaches what can be attached. The ring is this large; a power of two,
/// and pages.
pub fn attach(ring_bytes: u32) -> Result<Attached, Unavailable> {
    let begun = Instant::now();
    let object = object::embedded().ok_or(Unavailable::NotBuilt)?;
    driver_is_there(Path::new("/sys/module/nvme_core"))?;
    kprobes_are_there(Path::new("/sys/bus/event_source/devices/kprobe/type"))?;
    // The loader reads all of the kernel's types as it is made, wanted or not: meanwhile the fields are resolved. They
    // are not wanted, as offsets are globals: no relocation against the kernel's types. Given back by the thread that
    // took them, before anything that stays is put behind them, they leave no hole.
    let (loader, fields) = thread::scope(|scope| {
        let loader = scope.spawn(|| {
            let mut loader = EbpfLoader::new();
            loader.btf(None);
            loader
        });
        let fields = fields::resolve(Path::new(fields::BTF_DIR));
        (loader.join().unwrap_or_default(), fields)
    });
    let fields = fields?;
    let types_ms = millis(begun);
    let own = OwnNumbers::read(&fields);
    let mut ebpf = load(loader, object, &fields, &own, ring_bytes)?;
    let object_ms = millis(begun) - types_ms;
    let mut probes = Vec::with_capacity(PROBES.len());
    for probe in PROBES {
        let program = ebpf.program_mut(probe.program);
        let state = attach_probe(probe, program, own.reconnect_has_status != 0)?;
        if let (true, ProbeState::Missing(reason)) = (probe.mandatory, &state) {
            let reason = reason.clone();
            return Err(Unavailable::Mandatory {
                function: probe.function(),
                reason,
            });
        }
        probes.push((probe, state));
    }
    let programs_ms = millis(begun) - object_ms - types_ms;
    tracing::debug!(types_ms, object_ms, programs_ms, "probes attached");
    let map = ebpf.take_map("EVENTS").ok_or_else(|| no_map("EVENTS"))?;
    let ring = RingBuf::try_from(map).map_err(|error| Unavailable::Load(error.into()))?;
    let ring = Ring::new(ring, DebugLines::of(&mut ebpf));
    Ok(Attached {
        ring,
        report: AttachReport { probes, fields },
        programs: Programs::new(ebpf),
    })
}

fn load<'f>(
    mut loader: EbpfLoader<'f>,
    object: &[u8],
    fields: &'f KernelFields,
    own: &'f OwnNumbers,
    ring_bytes: u32,
) -> Result<Ebpf, Unavailable> {
    loader.map_max_entries("EVENTS", ring_bytes);
    for (field, offset) in Field::ALL.iter().zip(&fields.offsets) {
        loader.override_global(field.global, offset, true);
    }
    loader
        .override_global("RECONNECT_HAS_STATUS", &own.reconnect_has_status, true)
        .override_global("AGENT_TGID", &own.tgid, true)
        .override_global("AGENT_PIDNS_DEVICE", &own.pidns_device, true)
        .override_global("AGENT_PIDNS_INODE", &own.pidns_inode, true);
    loader.load(object).map_err(|error| match error {
        EbpfError::MapError(aya::maps::MapError::CreateError { io_error, .. })
            if io_error.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            Unavailable::NotPermitted
        }
        error => Unavailable::Load(error.into()),
    })
}

fn attach_probe(
    probe: &Probe,
    program: Option<&mut Program>,
    status_is_given: bool,
) -> Result<ProbeState, Unavailable> {
    let kprobe = program.ok_or(ProgramError::NotLoaded);
    let kprobe = kprobe.and_then(<&mut KProbe>::try_from);
    let attempt = kprobe.and_then(|kprobe| match probe.when {
        When::StatusIsNotGiven if status_is_given => Ok(ProbeState::NotWanted(
            "the reconnect decision is given the status",
        )),
        When::WindowIsOpen => kprobe.load().map(|()| ProbeState::OnDemand),
        _ => attach_one(kprobe, probe).map(ProbeState::Attached),
    });
    match attempt {
        Ok(state) => Ok(state),
        Err(error) if not_permitted(&error) => Err(Unavailable::NotPermitted),
        Err(error) => Ok(ProbeState::Missing(reason(&error))),
    }
}

/// Attaches a program to the first of its functions that there is.
pub(super) fn attach_one(
    program: &mut KProbe,
    probe: &Probe,
) -> Result<&'static str, ProgramError> {
    if program.fd().is_err() {
        program.load()?;
    }
    let mut last = ProgramError::NotLoaded;
    for function in probe.functions {
        match program.attach(function, 0) {
            Ok(_) => return Ok(function),
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub(super) fn program<'e>(ebpf: &'e mut Ebpf, name: &str) -> Result<&'e mut KProbe, ProgramError> {
    let program = ebpf.program_mut(name).ok_or(ProgramError::NotLoaded)?;
    program.try_into()
}

/// Why a probe is missing, in a few words.
pub(super) fn reason(error: &ProgramError) -> String {
    match io_error(error).map(std::io::Error::kind) {
        Some(std::io::ErrorKind::NotFound) => {
            "no such function (inlined, renamed, or its module is not loaded)".into()
        }
        Some(std::io::ErrorKind::InvalidInput) => "the function cannot be probed".into(),
        _ => error.to_string(),
    }
}

fn not_permitted(error: &ProgramError) -> bool {
    io_error(error).is_some_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

fn io_error(error: &ProgramError) -> Option<&std::io::Error> {
    match error {
        ProgramError::SyscallError(error) => Some(&error.io_error),
        ProgramError::LoadError { io_error, .. } => Some(io_error),
        _ => None,
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn driver_is_there(module: &Path) -> Result<(), Unavailable> {
    if module.exists() {
        Ok(())
    } else {
        Err(Unavailable::NoDriver)
    }
}

fn kprobes_are_there(file: &Path) -> Result<(), Unavailable> {
    if file.exists() {
        Ok(())
    } else {
        Err(Unavailable::NoKprobes {
            file: PathBuf::from(file),
        })
    }
}

fn no_map(name: &str) -> Unavailable {
    Unavailable::Load(format!("it has no map {name}").into())
}

/// Values of the object's other statics. Who the agent is, as the kernel's helper compares it: in its own pid namespace.
struct OwnNumbers {
    reconnect_has_status: u32,
    tgid: u32,
    pidns_device: u64,
    pidns_inode: u64,
}

impl OwnNumbers {
    fn read(fields: &KernelFields) -> Self {
        let namespace = rustix::fs::stat("/proc/self/ns/pid");
        let (device, inode) = namespace.map_or((0, 0), |stat| {
            // The kernel's own encoding of a device number: major << 20 | minor.
            let (major, minor) = (
                rustix::fs::major(stat.st_dev),
                rustix::fs::minor(stat.st_dev),
            );
            (u64::from(major) << 20 | u64::from(minor), stat.st_ino)
        });
        Self {
            reconnect_has_status: u32::from(fields.reconnect_has_status.unwrap_or(false)),
            tgid: std::process::id(),
            pidns_device: device,
            pidns_inode: inode,
        }
    }
}
