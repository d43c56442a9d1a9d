//! `pathwarden doctor`: what of this kernel can be seen, and what is missing.

use std::path::Path;

use serde::Serialize;

use crate::config;
use crate::host::boot;
use crate::probe::{self, AttachReport, PROBES, ProbeState, Site, Unavailable};

use super::{Common, Exit, Format, version};

/// Flags of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, common: &Common) -> anyhow::Result<Exit> {
    // Before our own are there: what runs is the agent's.
    let running = Running::look();
    let attached =
        probe::attach(config::Config::default().probe.ring_bytes).map(|attached| attached.report);
    let report = Report::of(attached, running);
    match common.output {
        Format::Json => println!("{}", serde_json::to_string_pretty(&report)?),
        Format::Text => print!("{}", report.text()),
    }
    Ok(if report.degraded {
        Exit::Unchecked
    } else {
        Exit::Clean
    })
}

#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    kernel: String,
    /// Why there are no probes at all.
    unavailable: Option<String>,
    /// Whether something is not seen exactly, or not at all.
    degraded: bool,
    probes: Vec<ProbeRow>,
    /// Kernel fields that are not there.
    missing_fields: Vec<String>,
    /// The programs of an agent that runs.
    running: Running,
    surroundings: Vec<Surrounding>,
}

#[derive(Debug, Serialize)]
struct ProbeRow {
    function: &'static str,
    /// The function that it is meant for, where this kernel does not have that.
    instead_of: Option<&'static str>,
    /// `attached`, `on-demand`, `not-wanted` or `missing`.
    standing: &'static str,
    /// What tells the same where it is missing.
    otherwise: Option<&'static str>,
    module: &'static str,
    site: &'static str,
    mandatory: bool,
    attached: bool,
    reason: Option<String>,
    tells: &'static str,
}

/// Something of the system that matters or is often thought to.
#[derive(Debug, Serialize)]
struct Surrounding {
    what: &'static str,
    found: bool,
    means: &'static str,
}

/// What the programs of an agent that runs have done.
#[derive(Debug, Serialize)]
struct Running {
    /// Whether the kernel counts their runs.
    counted: Option<bool>,
    programs: Vec<RunsRow>,
    /// Why they cannot be looked at.
    unknown: Option<String>,
}

#[derive(Debug, Serialize)]
struct RunsRow {
    program: &'static str,
    runs: u64,
    time_ns: u64,
}

impl Running {
    fn look() -> Self {
        let (programs, unknown) = match probe::runs() {
            Ok(runs) => (runs, None),
            Err(error) => (Vec::new(), Some(crate::error_chain(&error))),
        };
        let programs = programs.into_iter().map(|runs| RunsRow {
            program: runs.program,
            runs: runs.count,
            time_ns: u64::try_from(runs.time.as_nanos()).unwrap_or(u64::MAX),
        });
        Self {
            counted: probe::are_counted(),
            programs: programs.collect(),
            unknown,
        }
    }

    fn text(&self) -> Vec<String> {
        if let Some(reason) = &self.unknown {
            return vec![
                format!("programs of a running agent: not known: {reason}"),
                String::new(),
            ];
        }
        if self.programs.is_empty() {
            return vec!["no agent runs here".to_owned(), String::new()];
        }
        let mut lines = vec!["programs of the running agent".to_owned()];
        if self.counted != Some(true) {
            let off = "  runs are not counted now (kernel.bpf_stats_enabled is 0): these are older";
            lines.push(off.to_owned());
        }
        lines.extend(self.programs.iter().map(|it| {
            let each =
                std::time::Duration::from_nanos(it.time_ns.checked_div(it.runs).unwrap_or(0));
            format!("  {:<26} {:>10} runs, {each:?} each", it.program, it.runs)
        }));
        lines.push(String::new());
        lines
    }
}

