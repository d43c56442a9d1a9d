//! Files into a directory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::Node;

/// An unfolded tree; it goes when this is dropped.
pub(crate) struct Unfolded {
    dir: TempDir,
    fifos: Vec<PathBuf>,
}

/// Unfolds files into a temporary directory. `order` decides in which order entries are made, and with it in which
/// order a directory lists them.
pub(crate) fn unfold(files: &BTreeMap<String, Node>, order: u64) -> Unfolded {
    // sysfs is in memory; so is this where it can be.
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() {
        TempDir::new_in(memory)
    } else {
        TempDir::new()
    }
    .unwrap();
    let fifos = unfold_into(dir.path(), files, order);
    Unfolded { dir, fifos }
}

/// The same into a directory of one's own. Returns what blocks whoever reads it.
pub(crate) fn unfold_into(dir: &Path, files: &BTreeMap<String, Node>, order: u64) -> Vec<PathBuf> {
    let mut entries: Vec<(&String, &Node)> = files.iter().collect();
    entries.sort_by_key(|(path, _)| scramble(path, order));
    let mut fifos = Vec::new();
    for (path, node) in entries {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match node {
            Node::Dir => fs::create_dir_all(&path).unwrap(),
            Node::File(text) => fs::write(&path, text).unwrap(),
            Node::Binary => fs::write(&path, b"\xff\xfe\x00\x01").unwrap(),
            Node::Link(target) => symlink(target, &path).unwrap(),
            Node::Fifo => {
                mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
                fifos.push(path);
            }
            Node::Socket => bind(dir, &path),
        }
    }
    fifos
}

/// A socket's path must be short, which a place deep in a tree is not.
fn bind(dir: &Path, path: &Path) {
    let short = dir.join("s");
    drop(UnixListener::bind(&short).unwrap());
    fs::rename(&short, path).unwrap();
}

/// Paths in the order of a seed; 0 is the order of their names.
fn scramble(path: &str, order: u64) -> (u64, String) {
    let mut hash = order;
    if order != 0 {
        for byte in path.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    (hash, path.to_owned())
}

impl Unfolded {
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Unfolded {
    fn drop(&mut self) {
        // Lets go of whoever waits for a writer.
        for fifo in &self.fifos {
            let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
            drop(rustix::fs::open(fifo, flags, Mode::empty()));
        }
    }
}
