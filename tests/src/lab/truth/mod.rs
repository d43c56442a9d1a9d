//! The truth beside the agent: ftrace's own probes on the NVMe host driver, in a trace instance on the boot clock.
//!
//! Independent of the agent: no BPF, no type information, no kernel structure. An event carries only what the
//! function was called with, and one wire structure (`nvme_ana_group_desc`, NVMe base specification, "Asymmetric
//! Namespace Access" log page). Times have the microsecond that the trace prints. A trace that lost something is an error.

mod event;
mod sign;
mod window;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::attribute;
use super::clock::BootNs;
use super::host::Controller;
use event::Event;
pub use sign::Sign;
pub use window::TrueWindow;

const TRACEFS: &str = "/sys/kernel/tracing";
/// Name of the trace instance and of the group of events.
const NAME: &str = "pathwarden_truth";
/// Kilobytes a CPU: some ten thousand events.
const BUFFER_KB: &str = "2048";

/// The events: name, function and what is fetched at its entry.
const EVENTS: [(&str, &str); 9] = [
    (
        "state",
        "nvme_change_ctrl_state controller=$arg1:x64 new=$arg2:u32",
    ),
    ("kick", "nvme_kick_requeue_lists controller=$arg1:x64"),
    (
        "ana",
        "nvme_update_ana_state controller=$arg1:x64 group=+0($arg2):u32 nsids=+4($arg2):u32 \
         state=+16($arg2):u8",
    ),
    ("set_live", "nvme_mpath_set_live leg=$arg1:x64"),
    ("add", "nvme_mpath_add_disk leg=$arg1:x64"),
    ("remove", "nvme_ns_remove leg=$arg1:x64"),
    ("failover", "nvme_failover_req request=$arg1:x64"),
    ("connect", "nvmf_connect_admin_queue controller=$arg1:x64"),
    ("uninit", "nvme_uninit_ctrl controller=$arg1:x64"),
];

/// A running trace.
#[derive(Debug)]
pub struct Truth {
    tracefs: PathBuf,
    instance: PathBuf,
    /// From before the probes were last put in anew.
    earlier: Vec<Event>,
}

impl Truth {
    /// Starts tracing. Begin before the first connect: that is how controllers are told apart.
    pub fn start() -> Result<Self> {
        clear()?;
        let tracefs = PathBuf::from(TRACEFS);
        let instance = tracefs.join("instances").join(NAME);
        let truth = Self {
            tracefs,
            instance,
            earlier: Vec::new(),
        };
        truth.put_in()?;
        Ok(truth)
    }

    /// Puts the probes in anew, so that they run before others on the same functions: the kernel calls the last one
    /// registered first. A BPF program that runs before them takes milliseconds when an emulated CPU first meets it,
    /// and the trace would be late by that. What was traced so far is kept.
    pub fn go_first(&mut self) -> Result<()> {
        self.earlier = self.events()?;
        clear()?;
        self.put_in()
    }

    fn put_in(&self) -> Result<()> {
        for (event, fetch) in EVENTS {
            let definition = format!("p:{NAME}/{event} {fetch}\n");
            attribute::append(&self.tracefs.join("kprobe_events"), &definition)?;
        }
        attribute::create_dir(&self.instance)?;
        attribute::write(&self.instance.join("trace_clock"), "boot")?;
        attribute::write(&self.instance.join("buffer_size_kb"), BUFFER_KB)?;
        attribute::write(&self.instance.join("events").join(NAME).join("enable"), "1")
    }

    /// The window that began when `from` was made inaccessible at `flip`, by its ANA log or a request that failed before,
    /// and ended when the ANA log of `to` set a leg live.
    pub fn cutover(&self, flip: BootNs, from: &Controller, to: &Controller) -> Result<TrueWindow> {
        let begins = [Sign::FailedIo, Sign::LogTakes(from)];
        self.window(flip, &begins, &[Sign::LogGives(to)])
    }

