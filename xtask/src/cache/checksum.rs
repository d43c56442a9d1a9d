//! SHA-256 of files, and the list of them that makes a folder verifiable (`sha256sum -c` reads it too).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

const LIST: &str = "SHA256SUMS";

/// The file's SHA-256 in hexadecimal.
pub(crate) fn of_file(path: &Path) -> Result<String> {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 18];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(hexadecimal(&hash.finalize()));
            }
            hash.update(&buffer[..count]);
        }
    };
    read().with_context(|| format!("reading {} for its checksum", path.display()))
}

/// The SHA-256 of these bytes in hexadecimal.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Writes the list of all files' checksums into the folder.
pub(super) fn seal(folder: &Path) -> Result<()> {
    let mut list = String::new();
    for file in files(folder)? {
        // Writing to a String cannot fail.
        _ = writeln!(
            list,
            "{}  {}",
            of_file(&folder.join(&file))?,
            file.display()
        );
    }
    fs::write(folder.join(LIST), list)
        .with_context(|| format!("writing the checksums of {}", folder.display()))
}

/// Compares the folder with its list: every file there, none changed, none beside.
pub(super) fn verify(folder: &Path) -> Result<()> {
    let list = fs::read_to_string(folder.join(LIST)).context("it has no list of checksums")?;
    let listed: BTreeMap<&str, &str> = list
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(sum, name)| (name, sum))
        .collect();
    let found = files(folder)?;
    if found.len() != listed.len() {
        bail!(
            "it holds {} files and its list names {}",
            found.len(),
            listed.len()
        );
    }
    for file in found {
        let name = file.display().to_string();
        match listed.get(name.as_str()) {
            Some(sum) if **sum == of_file(&folder.join(&file))? => {}
            Some(_) => bail!("{name} has another checksum than when it was stored"),
            None => bail!("{name} is not in its list"),
        }
    }
    Ok(())
}

/// All regular files below the folder but the list itself, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        let path = folder.join(&dir);
        for entry in fs::read_dir(&path).with_context(|| format!("listing {}", path.display()))? {
            let entry = entry.with_context(|| format!("listing {}", path.display()))?;
            let name = dir.join(entry.file_name());
            let kind = entry
                .file_type()
                .with_context(|| format!("looking at {}", name.display()))?;
            if kind.is_dir() {
                open.push(name);
            } else if kind.is_file() && name != Path::new(LIST) {
                found.push(name);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            of_bytes(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_sealed_folder_verifies_until_a_file_changes_comes_or_goes() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("lib")).unwrap();
        fs::write(dir.path().join("lib/a"), "a").unwrap();
        fs::write(dir.path().join("b"), "b").unwrap();
        assert!(verify(dir.path()).is_err(), "not sealed yet");

        seal(dir.path()).unwrap();
        verify(dir.path()).unwrap();

        fs::write(dir.path().join("b"), "B").unwrap();
        assert_eq!(
            verify(dir.path()).unwrap_err().to_string(),
            "b has another checksum than when it was stored"
        );
        fs::write(dir.path().join("b"), "b").unwrap();
        fs::write(dir.path().join("c"), "c").unwrap();
        assert_eq!(
            verify(dir.path()).unwrap_err().to_string(),
            "it holds 3 files and its list names 2"
        );
    }
}
