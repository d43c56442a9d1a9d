//! What the guest has on its root file system: the archive the kernel unpacks when it starts.
//!
//! No shell and no busybox: the init is ours, the agent, the libraries both need, the kernel's modules, and nothing that a
//! scenario does not ask for.

mod cpio;
mod extra;
mod libraries;
mod own;
mod programs;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use cpio::Archive;
pub(crate) use programs::Programs;

use super::kernels::Kernel;
use crate::cache::Cache;

/// Folders that are mounted over or written to.
const FOLDERS: [&str; 6] = ["proc", "sys", "dev", "run", "tmp", "etc/nvme"];

/// Writes the archive for that kernel.
pub(crate) fn write(to: &Path, cache: &Cache, kernel: &Kernel, programs: &Programs) -> Result<()> {
    let write = || -> Result<()> {
        let file = BufWriter::new(File::create(to).context("creating it")?);
        let mut archive = Archive::new(file);
        for folder in FOLDERS {
            archive.folder(folder)?;
        }
        // The kernel opens it for init's standard streams before anything is mounted (CONFIG_DEVTMPFS_MOUNT does not
        // hold for an initramfs).
        archive.character_device("dev/console", (5, 1))?;
        for (place, file) in &programs.files {
            copy(&mut archive, place, file, 0o755)?;
        }
        add_tree(&mut archive, "lib", &kernel.modules(cache))?;
        archive.finish()?;
        Ok(())
    };
    write().with_context(|| format!("writing the guest's root file system {}", to.display()))
}

fn add_tree<W: Write>(archive: &mut Archive<W>, place: &str, folder: &Path) -> Result<()> {
    let listed = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in listed {
        paths.push(
            entry
                .with_context(|| format!("listing {}", folder.display()))?
                .path(),
        );
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let inside = format!("{place}/{name}");
        if path.is_symlink() {
            let target = fs::read_link(&path)
                .with_context(|| format!("reading the link {}", path.display()))?;
            archive.symlink(&inside, &target.to_string_lossy())?;
        } else if path.is_dir() {
            add_tree(archive, &inside, &path)?;
        } else {
            copy(archive, &inside, &path, 0o644)?;
        }
    }
    Ok(())
}

fn copy<W: Write>(
    archive: &mut Archive<W>,
    place: &str,
    file: &Path,
    permissions: u32,
) -> Result<()> {
    archive
        .copy(place, permissions, file)
        .with_context(|| format!("adding {}", file.display()))
}
