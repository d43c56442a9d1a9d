//! Which modules the guest gets: those the lab's scenarios use and everything they need, from what depmod wrote.
//!
//! Also the dependencies that depmod leaves to modprobe: `softdep … pre:` names what must be there first without being
//! linked to (libcrc32c looks up an algorithm named crc32c when it starts). The guest has no modprobe, so the list it
//! gets has them as plain dependencies.

use std::collections::{BTreeMap, BTreeSet};

use pathwarden_tests::guest::modules::REQUIRED;

/// Beside what the guest's init loads: what scenarios load themselves.
const FOR_SCENARIOS: [&str; 8] = [
    "brd",
    "loop",
    "null_blk",
    "nvme",
    "nvme-core",
    "nvme-fabrics",
    "nvme-loop",
    "veth",
];

/// The modules that the guest loads by name, sorted.
pub(super) fn roots() -> BTreeSet<&'static str> {
    REQUIRED.into_iter().chain(FOR_SCENARIOS).collect()
}

/// depmod's files, as text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Depmod<'a> {
    /// modules.dep: `path: path…`
    pub(super) dep: &'a str,
    /// modules.softdep: `softdep name pre: name… post: name…`
    pub(super) softdep: &'a str,
    /// modules.alias: `alias pattern name`
    pub(super) alias: &'a str,
    /// modules.builtin: a path a line
    pub(super) builtin: &'a str,
}

/// What the guest gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selected {
    /// Paths of the modules in the kernel's module folder, as depmod names them.
    pub(super) files: Vec<String>,
    /// The guest's modules.dep: these modules only, uncompressed, each with everything that must be loaded before it, the
    /// first to load last (as in depmod's own).
    pub(super) dep: String,
    /// Roots this kernel has neither as a module nor built in.
    pub(super) absent: Vec<String>,
}

/// The roots and all they need.
pub(super) fn select<'r>(roots: impl IntoIterator<Item = &'r str>, depmod: Depmod<'_>) -> Selected {
    let graph = Graph::new(depmod);
    let builtin: BTreeSet<String> = depmod.builtin.lines().map(name_of).collect();
    let mut absent = Vec::new();
    let mut wanted = BTreeSet::new();
    for root in roots {
        match graph.modules.get(&normal(root)) {
            Some(module) => wanted.extend(graph.needs(module)),
            None if builtin.contains(&normal(root)) => {}
            None => absent.push(root.to_owned()),
        }
    }
    let dep = wanted.iter().map(|path| {
        let needs = graph.needs(path);
        // As depmod writes it: what is to be loaded first stands last.
        let others = needs.iter().rev().filter(|other| *other != path);
        let others = others.map(|other| format!(" {}", uncompressed(other)));
        format!("{}:{}\n", uncompressed(path), others.collect::<String>())
    });
    Selected {
        dep: dep.collect(),
        files: wanted.iter().map(|&path| path.to_owned()).collect(),
        absent,
    }
}

/// The path without its compression suffix.
pub(super) fn uncompressed(path: &str) -> &str {
    path.find(".ko")
        .map_or(path, |at| &path[..at + ".ko".len()])
}

struct Graph<'a> {
    /// Path by normal name.
    modules: BTreeMap<String, &'a str>,
    /// Direct needs by path, in the order they are to be loaded.
    needs: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Graph<'a> {
    fn new(depmod: Depmod<'a>) -> Self {
        let lines = depmod.dep.lines().filter_map(|line| line.split_once(':'));
        let mut needs: BTreeMap<&str, Vec<&str>> =
            // modprobe loads a line's dependencies from its end.
            lines.map(|(path, others)| (path, others.split_whitespace().rev().collect())).collect();
        let modules: BTreeMap<String, &str> =
            needs.keys().map(|path| (name_of(path), *path)).collect();
        for line in depmod.softdep.lines() {
            let Some((name, before)) = soft_needs(line) else {
                continue;
            };
            let Some(entry) = modules
                .get(&normal(name))
                .and_then(|path| needs.get_mut(path))
            else {
                continue;
            };
            let found = before.filter_map(|name| provider(name, &modules, depmod.alias));
            entry.splice(0..0, found.collect::<Vec<_>>());
        }
        Self { modules, needs }
    }

    /// The module and everything it needs, in an order that can be loaded: what is needed comes first.
    fn needs(&self, path: &'a str) -> Vec<&'a str> {
        let mut order = Vec::new();
        self.visit(path, &mut BTreeSet::new(), &mut order);
        order
    }

    fn visit(&self, path: &'a str, seen: &mut BTreeSet<&'a str>, order: &mut Vec<&'a str>) {
        if seen.insert(path) {
            for need in self.needs.get(path).into_iter().flatten() {
                self.visit(need, seen, order);
            }
            order.push(path);
        }
    }
}

