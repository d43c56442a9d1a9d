//! Set-up in one place: what the other commands need, whether it is there, and how it gets there.
//!
//! Every command asks for its own [`Need`]s by [`ensure`] and nothing more. Debian packages are installed through
//! apt-get where that is allowed (as root); else the command to run is printed and the set-up fails. Built tools go to
//! the cache. Nothing here knows what the tools are used for.

mod bpf_linker;
mod bpf_toolchain;
mod cargo_tool;
mod debian;
mod rustup;

use anyhow::Result;

pub(crate) use bpf_linker::program as bpf_linker;
pub(crate) use bpf_toolchain::Toolchain;
pub(crate) use cargo_tool::{CargoTool, install as install_cargo_tool};
pub(crate) use debian::{Missing, refresh as refresh_package_index};

use crate::cache::Cache;

/// Something a command cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// A rustc that can build `core` for the BPF target, and the linker that fits it.
    BpfToolchain,
    /// What boots a guest.
    Emulator,
    /// What fetches, checks and takes apart the kernels of other Debian suites.
    Kernels,
    /// What the guest's programs are stripped with.
    GuestPrograms,
    /// rustfmt and clippy.
    Lints,
}

impl Need {
    /// All of them, in the order the set-up goes through them.
    pub(crate) const ALL: [Self; 5] = [
        Self::Lints,
        Self::BpfToolchain,
        Self::GuestPrograms,
        Self::Emulator,
        Self::Kernels,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::BpfToolchain => "BPF tool chain",
            Self::Emulator => "emulator",
            Self::Kernels => "kernels",
            Self::GuestPrograms => "guest programs",
            Self::Lints => "lints",
        }
    }

    /// Debian packages that are known without looking at anything else.
    fn packages(self) -> &'static [&'static str] {
        match self {
            // Chosen by what is there: see `bpf_toolchain`.
            Self::BpfToolchain | Self::Lints => &[],
            Self::Emulator => &["qemu-system-x86"],
            Self::Kernels => &["debian-archive-keyring", "kmod", "xz-utils"],
            Self::GuestPrograms => &["binutils"],
        }
    }
}

/// Makes sure that all of these are there, or says what to install and fails.
pub(crate) fn ensure(needs: &[Need]) -> Result<()> {
    let mut packages: Vec<String> = needs
        .iter()
        .flat_map(|need| need.packages())
        .map(|&name| name.to_owned())
        .collect();
    let bpf = needs.contains(&Need::BpfToolchain);
    if bpf {
        // One request for all that can be foreseen, so that someone who must ask an administrator asks once.
        packages.extend(bpf_toolchain::foreseen_packages()?);
    }
    debian::ensure(&packages)?;
    if needs.contains(&Need::Lints) {
        rustup::ensure_components(&["rustfmt", "clippy"])?;
    }
    if bpf {
        let toolchain = Toolchain::choose()?;
        debian::ensure(&bpf_linker::packages(toolchain.llvm_major))?;
        bpf_linker::program(&Cache::open()?, &toolchain)?;
    }
    Ok(())
}

/// `cargo xtask setup`: everything, with a line for each.
pub(crate) fn setup() -> Result<()> {
    ensure(&Need::ALL)?;
    let toolchain = Toolchain::choose()?;
    let cache = Cache::open()?;
    println!("{:<16} {toolchain}", Need::BpfToolchain.word());
    println!(
        "bpf-linker       {}",
        bpf_linker(&cache, &toolchain)?.display()
    );
    for need in Need::ALL {
        if !need.packages().is_empty() {
            println!("{:<16} {}", need.word(), need.packages().join(" "));
        }
    }
    println!("everything is there");
    Ok(())
}
