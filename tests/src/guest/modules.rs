//! Kernel modules, loaded in the order that `modules.dep` gives. The archive holds them decompressed.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use rustix::io::Errno;
use rustix::system::finit_module;

/// What the lab needs; what these depend on follows from `modules.dep`.
pub const REQUIRED: [&str; 4] = ["configfs", "nvme-tcp", "nvmet", "nvmet-tcp"];

/// Where the running kernel's modules are.
pub(crate) fn folder() -> PathBuf {
    let kernel = rustix::system::uname();
    Path::new("/lib/modules").join(&*kernel.release().to_string_lossy())
}

/// Loads all of them from `dir`, `/lib/modules/RELEASE`.
pub(crate) fn load_all(dir: &Path) -> Result<()> {
    let file = dir.join("modules.dep");
    let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let dependencies = Dependencies::parse(&text);
    for name in REQUIRED {
        for path in dependencies.load_order(name) {
            load(&dir.join(path), c"")?;
        }
    }
    for name in REQUIRED {
        ensure!(
            is_loaded(name),
            "module {name} is neither in {} nor built in",
            file.display()
        );
    }
    Ok(())
}

/// Loads one module from `dir` with these parameters, and before it what it needs.
pub(crate) fn load_one(dir: &Path, name: &str, parameters: &CStr) -> Result<()> {
    let file = dir.join("modules.dep");
    let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let order = Dependencies::parse(&text).load_order(name);
    let (last, first) = order
        .split_last()
        .with_context(|| format!("{} has no module {name}", file.display()))?;
    for path in first {
        load(&dir.join(path), c"")?;
    }
    load(&dir.join(last), parameters)
}

fn is_loaded(name: &str) -> bool {
    // A built-in module without parameters has no folder there; file systems are known by name.
    Path::new("/sys/module").join(key(name)).exists()
        || fs::read_to_string("/proc/filesystems").is_ok_and(|known| {
            known
                .split_whitespace()
                .any(|file_system| file_system == name)
        })
}

fn load(path: &Path, parameters: &CStr) -> Result<()> {
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    match finit_module(&file, parameters, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno).with_context(|| format!("load {}", path.display())),
    }
}

/// `modules.dep`: each module's file and the files it needs.
#[derive(Debug)]
struct Dependencies<'t> {
    /// By the kernel's name of the module.
    needs: HashMap<String, (&'t str, Vec<&'t str>)>,
}

impl<'t> Dependencies<'t> {
    fn parse(text: &'t str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let needs = lines.map(|(file, needed)| {
            (
                key(file),
                (
                    decompressed(file),
                    needed.split_whitespace().map(decompressed).collect(),
                ),
            )
        });
        Self {
            needs: needs.collect(),
        }
    }

    /// The files to load for a module, those it needs first, itself last; none if it is not listed.
    fn load_order(&self, name: &str) -> Vec<&'t str> {
        let mut order = Vec::new();
        self.visit(&key(name), &mut HashSet::new(), &mut order);
        order
    }

    fn visit(&self, module: &str, seen: &mut HashSet<String>, order: &mut Vec<&'t str>) {
        let Some((file, needs)) = self.needs.get(module) else {
            return;
        };
        if seen.insert(module.to_owned()) {
            for needed in needs {
                self.visit(&key(needed), seen, order);
            }
            order.push(file);
        }
    }
}

/// A module's name as the kernel writes it: from a path or a name, with underscores.
pub(crate) fn key(file: &str) -> String {
    let file = file.rsplit_once('/').map_or(file, |(_, name)| name);
    file.split_once('.')
        .map_or(file, |(name, _)| name)
        .replace('-', "_")
}

/// The path without the compression that the distribution's package had.
fn decompressed(file: &str) -> &str {
    [".xz", ".zst", ".gz"]
        .iter()
        .find_map(|suffix| file.strip_suffix(suffix))
        .unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "\
kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/drivers/nvme/common/nvme-auth.ko.xz
kernel/drivers/nvme/host/nvme-tcp.ko.xz: kernel/drivers/nvme/host/nvme-fabrics.ko.xz kernel/drivers/nvme/host/nvme-core.ko.xz kernel/drivers/nvme/common/nvme-auth.ko.xz
kernel/drivers/nvme/host/nvme-fabrics.ko.xz: kernel/drivers/nvme/host/nvme-core.ko.xz
kernel/drivers/nvme/common/nvme-auth.ko.xz:
";

    fn names(order: &[&str]) -> Vec<String> {
        order.iter().map(|file| key(file)).collect()
    }

    #[test]
    fn what_a_module_needs_comes_before_it_and_once() {
        let dependencies = Dependencies::parse(DEP);
        let order = dependencies.load_order("nvme-tcp");
        assert_eq!(
            names(&order),
            ["nvme_auth", "nvme_core", "nvme_fabrics", "nvme_tcp"]
        );
        assert_eq!(order[3], "kernel/drivers/nvme/host/nvme-tcp.ko");
    }

    #[test]
    fn dashes_and_underscores_name_the_same_module() {
        let dependencies = Dependencies::parse(DEP);
        assert_eq!(
            dependencies.load_order("nvme_core"),
            dependencies.load_order("nvme-core")
        );
    }

    #[test]
    fn a_module_that_is_not_listed_has_nothing_to_load() {
        assert!(Dependencies::parse(DEP).load_order("tls").is_empty());
    }

    #[test]
    fn a_circle_ends() {
        let dependencies = Dependencies::parse("a.ko: b.ko\nb.ko: a.ko\n");
        assert_eq!(dependencies.load_order("a"), ["b.ko", "a.ko"]);
    }
}
