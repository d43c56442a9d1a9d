//! `cargo xtask fuzz`: each fuzz target for a while.
//!
//! The targets (`agent/fuzz`) are ordinary programs around libFuzzer. Its coverage comes from code generation flags
//! that the stable compiler has, so no other tool chain and no cargo-fuzz is needed.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{command, workspace};

const TARGETS: [&str; 4] = ["address", "nqn", "size", "tree"];

/// What rustc hands to LLVM: counters at each edge, and the operands of comparisons.
const COVERAGE: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// How long, and what.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds for each target
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Only this target; may be given several times
    #[arg(long = "target", value_parser = clap::builder::PossibleValuesParser::new(TARGETS))]
    targets: Vec<String>,
}

/// Builds the targets and runs each; an input that breaks one is kept and named.
pub(crate) fn run(options: &Options) -> Result<()> {
    let host = host_target()?;
    let folder = workspace::target().join("fuzz");
    let mut build = command::cargo();
    build
        .args(["build", "--quiet", "--release", "--target", &host])
        .arg("--manifest-path")
        .arg(workspace::root().join("agent/fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\x1f"));
    command::run(&mut build, "building the fuzz targets")?;
    let mut broken = Vec::new();
    for target in TARGETS {
        let wanted = options.targets.is_empty() || options.targets.iter().any(|it| it == target);
        if !wanted {
            continue;
        }
        let (corpus, artifacts) = (folder.join("corpus").join(target), folder.join("broken"));
        for folder in [&corpus, &artifacts] {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("making {}", folder.display()))?;
        }
        println!("== {target}, {} s", options.seconds);
        let mut fuzz = Command::new(folder.join(&host).join("release").join(target));
        fuzz.arg(&corpus)
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!(
                "-artifact_prefix={}/{target}-",
                artifacts.display()
            ))
            .args(["-print_final_stats=1", "-verbosity=0", "-max_len=4096"]);
        let status = fuzz
            .status()
            .with_context(|| format!("starting the fuzz target {target}"))?;
        if !status.success() {
            broken.push(target);
        }
    }
    if !broken.is_empty() {
        bail!(
            "broken: {}; the inputs are in {}",
            broken.join(", "),
            folder.join("broken").display()
        );
    }
    Ok(())
}

/// The target that this machine's compiler builds for. Named, so that the flags above stay off build scripts.
fn host_target() -> Result<String> {
    let version = command::capture(
        Command::new("rustc").arg("-vV"),
        "asking rustc for its host",
    )?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}
