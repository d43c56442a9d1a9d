//! `cargo xtask build-ebpf`: the BPF object, to where the agent's build script finds it.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result};

use crate::cache::Cache;
use crate::setup::{self, Need, Toolchain};
use crate::{artifacts, workspace};

const PROGRAMS: &str = "pathwarden-ebpf";
const TARGET: &str = "bpfel-unknown-none";
const OBJECT: &str = "agent/embedded/pathwarden.bpf.o";

/// Builds the object; with `log` the programs' debug lines are in it.
pub(crate) fn build(log: bool) -> Result<()> {
    setup::ensure(&[Need::BpfToolchain])?;
    let toolchain = Toolchain::choose()?;
    let linker = setup::bpf_linker(&Cache::open()?, &toolchain)?;
    let flags = [
        "-C".to_owned(),
        format!("linker={}", linker.display()),
        "-C".to_owned(),
        "link-arg=--btf".to_owned(),
    ];

    let mut cargo = toolchain.cargo();
    cargo
        .current_dir(workspace::root())
        // The separator lets a path hold spaces; unlike `--config`, it does not add to what a user's own configuration says.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        // The object's BTF is made from debug information; from line tables alone the kernel refuses it.
        .env("CARGO_PROFILE_RELEASE_DEBUG", "full")
        .args([
            "build",
            "--quiet",
            "--release",
            "-Z",
            "build-std=core",
            "--target",
            TARGET,
        ])
        .args(["--package", PROGRAMS, "--bin", PROGRAMS])
        // A folder of its own: another compiler and other flags must not push the workspace's own artifacts out.
        .arg("--target-dir")
        .arg(workspace::target().join("bpf"));
    if log {
        cargo.args(["--features", "log"]);
    }
    let built = artifacts::build(&mut cargo, "building the BPF object")?;
    let built = built
        .get(PROGRAMS)
        .context("building the BPF object: cargo names no such executable")?;
    let object = fs::read(built).with_context(|| format!("reading {}", built.display()))?;

    let root = workspace::root();
    let changed = place(
        &object,
        &root.join(OBJECT),
        &[&root.join("agent-ebpf"), &root.join("Cargo.lock")],
    )?;
    let what = if changed { "written" } else { "unchanged" };
    eprintln!(
        "note: {OBJECT} {what}: {} KiB, built with {toolchain}",
        object.len().div_ceil(1024)
    );
    Ok(())
}

/// Writes the object unless it is there already and newer than its sources: the agent's build script compares times, and
/// a file that is touched for nothing makes cargo build the agent anew.
fn place(object: &[u8], at: &Path, sources: &[&Path]) -> Result<bool> {
    let same = fs::read(at).is_ok_and(|old| old == object);
    if same && modified(at)? >= newest(sources)? {
        return Ok(false);
    }
    let part = at.with_extension(format!("part-{}", std::process::id()));
    fs::write(&part, object)
        .and_then(|()| fs::rename(&part, at))
        .with_context(|| format!("writing {}", at.display()))?;
    Ok(true)
}

fn newest(paths: &[&Path]) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut open: Vec<_> = paths.iter().map(|&path| path.to_owned()).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in
                fs::read_dir(&path).with_context(|| format!("listing {}", path.display()))?
            {
                open.push(
                    entry
                        .with_context(|| format!("listing {}", path.display()))?
                        .path(),
                );
            }
        } else {
            newest = newest.max(modified(&path)?);
        }
    }
    Ok(newest)
}

fn modified(path: &Path) -> Result<SystemTime> {
    let modified = fs::metadata(path).and_then(|meta| meta.modified());
    modified.with_context(|| format!("asking when {} was changed", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::path::PathBuf;
    use std::time::Duration;

    fn checkout(object: &[u8], source_is_newer: bool) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let (at, sources) = (dir.path().join("x.o"), dir.path().join("src"));
        fs::write(&at, object).unwrap();
        fs::create_dir(&sources).unwrap();
        fs::write(sources.join("main.rs"), "").unwrap();
        let day = Duration::from_secs(86_400);
        let time = modified(&at).unwrap();
        let time = if source_is_newer {
            time + day
        } else {
            time - day
        };
        File::options()
            .append(true)
            .open(sources.join("main.rs"))
            .unwrap()
            .set_modified(time)
            .unwrap();
        (dir, at, sources)
    }

    #[test]
    fn an_object_that_is_the_same_and_newer_than_its_sources_is_left_alone() {
        let (_dir, at, sources) = checkout(b"same", false);

        assert!(!place(b"same", &at, &[&sources]).unwrap());
    }

    #[test]
    fn an_object_older_than_a_source_is_written_even_if_it_is_the_same() {
        let (_dir, at, sources) = checkout(b"same", true);

        assert!(place(b"same", &at, &[&sources]).unwrap());
    }

    #[test]
    fn a_changed_object_replaces_the_old_one() {
        let (dir, at, sources) = checkout(b"old", false);

        assert!(place(b"new", &at, &[&sources]).unwrap());

        assert_eq!(fs::read(&at).unwrap(), b"new");
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            2,
            "no temporary file is left"
        );
    }
}