    /// The window that began when `controller` left the live state after `mark` and ended when it was live again.
    pub fn controller_loss(&self, mark: BootNs, controller: &Controller) -> Result<TrueWindow> {
        self.window(mark, &[Sign::Down(controller)], &[Sign::Live(controller)])
    }

    /// The window that began at the first of the signs `begins` since `from`, and ended at the first of `ends` after it.
    pub fn window(
        &self,
        from: BootNs,
        begins: &[Sign<&Controller>],
        ends: &[Sign<&Controller>],
    ) -> Result<TrueWindow> {
        let events = self.events()?;
        let resolved = |signs: &[Sign<&Controller>]| {
            let pointer = |controller: &Controller| window::pointer_of(&events, controller);
            let signs = signs.iter().map(|sign| sign.try_map(pointer));
            signs.collect::<Result<Vec<_>>>()
        };
        let (begins, ends) = (resolved(begins)?, resolved(ends)?);
        let window = window::find(&sign::all(&events), from, &begins, &ends)
            .with_context(|| excerpt(&events, from))?;
        // For whoever reads the console because the agent's window differs.
        for end in [window.span.begin, window.span.end] {
            eprintln!("truth: {}", excerpt(&events, end));
        }
        Ok(window)
    }

    /// When the trace first shows a sign since `from`.
    pub fn moment(&self, from: BootNs, of: Sign<&Controller>) -> Result<BootNs> {
        let events = self.events()?;
        let wanted = of.try_map(|controller| window::pointer_of(&events, controller))?;
        let signs = sign::all(&events);
        let found = signs
            .iter()
            .find(|(at, sign)| *at >= from && *sign == wanted);
        found
            .map(|(at, _)| *at)
            .with_context(|| format!("no {wanted:?} since {from}; {}", excerpt(&events, from)))
    }

    fn events(&self) -> Result<Vec<Event>> {
        let mut events = self.earlier.clone();
        events.extend(event::parse(&attribute::read(
            &self.instance.join("trace"),
        )?)?);
        for cpu in attribute::entries(&self.instance.join("per_cpu"))? {
            let stats = attribute::read(&cpu.join("stats"))?;
            let lost = event::lost(&stats);
            ensure!(
                lost == 0,
                "the trace lost {lost} events on {}",
                attribute::name(&cpu)
            );
        }
        let profile = attribute::read(&self.tracefs.join("kprobe_profile"))?;
        if let Some(missed) = event::missed(&profile, EVENTS.map(|(event, _)| event)) {
            bail!("the trace missed calls: {missed}");
        }
        Ok(events)
    }
}

impl Drop for Truth {
    fn drop(&mut self) {
        if let Err(error) = clear() {
            eprintln!("truth: {error:#}");
        }
    }
}

/// Removes the instance and the events, left over or not.
pub fn clear() -> Result<()> {
    let tracefs = Path::new(TRACEFS);
    let instance = tracefs.join("instances").join(NAME);
    if instance.exists() {
        let enable = instance.join("events").join(NAME).join("enable");
        if enable.exists() {
            attribute::write(&enable, "0")?;
        }
        attribute::remove_dir(&instance)?;
    }
    for (event, _) in EVENTS {
        if tracefs.join("events").join(NAME).join(event).exists() {
            attribute::append(
                &tracefs.join("kprobe_events"),
                &format!("-:{NAME}/{event}\n"),
            )?;
        }
    }
    Ok(())
}

/// What the trace holds around a moment, in one line.
fn excerpt(events: &[Event], moment: BootNs) -> String {
    const BEFORE: usize = 4;
    const AFTER: usize = 16;
    let middle = events.partition_point(|event| event.at < moment);
    let (first, last) = (
        middle.saturating_sub(BEFORE),
        events.len().min(middle + AFTER),
    );
    let lines: Vec<_> = events[first..last]
        .iter()
        .map(ToString::to_string)
        .collect();
    format!("traced around {moment}: {}", lines.join(", "))
}
