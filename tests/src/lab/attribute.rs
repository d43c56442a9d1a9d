//! Kernel files (sysfs, configfs, tracefs), one value each. Every error names the file and, through its source, the errno.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The value without its line end.
pub fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    Ok(text.trim_end().to_owned())
}

/// Stores `value` with one write.
pub fn write(path: &Path, value: &str) -> Result<()> {
    fs::write(path, value).with_context(|| format!("write {value:?} to {}", path.display()))
}

/// Adds a line to a file that is a list, such as tracefs' `kprobe_events`.
pub fn append(path: &Path, line: &str) -> Result<()> {
    fs::OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .with_context(|| format!("append {line:?} to {}", path.display()))
}

/// Makes a folder; configfs creates the object that it stands for.
pub fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir(path).with_context(|| format!("mkdir {}", path.display()))
}

/// Removes a folder and the object that it stands for. The attributes in it are no obstacle to configfs.
pub fn remove_dir(path: &Path) -> Result<()> {
    fs::remove_dir(path).with_context(|| format!("rmdir {}", path.display()))
}

/// Links `link` to `target`.
pub fn link(target: &Path, link: &Path) -> Result<()> {
    std::os::unix::fs::symlink(target, link)
        .with_context(|| format!("link {} to {}", link.display(), target.display()))
}

/// Removes a link.
pub fn unlink(link: &Path) -> Result<()> {
    fs::remove_file(link).with_context(|| format!("unlink {}", link.display()))
}

/// What a folder holds, sorted by path; a folder that is not there holds nothing.
pub fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let read = match fs::read_dir(dir) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("list {}", dir.display())),
    };
    let mut paths = read
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .with_context(|| format!("list {}", dir.display()))?;
    paths.sort();
    Ok(paths)
}

/// The last part of a path as text.
pub fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_names_the_value_the_file_and_the_errno() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("no/such/ana_state");
        let error = format!("{:#}", write(&missing, "optimized").unwrap_err());
        assert!(error.contains("\"optimized\""), "{error}");
        assert!(error.contains("no/such/ana_state"), "{error}");
        assert!(error.contains("os error 2"), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_holds_nothing() {
        assert!(entries(Path::new("/no/such/folder")).unwrap().is_empty());
    }
}
