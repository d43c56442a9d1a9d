//! The ownership registry that NVMe tools share: `/run/nvme/registry/nvmeN/owner`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::unreadable;
use crate::diagnose::Fact;
use crate::fabric::ControllerName;

/// Reads who owns which controller. No registry, no entry and no `owner` file all mean: nobody.
pub(super) fn read(registry: &Path) -> Fact<BTreeMap<ControllerName, String>> {
    match owners(registry) {
        Ok(owners) => Fact::Known(owners),
        Err(error) if error.kind() == ErrorKind::NotFound => Fact::Known(BTreeMap::new()),
        Err(error) => unreadable(registry, &error),
    }
}

fn owners(registry: &Path) -> io::Result<BTreeMap<ControllerName, String>> {
    let mut owners = BTreeMap::new();
    for entry in fs::read_dir(registry)? {
        let entry = entry?;
        let Some(controller) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        match fs::read_to_string(entry.path().join("owner")) {
            Ok(owner) if !owner.trim().is_empty() => {
                owners.insert(controller, owner.trim().to_owned());
            }
            Ok(_) => {}
            // Removed while it is read, or not written yet.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(owners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_means_unowned() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            read(&dir.path().join("registry")),
            Fact::Known(BTreeMap::new())
        );
        fs::create_dir_all(dir.path().join("nvme3")).unwrap();
        fs::create_dir_all(dir.path().join("nvme4")).unwrap();
        fs::create_dir_all(dir.path().join(".tmp")).unwrap();
        fs::write(dir.path().join("nvme4/owner"), "stas\n").unwrap();
        let expected = BTreeMap::from([(ControllerName::from_instance(4), "stas".to_owned())]);
        assert_eq!(read(dir.path()), Fact::Known(expected));
    }
}
