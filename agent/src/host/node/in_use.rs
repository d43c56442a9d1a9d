//! Disks that somebody uses: mounted, swapped to, or held by another block device (device mapper, md), themselves or
//! by a partition.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::unreadable;
use crate::diagnose::Fact;
use crate::fabric::DiskName;
use crate::host::SysRoot;

/// Mounts of the first process, which sees the node's own; then of this one.
const MOUNTS: [&str; 2] = ["proc/1/mountinfo", "proc/self/mountinfo"];

/// Reads which NVMe disks are in use.
pub(super) fn read(root: &SysRoot) -> Fact<BTreeSet<DiskName>> {
    let mut in_use = BTreeSet::new();
    let Some(mounts) = MOUNTS
        .iter()
        .filter_map(|path| root.node(path))
        .find(|path| path.exists())
    else {
        return Fact::Unreadable("no table of mounts".to_owned());
    };
    match fs::read_to_string(&mounts) {
        Ok(text) => in_use.extend(text.lines().filter_map(mounted)),
        Err(error) => return unreadable(&mounts, &error),
    }
    if let Some(swaps) = root.node("proc/swaps") {
        match fs::read_to_string(&swaps) {
            Ok(text) => in_use.extend(
                text.lines()
                    .filter_map(|line| disk_of(line.split_whitespace().next()?)),
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return unreadable(&swaps, &error),
        }
    }
    let block = root.sys().join("block");
    match held(&block) {
        Ok(held) => in_use.extend(held),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return unreadable(&block, &error),
    }
    Fact::Known(in_use)
}

/// The disk of a line of mountinfo: the field after the type, behind the lone hyphen (proc(5)).
fn mounted(line: &str) -> Option<DiskName> {
    let (_, after) = line.split_once(" - ")?;
    disk_of(after.split_whitespace().nth(1)?)
}

/// The NVMe disk of a device node, a partition's of its disk.
fn disk_of(device: &str) -> Option<DiskName> {
    let name = device.strip_prefix("/dev/")?;
    let disk = match name.rsplit_once('p') {
        Some((disk, partition)) if partition.bytes().all(|b| b.is_ascii_digit()) => disk,
        _ => name,
    };
    disk.parse().or_else(|_| name.parse()).ok()
}

fn held(block: &Path) -> io::Result<Vec<DiskName>> {
    let mut held = Vec::new();
    for entry in fs::read_dir(block)? {
        let entry = entry?;
        let Some(disk) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<DiskName>().ok())
        else {
            continue;
        };
        let path = entry.path();
        let partitions = fs::read_dir(&path)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|child| {
                child
                    .file_name()
                    .to_str()
                    .is_some_and(|name| name.starts_with(&format!("{disk}p")))
            });
        let mut holders = partitions
            .map(|partition| partition.path())
            .chain([path.clone()]);
        if holders.any(|place| has_entries(&place.join("holders"))) {
            held.push(disk);
        }
    }
    Ok(held)
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disks(names: &[&str]) -> BTreeSet<DiskName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn mounts_swaps_and_holders_count_and_partitions_count_for_their_disk() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "proc/1/mountinfo",
            "36 35 259:1 / /mnt rw,noatime shared:1 - ext4 /dev/nvme0n1p2 rw\n\
             37 35 0:31 / /x rw - btrfs /dev/nvme1n12 rw\n\
             38 35 0:5 / /proc rw - proc proc rw\n",
        );
        write(
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/nvme2n1 partition 1 0 -2\n",
        );
        write("sys/block/nvme3n1/holders/dm-0", "");
        write("sys/block/nvme4n1/nvme4n1p1/holders/md0", "");
        write("sys/block/nvme5n1/holders/.keep", "");
        fs::remove_file(dir.path().join("sys/block/nvme5n1/holders/.keep")).unwrap();
        let root = SysRoot::rooted(dir.path());
        let expected = disks(&["nvme0n1", "nvme1n12", "nvme2n1", "nvme3n1", "nvme4n1"]);
        assert_eq!(read(&root), Fact::Known(expected));
    }

    #[test]
    fn without_a_table_of_mounts_nothing_is_known() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(
            read(&SysRoot::rooted(dir.path())),
            Fact::Unreadable(_)
        ));
    }
}
