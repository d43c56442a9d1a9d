//! The system calls of a walk, each of which may block: opening and listing directories, reading attributes.
//!
//! One open, one read and one close an attribute, and one listing a directory: under an emulator and on a busy host
//! alike, the kernel's part of these is nearly all that a scan takes.

use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags, RawDir as Listing, fstat, openat};
use rustix::io::{Errno, read};

use super::super::attributes::{Detail, Kind};
use super::super::raw::Reading;
use crate::fabric::{ControllerName, DiskName, Fault};

/// A sysfs attribute ends at one page. One byte more tells that a file is longer.
const PAGE: usize = 4096;

/// Room for a file that is longer than a page, and for the listing of a directory.
pub(super) const BUFFER: usize = 4 * PAGE;

/// A directory that has been opened and listed.
pub(super) struct Entered {
    /// What its attributes are read through.
    pub(super) handle: OwnedFd,
    /// Its inode.
    pub(super) inode: u64,
    /// Which attributes of its kind it has, of those that are wanted: bit n for the nth.
    pub(super) present: u32,
    /// Whether `delete_controller` is in it.
    pub(super) deletable: bool,
    /// Disks below it.
    pub(super) disks: Vec<DiskName>,
    /// Controllers that it links to.
    pub(super) links: Vec<ControllerName>,
}

/// A fault from a system call's error.
pub(super) fn fault(errno: Errno) -> Fault {
    Fault::Errno(errno.raw_os_error())
}

/// Opens and lists a directory of a class, for the names of NVMe objects in it.
pub(super) fn list(
    at: &OwnedFd,
    path: &str,
    buffer: &mut Vec<u8>,
) -> Result<(OwnedFd, Vec<String>), Fault> {
    let handle = open_directory(at, path)?;
    let mut names = Vec::new();
    each_entry(&handle, buffer, |name, _| {
        if name.starts_with("nvme") {
            names.push(name.to_owned());
        }
    })?;
    Ok((handle, names))
}

/// Opens and lists the directory of an object.
pub(super) fn enter(
    at: &OwnedFd,
    path: &str,
    kind: Kind,
    detail: Detail,
    buffer: &mut Vec<u8>,
) -> Result<Entered, Fault> {
    let handle = open_directory(at, path)?;
    let mut inode = None;
    let (mut present, mut deletable) = (0, false);
    let (mut disks, mut links) = (Vec::new(), Vec::new());
    each_entry(&handle, buffer, |name, number| {
        if let Some(bit) = kind.position(name) {
            present |= 1 << bit;
        } else if name == "." {
            inode = Some(number);
        } else if name == "delete_controller" {
            deletable = true;
        } else if name == "diag" {
            present |= kind.diag();
        } else if matches!(kind, Kind::Subsystem | Kind::Controller) && name.starts_with("nvme") {
            if let Ok(disk) = name.parse() {
                disks.push(disk);
            } else if kind == Kind::Subsystem
                && let Ok(controller) = name.parse()
            {
                links.push(controller);
            }
        }
    })?;
    let inode = match inode {
        Some(inode) => inode,
        // A file system that does not list it.
        None => fstat(&handle).map_err(fault)?.st_ino,
    };
    Ok(Entered {
        handle,
        inode,
        present: present & kind.wanted(detail),
        deletable,
        disks,
        links,
    })
}

fn open_directory(at: &OwnedFd, path: &str) -> Result<OwnedFd, Fault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty()).map_err(fault)
}

/// Lists a directory: names with inodes. Names that are not UTF-8 are none of the kernel's.
fn each_entry(
    handle: &OwnedFd,
    buffer: &mut Vec<u8>,
    mut each: impl FnMut(&str, u64),
) -> Result<(), Fault> {
    buffer.clear();
    let mut listing = Listing::new(handle.as_fd(), buffer.spare_capacity_mut());
    while let Some(entry) = listing.next() {
        let entry = entry.map_err(fault)?;
        if let Ok(name) = entry.file_name().to_str() {
            each(name, entry.ino());
        }
    }
    Ok(())
}

/// Reads one attribute, with one read: sysfs gives all of it at once. Never follows a link, which no
/// attribute is.
pub(super) fn read_attribute(at: &OwnedFd, name: &str, buffer: &mut Vec<u8>) -> Reading {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file = openat(at, name, flags, Mode::empty()).map_err(fault)?;
    buffer.clear();
    read(&file, spare_capacity(buffer)).map_err(fault)?;
    if buffer.len() > PAGE {
        return Err(Fault::TooLong);
    }
    let text = std::str::from_utf8(buffer).map_err(|_| Fault::Malformed)?;
    Ok(text.strip_suffix('\n').unwrap_or(text).into())
}
