//! The programs in the kernel while they run: the one for each I/O, what was counted, what was missed.

use std::io;

use aya::{
    Ebpf,
    maps::{MapError, PerCpuArray, PerCpuHashMap},
    programs::kprobe::KProbeLinkId,
};

use crate::fabric::DiskName;

use super::{
    AttachReport, ProbeState,
    attach::{attach_one, program, reason},
    plan::When,
};

/// Programs in the kernel; they are taken out when this is dropped.
#[derive(Debug)]
pub struct Programs {
    ebpf: Ebpf,
    for_each_io: Option<KProbeLinkId>,
    /// What was missed until the last look.
    missed: u64,
}

impl Programs {
    pub(super) const fn new(ebpf: Ebpf) -> Self {
        Self {
            ebpf,
            for_each_io: None,
            missed: 0,
        }
    }

    /// Attaches the program that counts each I/O, or takes it away.
    pub fn watch_io(&mut self, on: bool) {
        let probe = super::PROBES
            .iter()
            .find(|probe| probe.when == When::WindowIsOpen);
        let Some(probe) = probe else {
            return;
        };
        let Ok(program) = program(&mut self.ebpf, probe.program) else {
            return;
        };
        match (on, self.for_each_io.take()) {
            (true, None) => match program.attach(probe.function(), 0) {
                Ok(link) => self.for_each_io = Some(link),
                Err(error) => {
                    let reason = reason(&error);
                    tracing::warn!("I/O of this window is not counted: {reason}");
                }
            },
            (false, Some(link)) => {
                if let Err(error) = program.detach(link) {
                    tracing::warn!(%error, "the probe on each I/O cannot be taken away");
                }
            }
            (_, link) => self.for_each_io = link,
        }
    }

    /// Whether it is attached.
    #[must_use]
    pub const fn watches_io(&self) -> bool {
        self.for_each_io.is_some()
    }

    /// How many I/Os were sent to a head while that was counted.
    pub fn submitted(&self, head: DiskName) -> Result<u64, MapError> {
        let Some(map) = self.ebpf.map("SUBMITTED") else {
            return Ok(0);
        };
        let map: PerCpuHashMap<_, u64, u64> = PerCpuHashMap::try_from(map)?;
        let name = u64::from(head.owner) << 32 | u64::from(head.head);
        match map.get(&name, 0) {
            Ok(counts) => Ok(counts.iter().sum()),
            Err(MapError::KeyNotFound) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// How many records found the ring full, since the programs were loaded.
    pub fn dropped(&self) -> Result<u64, MapError> {
        let Some(map) = self.ebpf.map("LOST") else {
            return Ok(0);
        };
        let map: PerCpuArray<_, u64> = PerCpuArray::try_from(map)?;
        Ok(map.get(&0, 0)?.iter().sum())
    }

    /// How many runs the kernel skipped since the last time this was asked, where it counts them: a program while another
    /// ran on that CPU (`recursion_misses`, 6.12), a return beyond what a probe holds (`missed`, newer).
    pub fn skipped(&mut self) -> io::Result<u64> {
        let missed = missed_runs()?;
        let new = missed.saturating_sub(self.missed);
        self.missed = missed;
        Ok(new)
    }

    /// Tries again what could not be attached: its module may have come. Tells what has come of it.
    pub fn attach_missing(&mut self, report: &mut AttachReport) {
        for (probe, state) in &mut report.probes {
            if matches!(state, ProbeState::Missing(_)) && probe.when != When::WindowIsOpen {
                let attempt = program(&mut self.ebpf, probe.program);
                match attempt.and_then(|program| attach_one(program, probe)) {
                    Ok(function) => *state = ProbeState::Attached(function),
                    Err(error) => *state = ProbeState::Missing(reason(&error)),
                }
            }
        }
    }
}

/// The sum over this process's programs and links, which the kernel shows beside their file descriptors only.
fn missed_runs() -> io::Result<u64> {
    let mut missed = 0;
    for entry in std::fs::read_dir("/proc/self/fdinfo")? {
        // One that was closed meanwhile has nothing to add.
        let Ok(text) = std::fs::read_to_string(entry?.path()) else {
            continue;
        };
        missed += missed_in(&text);
    }
    Ok(missed)
}

fn missed_in(fdinfo: &str) -> u64 {
    let is_ours = fdinfo
        .lines()
        .any(|line| line.starts_with("prog_type:") || line.starts_with("link_type:"));
    if !is_ours {
        return 0;
    }
    fdinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| matches!(*key, "recursion_misses" | "missed"))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_are_read_where_the_kernel_shows_them() {
        let program = "pos:\t0\nflags:\t02\nprog_type:\t2\nprog_jited:\t1\nrecursion_misses:\t7\n";
        assert_eq!(missed_in(program), 7);
        let link = "link_type:\tkretprobe\nlink_id:\t4\nname:\tnvme_x\nmissed:\t3\n";
        assert_eq!(missed_in(link), 3);
        let older = "prog_type:\t2\nprog_jited:\t1\n";
        assert_eq!(missed_in(older), 0);
        let other = "pos:\t0\nmissed:\t9\n";
        assert_eq!(missed_in(other), 0, "another file's");
    }
}
