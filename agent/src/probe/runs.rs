//! How often each of our programs has run, and for how long: in whichever agent it runs.

use std::time::Duration;

use aya::programs::{ProgramError, loaded_programs};

use super::plan::PROBES;

/// What one program in the kernel has done while the kernel counted (`kernel.bpf_stats_enabled`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// The program, as this agent names it.
    pub program: &'static str,
    /// How often it ran.
    pub count: u64,
    /// For how long altogether.
    pub time: Duration,
}

/// Of every program in the kernel that has a name of ours, other processes' included.
pub fn runs() -> Result<Vec<Runs>, ProgramError> {
    let mut all = Vec::new();
    for info in loaded_programs() {
        let info = match info {
            Ok(info) => info,
            // It went while it was looked at.
            Err(error) if went(&error) => continue,
            Err(error) => return Err(error),
        };
        if let Some(program) = info.name_as_str().and_then(ours) {
            all.push(Runs {
                program,
                count: info.run_count(),
                time: info.run_time(),
            });
        }
    }
    all.sort_by_key(|runs| runs.program);
    Ok(all)
}

/// Whether the kernel counts runs now.
#[must_use]
pub fn are_counted() -> Option<bool> {
    let text = std::fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled").ok()?;
    Some(text.trim() == "1")
}

fn went(error: &ProgramError) -> bool {
    matches!(error, ProgramError::SyscallError(error)
        if error.io_error.kind() == std::io::ErrorKind::NotFound)
}

fn ours(name: &str) -> Option<&'static str> {
    let names = PROBES.iter().map(|probe| probe.program);
    names.into_iter().find(|program| *program == name)
}
