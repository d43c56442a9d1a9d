//! A part of the guest's file tree that programs do not find while it is hidden.

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// An empty file system over a folder.
#[derive(Debug)]
pub struct Hidden {
    folder: &'static str,
}

impl Hidden {
    /// Hides what is in `folder`.
    pub fn under(folder: &'static str) -> Result<Self> {
        mount("tmpfs", folder, "tmpfs", MountFlags::empty(), None)
            .with_context(|| format!("mount an empty tmpfs on {folder}"))?;
        Ok(Self { folder })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Err(errno) = unmount(self.folder, UnmountFlags::empty()) {
            eprintln!("unmount {}: {errno}", self.folder);
        }
    }
}
