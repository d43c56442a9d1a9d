//! Locks between processes. The kernel lets go of them when the holder ends, however it ends.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context as _, Result};

/// Held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock of that name in `folder`; says so if it has to.
    pub(crate) fn take(folder: &Path, name: &str) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("creating {}", folder.display()))?;
        let path = folder.join(format!("{}.lock", name.replace('/', "--")));
        let file = File::options().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("opening the lock {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                eprintln!(
                    "note: waiting for another run of xtask that holds {}",
                    path.display()
                );
                file.lock()
                    .with_context(|| format!("waiting for the lock {}", path.display()))?;
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("locking {}", path.display()));
            }
        }
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn the_second_one_waits_until_the_first_lets_go() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lock::take(dir.path(), "kernels/x").unwrap();
        let (sender, receiver) = mpsc::channel();

        let folder = dir.path().to_owned();
        let waiter = std::thread::spawn(move || {
            let lock = Lock::take(&folder, "kernels/x");
            sender.send(()).unwrap();
            lock
        });

        assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
        drop(first);
        receiver.recv_timeout(Duration::from_secs(10)).unwrap();
        waiter.join().unwrap().unwrap();
    }
}
