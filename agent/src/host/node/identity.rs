//! Who this host is: nvme-cli's `hostnqn` and `hostid`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::unreadable;
use crate::diagnose::{Fact, HostId};
use crate::fabric::Nqn;

/// Reads both files. Without a host NQN this node is nobody, as far as it knows: that is like a tree from elsewhere,
/// where the connections themselves have to say.
pub(super) fn read(etc: &Path) -> Fact<HostId> {
    let line = |name: &str| fs::read_to_string(etc.join(name)).map(|text| text.trim().to_owned());
    let nqn = match line("hostnqn") {
        Ok(nqn) if !nqn.is_empty() => Nqn::new(&nqn),
        Ok(_) => return Fact::Elsewhere,
        Err(error) if error.kind() == ErrorKind::NotFound => return Fact::Elsewhere,
        Err(error) => return unreadable(&etc.join("hostnqn"), &error),
    };
    // The id adds certainty and is not needed for it.
    let id = line("hostid").ok().and_then(|text| text.parse().ok());
    Fact::Known(HostId { nqn, id })
}
