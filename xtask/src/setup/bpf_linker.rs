//! bpf-linker, built into the cache for the LLVM of the rustc whose bitcode it links.

use std::path::PathBuf;

use anyhow::Result;

use super::bpf_toolchain::Toolchain;
use super::cargo_tool::{self, CargoTool};
use super::debian;
use crate::cache::Cache;

const VERSION: &str = "0.13.0";

/// LLVM majors this version has a feature for.
const LLVM_MAJORS: [u32; 3] = [21, 22, 23];

/// Debian packages it is built with.
pub(super) fn packages(llvm_major: u32) -> Vec<String> {
    vec![
        format!("llvm-{llvm_major}-dev"),
        "zlib1g-dev".to_owned(),
        "libzstd-dev".to_owned(),
    ]
}

/// Whether it can be built for this LLVM on this machine.
pub(super) fn fits(llvm_major: u32) -> Result<bool> {
    Ok(LLVM_MAJORS.contains(&llvm_major) && debian::is_offered(&format!("llvm-{llvm_major}-dev"))?)
}

/// The program for this tool chain; built if the cache has none (about a minute).
pub(crate) fn program(cache: &Cache, toolchain: &Toolchain) -> Result<PathBuf> {
    let major = toolchain.llvm_major;
    let llvm = format!("llvm-{major}");
    let tool = CargoTool {
        name: "bpf-linker",
        version: VERSION,
        variant: Some(llvm.clone()),
        arguments: vec![
            "--no-default-features".to_owned(),
            "--features".to_owned(),
            llvm,
        ],
        // Its build script takes the first LLVM it finds on the system's library path without this, and then does not
        // find the library to link.
        environment: vec![("LLVM_PREFIX", format!("/usr/lib/llvm-{major}"))],
    };
    cargo_tool::install(cache, &tool)
}
