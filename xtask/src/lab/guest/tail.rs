//! Lines of a file that is still being written.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a growing file line by line.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    begun: Vec<u8>,
}

impl Tail {
    /// From the file's beginning; it is created if it is not there yet.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        Ok(Self {
            file,
            begun: Vec::new(),
        })
    }

    /// The lines that were completed since the last call. A serial line ends with CR LF; bytes that are no text are
    /// replaced.
    pub(super) fn lines(&mut self) -> io::Result<Vec<String>> {
        self.file.read_to_end(&mut self.begun)?;
        let complete = self
            .begun
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let rest = self.begun.split_off(complete);
        let text = std::mem::replace(&mut self.begun, rest);
        Ok(String::from_utf8_lossy(&text)
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_line_is_returned_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("port");
        let mut tail = Tail::open(&path).unwrap();
        let mut port = File::options().append(true).open(&path).unwrap();

        port.write_all(b"one\r\ntwo\r\nthr").unwrap();
        assert_eq!(tail.lines().unwrap(), ["one", "two"]);
        assert!(tail.lines().unwrap().is_empty());
        port.write_all(b"ee\r\n").unwrap();
        assert_eq!(tail.lines().unwrap(), ["three"]);
    }
}
