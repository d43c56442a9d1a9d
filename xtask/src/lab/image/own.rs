//! The project's own programs for the guest: built as `cargo build` makes them, without what only a debugger reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::programs::Program;
use crate::{artifacts, command};

const AGENT: &str = "pathwarden";

/// Names and places in the guest.
const PROGRAMS: [(&str, &str); 2] = [(AGENT, "usr/bin/pathwarden"), ("pathwarden-guest", "init")];

/// What an agent says of itself that has no BPF object embedded.
const WITHOUT_PROBES: &str = "built without probes";

/// Builds them and leaves stripped copies in `folder`. An agent without probes is refused.
pub(super) fn programs(folder: &Path) -> Result<Vec<Program>> {
    let doing = "building the guest's programs";
    let mut cargo = command::cargo();
    cargo.args([
        "build",
        "--quiet",
        "-p",
        "pathwarden",
        "-p",
        "pathwarden-tests",
    ]);
    cargo.args(PROGRAMS.iter().flat_map(|(name, _)| ["--bin", name]));
    let built = artifacts::build(&mut cargo, doing)?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let prepare = |(name, place): (&str, &str)| {
        let program = built
            .get(name)
            .with_context(|| format!("{doing}: cargo made no {name}"))?;
        if name == AGENT {
            refuse_without_probes(program)?;
        }
        let file = stripped(program, &folder.join(name))?;
        Ok(Program {
            place: place.to_owned(),
            file,
            libraries: Vec::new(),
        })
    };
    PROGRAMS.into_iter().map(prepare).collect()
}

fn refuse_without_probes(agent: &Path) -> Result<()> {
    let doing = "asking the agent for its version";
    let version = command::capture(Command::new(agent).arg("--version"), doing)?;
    if version.contains(WITHOUT_PROBES) {
        bail!(
            "the lab needs an agent with probes, and this one says: {}",
            version.trim()
        );
    }
    Ok(())
}

fn stripped(program: &Path, to: &Path) -> Result<PathBuf> {
    // Renamed when whole: another run in this checkout may be packing the old one.
    let part = to.with_extension(format!("part-{}", std::process::id()));
    // Symbols stay: a backtrace on the console is worth their few hundred KiB.
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(&part).arg(program);
    command::run(&mut strip, &format!("stripping {}", program.display()))?;
    fs::rename(&part, to).with_context(|| format!("writing {}", to.display()))?;
    Ok(to.to_owned())
}
