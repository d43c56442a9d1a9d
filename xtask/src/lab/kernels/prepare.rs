//! From packages to what the emulator and the guest need: the kernel's image, and the modules uncompressed.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::choice::Candidate;
use super::modules::{self, Depmod};
use crate::cache;
use crate::command;

/// Counted up when what is prepared from the same packages changes; the list of modules counts by itself.
const FORMAT: u32 = 1;

/// The kernel's image, in a prepared folder.
pub(super) const IMAGE: &str = "vmlinuz";

/// What is made of the packages, as a short checksum.
pub(super) fn recipe() -> String {
    let roots: Vec<_> = modules::roots().into_iter().collect();
    short(&format!("{FORMAT} {}", roots.join(" ")))
}

/// Tells preparations apart: what they were made from and how, as a short checksum.
pub(super) fn key(recipe: &str, archives: &[PathBuf]) -> String {
    // An archive's folder is named by its checksum.
    let folders = archives
        .iter()
        .filter_map(|archive| archive.parent()?.file_name());
    let folders: Vec<_> = folders.map(|name| name.to_string_lossy()).collect();
    short(&format!("{recipe} {}", folders.join(" ")))
}

fn short(text: &str) -> String {
    cache::of_bytes(text.as_bytes())[..12].to_owned()
}

/// Fills `folder` with the image and `lib/modules/<release>`.
pub(super) fn fill(folder: &Path, candidate: &Candidate, archives: &[PathBuf]) -> Result<()> {
    let tree = folder.join("tree");
    for archive in archives {
        let doing = format!("taking apart {}", archive.display());
        command::run(
            Command::new("dpkg").arg("-x").arg(archive).arg(&tree),
            &doing,
        )?;
    }
    let release = &candidate.release;
    // Older packages have /lib, newer ones only /usr/lib; depmod looks in /lib.
    if !tree.join("lib").exists() {
        symlink("usr/lib", tree.join("lib")).context("linking lib to usr/lib")?;
    }
    let source = tree.join("lib/modules").join(release);
    let images = [
        tree.join("boot").join(format!("vmlinuz-{release}")),
        source.join("vmlinuz"),
    ];
    let image = images.iter().find(|path| path.exists()).with_context(|| {
        format!("the packages of {release} have no kernel image where the lab knows to look for it")
    })?;
    fs::rename(image, folder.join(IMAGE)).context("moving the kernel image")?;

    // Debian's packages do not carry what depmod writes: it is made when they are installed.
    let depmod = Command::new("depmod")
        .arg("-b")
        .arg(&tree)
        .arg(release)
        .stderr(Stdio::null())
        .status();
    if !depmod.context("starting depmod")?.success() {
        bail!("depmod could not list the modules of {release}");
    }
    take_modules(&source, &folder.join("lib/modules").join(release), release)?;
    fs::remove_dir_all(&tree).context("removing the packages' other files")
}

fn take_modules(source: &Path, destination: &Path, release: &str) -> Result<()> {
    let read = |name: &str| {
        fs::read_to_string(source.join(name))
            .with_context(|| format!("reading {name} of {release}"))
    };
    let (dep, softdep) = (read("modules.dep")?, read("modules.softdep")?);
    let (alias, builtin) = (read("modules.alias")?, read("modules.builtin")?);
    let depmod = Depmod {
        dep: &dep,
        softdep: &softdep,
        alias: &alias,
        builtin: &builtin,
    };
    let selected = modules::select(modules::roots(), depmod);
    if !selected.absent.is_empty() {
        eprintln!(
            "note: {release} has no module {}",
            selected.absent.join(", ")
        );
    }
    for file in &selected.files {
        let to = destination.join(modules::uncompressed(file));
        fs::create_dir_all(to.parent().unwrap_or(destination))
            .context("creating a folder for modules")?;
        uncompress(&source.join(file), &to)
            .with_context(|| format!("uncompressing {file} of {release}"))?;
    }
    fs::write(destination.join("modules.dep"), selected.dep)
        .context("writing the guest's modules.dep")
}

fn uncompress(from: &Path, to: &Path) -> Result<()> {
    match from.extension().and_then(|extension| extension.to_str()) {
        Some("ko") => fs::copy(from, to).map(|_| ()).context("copying it"),
        Some("xz") => {
            let to = File::create(to).context("creating it")?;
            command::run(
                Command::new("xz")
                    .args(["--decompress", "--stdout"])
                    .arg(from)
                    .stdout(to),
                "running xz",
            )
        }
        _ => bail!("it is compressed in a way that the lab does not know"),
    }
}
