//! The archive the kernel unpacks as its first root file system: cpio in the "newc" format (kernel:
//! Documentation/driver-api/early-userspace/buffer-format.rst), uncompressed.
//!
//! Uncompressed because the emulator hands it over at the speed of a copy, while the emulated CPU takes seconds to
//! uncompress it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path};

/// Writes an archive, an entry at a time. Folders an entry lies in are written before it.
#[derive(Debug)]
pub(super) struct Archive<W> {
    out: W,
    folders: BTreeSet<String>,
    inode: u32,
}

const FOLDER: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

impl<W: Write> Archive<W> {
    /// An empty archive.
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            folders: BTreeSet::new(),
            inode: 0,
        }
    }

    /// A folder, with those above it.
    pub(super) fn folder(&mut self, path: &str) -> io::Result<()> {
        let mut so_far = String::new();
        for part in Path::new(path).components() {
            let Component::Normal(part) = part else {
                continue;
            };
            if !so_far.is_empty() {
                so_far.push('/');
            }
            so_far.push_str(&part.to_string_lossy());
            if self.folders.insert(so_far.clone()) {
                self.entry(&so_far, FOLDER | 0o755, (0, 0), &[])?;
            }
        }
        Ok(())
    }

    /// A file with these bytes.
    pub(super) fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, REGULAR | permissions, (0, 0), content)
    }

    /// A copy of a file of this machine.
    pub(super) fn copy(&mut self, path: &str, permissions: u32, from: &Path) -> io::Result<()> {
        let content = fs::read(from)?;
        self.file(path, permissions, &content)
    }

    /// A symbolic link.
    pub(super) fn symlink(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, SYMLINK | 0o777, (0, 0), target.as_bytes())
    }

    /// A character device with its major and minor number.
    pub(super) fn character_device(&mut self, path: &str, device: (u32, u32)) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, CHARACTER | 0o600, device, &[])
    }

    /// Ends the archive and returns where it was written to.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.inode = 0;
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn parents(&mut self, path: &str) -> io::Result<()> {
        match Path::new(path).parent().and_then(Path::to_str) {
            Some(parent) => self.folder(parent),
            None => Ok(()),
        }
    }

    fn entry(
        &mut self,
        path: &str,
        mode: u32,
        device: (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        let name = path.trim_start_matches('/');
        let too_long = |_| io::Error::other(format!("{path} is too long for the archive"));
        let size = u32::try_from(content.len()).map_err(too_long)?;
        let name_size = u32::try_from(name.len() + 1).map_err(too_long)?;
        let links = 1;
        // Times are left 0: the same content makes the same archive.
        let fields = [
            self.inode, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name_size, 0,
        ];
        // Two entries with one inode number would be hard links of one another.
        self.inode += 1;
        self.out.write_all(b"070701")?;
        for field in fields {
            write!(self.out, "{field:08x}")?;
        }
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&[0])?;
        self.pad(6 + 13 * 8 + name.len() + 1)?;
        self.out.write_all(content)?;
        self.pad(content.len())
    }

    /// Header with name, and content, each fill up to a multiple of four bytes.
    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.out
            .write_all(&[0; 3][..written.next_multiple_of(4) - written])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn an_entry_is_its_header_its_name_and_its_content_padded_to_four() {
        let mut archive = Archive::new(Vec::new());
        archive.file("/init", 0o755, b"hello").unwrap();

        let written = text(&archive.out);

        let header = "070701\
            00000000\
            000081ed\
            00000000\
            00000000\
            00000001\
            00000000\
            00000005\
            00000000\
            00000000\
            00000000\
            00000000\
            00000005\
            00000000";
        assert_eq!(written, format!("{header}init\0\0hello\0\0\0"));
        assert_eq!(written.len() % 4, 0);
    }

    #[test]
    fn folders_come_once_and_before_what_lies_in_them() {
        let mut archive = Archive::new(Vec::new());
        archive.file("usr/bin/a", 0o755, b"").unwrap();
        archive.file("usr/bin/b", 0o755, b"").unwrap();
        archive.folder("usr/lib").unwrap();

        let written = text(&archive.out);

        let names: Vec<_> = written
            .split("070701")
            .skip(1)
            .map(|entry| entry[104..].trim_end_matches('\0'))
            .collect();
        assert_eq!(
            names,
            ["usr", "usr/bin", "usr/bin/a", "usr/bin/b", "usr/lib"]
        );
    }

    #[test]
    fn a_link_has_its_target_as_content() {
        let mut archive = Archive::new(Vec::new());
        archive.symlink("lib64", "usr/lib64").unwrap();

        let written = text(&archive.out);

        assert_eq!(&written[14..22], "0000a1ff");
        assert!(written.contains("lib64\0"), "{written:?}");
        assert!(
            written.trim_end_matches('\0').ends_with("usr/lib64"),
            "{written:?}"
        );
    }

    #[test]
    fn a_device_has_its_numbers_in_the_header() {
        let mut archive = Archive::new(Vec::new());
        archive.character_device("dev/console", (5, 1)).unwrap();

        let written = text(&archive.out);

        let entry = written.rsplit("070701").next().unwrap();
        assert_eq!(
            &entry[8..16],
            "00002180",
            "mode: character device, rw for root"
        );
        assert_eq!(&entry[72..88], "0000000500000001");
    }

    #[test]
    fn the_archive_ends_with_the_trailer() {
        let written = text(&Archive::new(Vec::new()).finish().unwrap());

        assert!(
            written.contains("0000000b00000000TRAILER!!!\0"),
            "{written:?}"
        );
        assert_eq!(written.len(), 124);
    }

    #[test]
    fn no_two_entries_share_an_inode_number() {
        let mut archive = Archive::new(Vec::new());
        archive.file("a", 0o644, b"").unwrap();
        archive.file("b", 0o644, b"").unwrap();

        let written = text(&archive.out);

        let inodes: Vec<_> = written
            .split("070701")
            .skip(1)
            .map(|entry| &entry[..8])
            .collect();
        assert_eq!(inodes, ["00000000", "00000001"]);
    }
}
