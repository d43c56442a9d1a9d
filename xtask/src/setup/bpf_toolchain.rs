//! The tool chain for the BPF object: it must be able to build `core` from source (`-Z build-std`), and its LLVM must be
//! one that bpf-linker can be built for.
//!
//! The ordinary way is a rustup nightly with the component rust-src. Where there is none, Debian's rustc-web, cargo-web
//! and rust-web-src do: they match each other, and `RUSTC_BOOTSTRAP` lets a stable rustc accept `-Z` flags.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{bpf_linker, debian, rustup};
use crate::command;

const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

/// A tool chain that can build the BPF object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toolchain {
    source: Source,
    release: String,
    /// Major version of the LLVM that rustc emits bitcode for.
    pub(crate) llvm_major: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Nightly(String),
    Debian,
}

impl Toolchain {
    /// The best that is installed: a fitting nightly, else Debian's.
    pub(crate) fn choose() -> Result<Self> {
        if let Some(nightly) = Self::nightly()? {
            return Ok(nightly);
        }
        let doing = "asking Debian's rustc (package rustc-web) for its version";
        let verbose = command::capture(clean(Command::new(DEBIAN_RUSTC)).arg("-vV"), doing)?;
        Self::parse(Source::Debian, &verbose)
    }

    fn nightly() -> Result<Option<Self>> {
        for name in rustup::nightlies() {
            if rustup::library_source(&name).is_none() {
                continue;
            }
            let doing = format!("asking {name} for its version");
            let verbose = command::capture(rustup::rustc(&name).arg("-vV"), &doing)?;
            let toolchain = Self::parse(Source::Nightly(name), &verbose)?;
            if bpf_linker::fits(toolchain.llvm_major)? {
                return Ok(Some(toolchain));
            }
            eprintln!(
                "note: {toolchain} is passed over: there is no bpf-linker for its LLVM, or no package \
                 llvm-{}-dev",
                toolchain.llvm_major
            );
        }
        Ok(None)
    }

    fn parse(source: Source, verbose: &str) -> Result<Self> {
        let field = |name: &str| {
            verbose
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        let release = field("release:")
            .context("`rustc -vV` names no release")?
            .to_owned();
        let llvm = field("LLVM version:").context("`rustc -vV` names no LLVM version")?;
        let llvm_major = llvm.split('.').next().and_then(|major| major.parse().ok());
        let llvm_major =
            llvm_major.with_context(|| format!("LLVM version {llvm} has no major number"))?;
        Ok(Self {
            source,
            release,
            llvm_major,
        })
    }

    /// This tool chain's cargo, allowed to use `-Z`.
    pub(crate) fn cargo(&self) -> Command {
        match &self.source {
            Source::Nightly(name) => {
                let mut command = clean(Command::new("rustup"));
                command.args(["run", name, "cargo"]);
                command
            }
            Source::Debian => {
                let mut command = clean(Command::new(DEBIAN_CARGO));
                command
                    .env("RUSTC", DEBIAN_RUSTC)
                    .env("RUSTC_BOOTSTRAP", "1");
                command
            }
        }
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            source,
            release,
            llvm_major,
        } = self;
        match source {
            Source::Nightly(name) => write!(f, "{name} ({release}, LLVM {llvm_major})"),
            Source::Debian => write!(f, "Debian's rustc-web ({release}, LLVM {llvm_major})"),
        }
    }
}

/// Debian packages that the tool chain will turn out to need, as far as that can be said before it is there.
pub(super) fn foreseen_packages() -> Result<Vec<String>> {
    if Toolchain::nightly()?.is_some() {
        return Ok(Vec::new());
    }
    let mut packages = DEBIAN_PACKAGES.map(str::to_owned).to_vec();
    if !Path::new(DEBIAN_RUSTC).exists()
        && let Some(major) = llvm_major_in(&debian::control("rustc-web")?)
    {
        packages.extend(bpf_linker::packages(major));
    }
    Ok(packages)
}

/// The LLVM that a package depends on, from its control fields.
fn llvm_major_in(control: &str) -> Option<u32> {
    let depends = control
        .lines()
        .find_map(|line| line.strip_prefix("Depends:"))?;
    depends.split(',').find_map(|dependency| {
        let name = dependency.split_whitespace().next()?;
        name.strip_prefix("libllvm")?.parse().ok()
    })
}

/// Without what `cargo xtask` leaves in the environment: it names the tool chain, the flags and the libraries of the
/// cargo that started us.
fn clean(mut command: Command) -> Command {
    const KEPT: [&str; 5] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTRIES_",
        "CARGO_TERM_",
    ];
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let rust =
            name.starts_with("CARGO") || name.starts_with("RUSTC") || name.starts_with("RUSTFLAGS");
        let other = [
            "RUSTUP_TOOLCHAIN",
            "RUST_RECURSION_COUNT",
            "LD_LIBRARY_PATH",
        ]
        .contains(&name.as_ref());
        if (rust && !KEPT.iter().any(|kept| name.starts_with(kept))) || other {
            command.env_remove(name.as_ref());
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_llvm_of_a_rustc_is_read_from_its_verbose_version() {
        let verbose = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)\n\
                       binary: rustc\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

        let toolchain = Toolchain::parse(Source::Debian, verbose).unwrap();

        assert_eq!(
            toolchain.to_string(),
            "Debian's rustc-web (1.96.0, LLVM 22)"
        );
    }

    #[test]
    fn a_rustc_without_llvm_is_refused() {
        let error = Toolchain::parse(Source::Debian, "release: 1.96.0\n").unwrap_err();

        assert_eq!(error.to_string(), "`rustc -vV` names no LLVM version");
    }

    #[test]
    fn the_llvm_of_a_package_is_foreseen_from_its_dependencies() {
        let control =
            "Package: rustc-web\nDepends: libc6 (>= 2.34), libllvm22 (>= 1:22.1.0), zlib1g\n";

        assert_eq!(llvm_major_in(control), Some(22));
        assert_eq!(llvm_major_in("Package: x\nDepends: libc6\n"), None);
    }
}
