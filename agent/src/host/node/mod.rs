//! What the node says about its connections and disks outside sysfs: who it is, who owns which connection, what is
//! excluded, what is mounted.

mod exclusions;
mod identity;
mod in_use;
mod registry;

use std::io;
use std::path::Path;

use super::SysRoot;
use crate::diagnose::{Fact, HostId, Node};

/// Reads the facts. `host` is who this host is if a flag or the configuration says so.
#[must_use]
pub fn read(root: &SysRoot, host: Option<HostId>) -> Node {
    let mut node = Node::elsewhere();
    if let Some(host) = host {
        node.host = Fact::Known(host);
    } else if let Some(etc) = root.node("etc/nvme") {
        node.host = identity::read(&etc);
    }
    if let (Some(run), Some(etc)) = (root.node("run/nvme/registry"), root.node("etc/nvme")) {
        node.owners = registry::read(&run);
        node.exclusions = exclusions::read(&etc);
        node.in_use = in_use::read(root);
    }
    node
}

/// What could not be read, and why.
fn unreadable<T>(path: &Path, error: &io::Error) -> Fact<T> {
    Fact::Unreadable(format!("{}: {error}", path.display()))
}