impl Report {
    fn of(attached: Result<AttachReport, Unavailable>, running: Running) -> Self {
        let (unavailable, report) = match attached {
            Ok(report) => (None, Some(report)),
            Err(error) => (Some(crate::error_chain(&error)), None),
        };
        let probes: Vec<ProbeRow> = match &report {
            Some(report) => report
                .probes
                .iter()
                .map(|(probe, state)| row(probe, state))
                .collect(),
            None => PROBES
                .iter()
                .map(|it| row(it, &ProbeState::Missing("see above".into())))
                .collect(),
        };
        let missing_fields = report.iter().flat_map(|report| report.fields.missing());
        let missing_fields: Vec<String> = missing_fields
            .map(|field| format!("{}.{}", field.structure, field.member))
            .collect();
        Self {
            schema: "pathwarden/doctor/v1",
            version: version(),
            kernel: boot::kernel(),
            degraded: probes.iter().any(ProbeRow::is_lacking) || !missing_fields.is_empty(),
            unavailable,
            probes,
            missing_fields,
            running,
            surroundings: surroundings(),
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![format!(
            "pathwarden {} on kernel {}\n",
            self.version, self.kernel
        )];
        if let Some(reason) = &self.unavailable {
            lines.push(format!("no probes: {reason}"));
            lines.push(
                "  still works: windows by looks at sysfs (`run`), as exact as the time between\n"
                    .to_owned(),
            );
        } else {
            let attached = self.probes.iter().filter(|probe| probe.attached).count();
            let missing = self.probes.iter().filter(|it| it.standing == "missing");
            lines.push(format!(
                "probes: {attached} of {} attached",
                attached + missing.count()
            ));
            lines.extend(self.probes.iter().map(ProbeRow::text));
            let missing = self.missing_fields.iter();
            lines.extend(missing.map(|field| format!("  missing  {field} (kernel field)")));
            lines.push(String::new());
        }
        lines.extend(self.running.text());
        for it in &self.surroundings {
            let mark = if it.found { "found  " } else { "absent " };
            lines.push(format!("  {mark}  {}: {}", it.what, it.means));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

impl ProbeRow {
    fn text(&self) -> String {
        let mark = match self.standing {
            "attached" => "ok     ",
            "missing" => "missing",
            _ => "-      ",
        };
        let mut row = format!(
            "  {mark}  {:<26} {:<6}  {}",
            self.function, self.site, self.tells
        );
        let instead = self.instead_of.map(|it| format!("in place of {it}"));
        let otherwise = self.otherwise.map(|it| format!("told by {it}"));
        for note in [self.reason.clone(), instead, otherwise]
            .into_iter()
            .flatten()
        {
            row.push_str("\n           ");
            row.push_str(&note);
        }
        row
    }

    /// Something is not seen, and nothing else tells it.
    fn is_lacking(&self) -> bool {
        self.standing == "missing" && self.otherwise.is_none()
    }
}

fn row(probe: &probe::Probe, state: &ProbeState) -> ProbeRow {
    let (function, standing, reason) = match state {
        ProbeState::Attached(function) => (*function, "attached", None),
        ProbeState::OnDemand => (
            probe.function(),
            "on-demand",
            Some("attached while a window is open".to_owned()),
        ),
        ProbeState::NotWanted(why) => (probe.function(), "not-wanted", Some((*why).to_owned())),
        ProbeState::Missing(reason) => (probe.function(), "missing", Some(reason.clone())),
    };
    let instead = (function != probe.function()).then(|| probe.function());
    let otherwise = probe.otherwise.filter(|_| standing == "missing");
    ProbeRow {
        function,
        instead_of: instead,
        standing,
        otherwise,
        module: probe.module,
        site: if probe.site == Site::Entry {
            "entry"
        } else {
            "return"
        },
        mandatory: probe.mandatory,
        attached: standing == "attached",
        reason,
        tells: probe.tells,
    }
}

fn surroundings() -> Vec<Surrounding> {
    let found = |path: &str| Path::new(path).exists();
    let tracefs = found("/sys/kernel/tracing/trace") || found("/sys/kernel/debug/tracing/trace");
    let look = |what, found, means| Surrounding { what, found, means };
    vec![
        look(
            "the NVMe host driver",
            found("/sys/module/nvme_core"),
            "without it there is nothing to watch",
        ),
        look(
            "the kernel's BTF",
            found("/sys/kernel/btf/vmlinux"),
            "without it there are no probes",
        ),
        look(
            "BTF of nvme_core",
            found("/sys/kernel/btf/nvme_core"),
            "without it the driver must be built into the kernel",
        ),
        look(
            "kprobes for perf",
            found("/sys/bus/event_source/devices/kprobe/type"),
            "without them there are no probes",
        ),
        look(
            "tracefs",
            tracefs,
            "not needed: probes are attached through perf",
        ),
        look(
            "/sys/class/nvme",
            found("/sys/class/nvme"),
            "without it no controller can be listed",
        ),
    ]
}