/// `softdep NAME pre: A B post: C` → NAME and A, B.
fn soft_needs(line: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let (name, rest) = line.strip_prefix("softdep ")?.split_once(' ')?;
    let before = rest.split_once("pre:")?.1;
    let before = before.split("post:").next()?;
    Some((name, before.split_whitespace()))
}

/// The module a soft dependency means: one of that name, else one that has the name as alias. Of several the generic one:
/// it runs on every CPU.
fn provider<'a>(name: &str, modules: &BTreeMap<String, &'a str>, aliases: &str) -> Option<&'a str> {
    if let Some(path) = modules.get(&normal(name)) {
        return Some(path);
    }
    let named = aliases
        .lines()
        .filter_map(|line| line.strip_prefix("alias ")?.split_once(' '));
    let named = named
        .filter(|(alias, _)| *alias == name)
        .map(|(_, module)| normal(module));
    let found = named.min_by_key(|module| !module.ends_with("_generic"))?;
    modules.get(&found).copied()
}

/// The module a path is of.
fn name_of(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    normal(file.split(".ko").next().unwrap_or(file))
}

/// The kernel takes `-` and `_` in a module's name as the same.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPMOD: Depmod<'_> = Depmod {
        dep: "\
kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/block/t10-pi.ko.xz kernel/lib/crc-t10dif.ko.xz
kernel/drivers/nvme/host/nvme-tcp.ko.xz: kernel/lib/libcrc32c.ko.xz kernel/drivers/nvme/host/nvme-core.ko.xz kernel/block/t10-pi.ko.xz kernel/lib/crc-t10dif.ko.xz
kernel/block/t10-pi.ko.xz: kernel/lib/crc-t10dif.ko.xz
kernel/lib/crc-t10dif.ko.xz:
kernel/lib/libcrc32c.ko.xz:
kernel/crypto/crc32c_generic.ko.xz:
kernel/arch/x86/crypto/crc32c-intel.ko.xz:
kernel/drivers/gpu/drm/i915/i915.ko.xz:
",
        softdep: "# Soft dependencies\nsoftdep libcrc32c pre: crc32c\nsoftdep i915 pre: crc32c post: x\n",
        alias: "alias crc32c crc32c_intel\nalias crc32c crc32c_generic\nalias pci:v*d* nvme\n",
        builtin: "kernel/fs/configfs/configfs.ko\nkernel/drivers/block/loop.ko\n",
    };

    #[test]
    fn the_closure_holds_what_is_needed_and_nothing_else() {
        let selected = select(["nvme-tcp"], DEPMOD);

        assert_eq!(
            selected.files,
            [
                "kernel/block/t10-pi.ko.xz",
                "kernel/crypto/crc32c_generic.ko.xz",
                "kernel/drivers/nvme/host/nvme-core.ko.xz",
                "kernel/drivers/nvme/host/nvme-tcp.ko.xz",
                "kernel/lib/crc-t10dif.ko.xz",
                "kernel/lib/libcrc32c.ko.xz",
            ]
        );
    }

    #[test]
    fn the_trimmed_list_names_uncompressed_files_and_soft_dependencies_too() {
        let selected = select(["libcrc32c"], DEPMOD);

        assert_eq!(
            selected.dep,
            "kernel/crypto/crc32c_generic.ko:\n\
             kernel/lib/libcrc32c.ko: kernel/crypto/crc32c_generic.ko\n"
        );
    }

    #[test]
    fn a_root_that_is_built_in_is_fine_and_one_that_is_nowhere_is_named() {
        let selected = select(["configfs", "nvme_core", "nvme-loop"], DEPMOD);

        assert_eq!(selected.absent, ["nvme-loop"]);
        assert_eq!(selected.files.len(), 3);
    }

    #[test]
    fn a_circle_of_soft_dependencies_ends() {
        let depmod = Depmod {
            dep: "kernel/a.ko:\nkernel/b.ko: kernel/a.ko\n",
            softdep: "softdep a pre: b\n",
            alias: "",
            builtin: "",
        };

        assert_eq!(select(["b"], depmod).files, ["kernel/a.ko", "kernel/b.ko"]);
    }
}
