//! The kernel's own log, from a moment on.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;

use anyhow::{Context as _, Result};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// Where every open file reads the records on its own.
const DEVICE: &str = "/dev/kmsg";
/// `LOG_WARNING`: this level and those below it are complaints.
const WARNING: u32 = 4;

/// What the kernel printed since this was made.
#[derive(Debug)]
pub(super) struct KernelLog {
    records: File,
}

impl KernelLog {
    /// From now on.
    pub(super) fn start() -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags());
        let mut records = options
            .open(DEVICE)
            .with_context(|| format!("open {DEVICE}"))?;
        records
            .seek(SeekFrom::End(0))
            .with_context(|| format!("seek to the end of {DEVICE}"))?;
        Ok(Self { records })
    }

    /// Warnings and errors that have `word` in them, printed since the last look.
    pub(super) fn complaints(&mut self, word: &str) -> Result<Vec<String>> {
        let mut found = self.lines()?;
        found.retain(|(level, text)| *level <= WARNING && text.contains(word));
        Ok(found.into_iter().map(|(_, text)| text).collect())
    }

    fn lines(&mut self) -> Result<Vec<(u32, String)>> {
        let mut lines = Vec::new();
        let mut record = [0; 8192];
        loop {
            match self.records.read(&mut record) {
                Ok(length) => lines.extend(parse(&String::from_utf8_lossy(&record[..length]))),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => return Ok(lines),
                    // The ring has moved on over what was not read yet.
                    Some(Errno::PIPE) => {}
                    _ => return Err(error).with_context(|| format!("read {DEVICE}")),
                },
            }
        }
    }
}

fn flags() -> i32 {
    i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default()
}

/// A record is `priority,sequence,microseconds,flags;text`; the level is in the priority's lowest three bits.
fn parse(record: &str) -> Option<(u32, String)> {
    let (prefix, text) = record.split_once(';')?;
    let priority: u32 = prefix.split(',').next()?.parse().ok()?;
    Some((priority & 7, text.lines().next()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_level_and_its_text() {
        let record = "3,339,5140900,-;nvme nvme0: bad\n SUBSYSTEM=nvme\n";
        assert_eq!(parse(record), Some((3, "nvme nvme0: bad".to_owned())));
        assert_eq!(parse("30,1,2,-;boot\n").unwrap().0, 6);
        assert_eq!(parse("no record"), None);
    }
}
