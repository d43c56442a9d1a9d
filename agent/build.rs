//! Embeds the BPF object that `cargo xtask build-ebpf` has written, unless it is older than its sources. Without one
//! the binary is built all the same, runs on looks at sysfs, and says so.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(pathwarden_probes)");
    println!("cargo::rerun-if-changed=embedded");
    println!("cargo::rerun-if-changed=../agent-ebpf");
    let object = PathBuf::from(env("CARGO_MANIFEST_DIR")).join("embedded/pathwarden.bpf.o");
    let Some(built) = modified(&object) else {
        return;
    };
    if newest(Path::new("../agent-ebpf")).is_some_and(|source| source > built) {
        println!(
            "cargo::warning=the BPF object is older than agent-ebpf/: built without probes (cargo xtask build-ebpf)"
        );
        return;
    }
    println!("cargo::rustc-cfg=pathwarden_probes");
    println!(
        "cargo::rustc-env=PATHWARDEN_BPF_OBJECT={}",
        object.display()
    );
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
}

/// The newest modification below a folder.
fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let times = entries.filter_map(|entry| {
        if entry.path().is_dir() {
            newest(&entry.path())
        } else {
            modified(&entry.path())
        }
    });
    times.max()
}
