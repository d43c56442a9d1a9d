//! Where the kernel's and the node's files are.

use std::path::{Path, PathBuf};

/// The directories a host's files are read from.
///
/// The rest of a node than `/sys` is not known when only `--sysfs` is given: the tree may come from
/// another host, and this one's `/proc` and `/etc/nvme` say nothing about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysRoot {
    sys: PathBuf,
    node: Option<PathBuf>,
}

impl SysRoot {
    /// This host.
    #[must_use]
    pub fn live() -> Self {
        Self::rooted("/")
    }

    /// A directory that stands for `/`: in a pod, where the host's is mounted.
    #[must_use]
    pub fn rooted(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            sys: root.join("sys"),
            node: Some(root),
        }
    }

    /// A directory that stands for `/sys`, and nothing else.
    #[must_use]
    pub fn sysfs_only(sys: impl Into<PathBuf>) -> Self {
        Self {
            sys: sys.into(),
            node: None,
        }
    }

    /// From the flags `--sysfs` and `--root`.
    #[must_use]
    pub fn from_flags(sysfs: Option<&Path>, root: Option<&Path>) -> Self {
        match (sysfs, root) {
            (None, None) => Self::live(),
            (None, Some(root)) => Self::rooted(root),
            (Some(sys), None) => Self::sysfs_only(sys),
            (Some(sys), Some(root)) => Self {
                sys: sys.into(),
                node: Some(root.into()),
            },
        }
    }

    /// What stands for `/sys`.
    #[must_use]
    pub fn sys(&self) -> &Path {
        &self.sys
    }

    /// A file of the node outside `/sys` (`proc/swaps`, `etc/nvme/hostnqn`), if the node is known.
    #[must_use]
    pub fn node(&self, path: &str) -> Option<PathBuf> {
        self.node.as_ref().map(|root| root.join(path))
    }

    /// Whether the node outside `/sys` is known.
    #[must_use]
    pub fn has_node(&self) -> bool {
        self.node.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_alone_says_nothing_about_the_node() {
        let root = SysRoot::from_flags(Some(Path::new("/x")), None);
        assert_eq!(
            (root.sys(), root.node("proc/swaps")),
            (Path::new("/x"), None)
        );
    }

    #[test]
    fn a_root_stands_for_all_of_it() {
        let root = SysRoot::from_flags(None, Some(Path::new("/host")));
        assert_eq!(root.sys(), Path::new("/host/sys"));
        assert_eq!(
            root.node("etc/nvme/hostnqn"),
            Some("/host/etc/nvme/hostnqn".into())
        );
        let both = SysRoot::from_flags(Some(Path::new("/x")), Some(Path::new("/host")));
        assert_eq!((both.sys(), both.has_node()), (Path::new("/x"), true));
    }
}
