//! The BPF programs. Built for the kernel by `cargo xtask build-ebpf`; for every other target this is an empty `main`,
//! so that the workspace checks and tests without the BPF target.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod programs;

#[cfg(not(target_arch = "bpf"))]
fn main() {}
