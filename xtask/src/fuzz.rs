//! `cargo xtask fuzz`: each fuzz target for a while.
//!
//! The targets (`agent/fuzz`) are ordinary programs around libFuzzer. Its coverage comes from code generation flags
//! that the stable compiler has, so no other tool chain and no cargo-fuzz is needed.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

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

/// Builds the targets and runs each; an input that breaks one is kept and named. Closes with a line for each target.
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
    let (mut broken, mut closing) = (Vec::new(), Vec::new());
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
        let (held, figures) =
            watched(&mut fuzz).with_context(|| format!("running the fuzz target {target}"))?;
        closing.push(format!(
            "fuzz {target} {} {figures}",
            if held { "ok" } else { "BROKEN" }
        ));
        if !held {
            broken.push(target);
        }
    }
    println!("{}", closing.join("\n"));
    if !broken.is_empty() {
        bail!(
            "broken: {}; the inputs are in {}",
            broken.join(", "),
            folder.join("broken").display()
        );
    }
    Ok(())
}

/// Runs a target, shows what it says, and returns whether it held and its figures.
fn watched(fuzz: &mut Command) -> Result<(bool, Figures)> {
    let mut running = fuzz.stderr(Stdio::piped()).spawn()?;
    let mut figures = Figures::default();
    if let Some(said) = running.stderr.take() {
        // What it says may hold bytes of an input.
        for line in BufReader::new(said).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            figures.note(&line);
            eprintln!("{line}");
        }
    }
    Ok((running.wait()?.success(), figures))
}

/// What libFuzzer says at the end with `-print_final_stats`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    executions: Option<u64>,
    per_second: Option<u64>,
}

impl Figures {
    fn note(&mut self, line: &str) {
        let number = |name: &str| {
            let value = line.strip_prefix("stat::")?.strip_prefix(name)?;
            value.strip_prefix(':')?.trim().parse().ok()
        };
        self.executions = number("number_of_executed_units").or(self.executions);
        self.per_second = number("average_exec_per_sec").or(self.per_second);
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.executions, self.per_second) {
            (Some(executions), Some(per_second)) => {
                write!(f, "{executions} executions, {per_second} a second")
            }
            _ => f.write_str("without figures"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_what_libfuzzer_says_at_the_end() {
        let mut figures = Figures::default();
        assert_eq!(figures.to_string(), "without figures");
        for line in [
            "Done 4321 runs in 61 second(s)",
            "stat::number_of_executed_units: 4321",
            "stat::average_exec_per_sec:     70",
            "stat::new_units_added:          12",
        ] {
            figures.note(line);
        }
        assert_eq!(figures.to_string(), "4321 executions, 70 a second");
    }

    #[test]
    fn a_target_that_fails_is_broken_and_its_figures_are_kept() {
        let mut fuzz = Command::new("/bin/sh");
        fuzz.args([
            "-c",
            "printf 'stat::number_of_executed_units: 3\\n\\377\\n' >&2; exit 77",
        ]);
        let (held, figures) = watched(&mut fuzz).unwrap();
        assert_eq!((held, figures.executions), (false, Some(3)));
    }
}
