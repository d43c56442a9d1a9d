//! Subsystems and their namespaces: what is the same on every port.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, RwLock};

use anyhow::{Result, ensure};

use super::ids::{Cntlid, GroupId, Nsid, Uuid};
use super::limits;
use super::plan::{NamespacePlan, SubsystemPlan};
use super::sync::{lock, read, write};

/// A subsystem: one NQN, however many ports serve it.
#[derive(Debug)]
pub(crate) struct Subsystem {
    nqn: String,
    serial: String,
    namespaces: RwLock<BTreeMap<Nsid, Arc<Namespace>>>,
    /// Numbers of the controllers there are.
    cntlids: Mutex<BTreeSet<Cntlid>>,
}

impl Subsystem {
    pub(crate) fn new(plan: &SubsystemPlan) -> Result<Self> {
        ensure!(
            !plan.nqn.is_empty() && plan.nqn.len() <= 223,
            "an NQN has 1 to 223 bytes: {:?}",
            plan.nqn
        );
        let serial = if plan.serial.is_empty() {
            // Twelve digits that differ between subsystems.
            let identity = Uuid::of_namespace(&plan.nqn, Nsid(0)).to_string();
            identity[24..].to_owned()
        } else {
            plan.serial.clone()
        };
        let subsystem = Self {
            nqn: plan.nqn.clone(),
            serial,
            namespaces: RwLock::default(),
            cntlids: Mutex::default(),
        };
        for namespace in &plan.namespaces {
            subsystem.create(namespace)?;
        }
        Ok(subsystem)
    }

    pub(crate) fn nqn(&self) -> &str {
        &self.nqn
    }

    pub(crate) fn serial(&self) -> &str {
        &self.serial
    }

    /// Adds a namespace; no port serves it yet.
    pub(crate) fn create(&self, plan: &NamespacePlan) -> Result<()> {
        let namespace = Namespace::new(&self.nqn, plan)?;
        let mut namespaces = write(&self.namespaces);
        let nsid = plan.nsid;
        ensure!(
            !namespaces.contains_key(&nsid),
            "{} has a namespace {} already",
            self.nqn,
            nsid.0
        );
        namespaces.insert(nsid, Arc::new(namespace));
        Ok(())
    }

    pub(crate) fn namespace(&self, nsid: Nsid) -> Option<Arc<Namespace>> {
        read(&self.namespaces).get(&nsid).cloned()
    }

    pub(crate) fn nsids(&self) -> BTreeSet<Nsid> {
        read(&self.namespaces).keys().copied().collect()
    }

    /// The lowest number that no controller has; nothing if every one is taken.
    pub(crate) fn take_cntlid(&self) -> Option<Cntlid> {
        let mut taken = lock(&self.cntlids);
        let free = (1..0xfff0)
            .map(Cntlid)
            .find(|cntlid| !taken.contains(cntlid))?;
        taken.insert(free);
        Some(free)
    }

    pub(crate) fn give_back(&self, cntlid: Cntlid) {
        lock(&self.cntlids).remove(&cntlid);
    }
}

/// A namespace: its identity and its blocks in memory.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) nsid: Nsid,
    pub(crate) group: GroupId,
    pub(crate) uuid: Uuid,
    /// Bytes of a block: 512 or 4096.
    pub(crate) block: u32,
    pub(crate) blocks: u64,
    content: RwLock<Vec<u8>>,
}

impl Namespace {
    fn new(nqn: &str, plan: &NamespacePlan) -> Result<Self> {
        let NamespacePlan {
            nsid,
            group,
            bytes,
            block,
            uuid,
        } = *plan;
        let allowed = 1..=limits::NAMESPACES;
        ensure!(
            allowed.contains(&nsid.0),
            "namespace {} of {nqn} is not in {allowed:?}",
            nsid.0
        );
        let allowed = 1..=limits::ANA_GROUPS;
        ensure!(
            allowed.contains(&group.0),
            "ANA group {} of {nqn} is not in {allowed:?}",
            group.0
        );
        ensure!(
            matches!(block, 512 | 4096),
            "blocks have 512 or 4096 bytes, not {block}"
        );
        let blocks = bytes / u64::from(block);
        ensure!(
            blocks > 0 && bytes.is_multiple_of(block.into()),
            "namespace {} of {nqn}: {bytes} bytes are no whole number of blocks of {block}",
            nsid.0
        );
        let uuid = uuid.unwrap_or_else(|| Uuid::of_namespace(nqn, nsid));
        let content = RwLock::new(vec![0; usize::try_from(bytes)?]);
        Ok(Self {
            nsid,
            group,
            uuid,
            block,
            blocks,
            content,
        })
    }

    /// The bytes of some blocks; nothing if they are beyond the end.
    pub(crate) fn read(&self, first: u64, count: u32) -> Option<Vec<u8>> {
        let (start, end) = self.range(first, count)?;
        read(&self.content).get(start..end).map(<[u8]>::to_vec)
    }

    /// Writes whole blocks; whether they are within the end.
    pub(crate) fn write(&self, first: u64, data: &[u8]) -> bool {
        let count = u32::try_from(data.len()).unwrap_or(u32::MAX) / self.block;
        let Some((start, end)) = self.range(first, count) else {
            return false;
        };
        let mut content = write(&self.content);
        let Some(place) = content.get_mut(start..end) else {
            return false;
        };
        place.copy_from_slice(data);
        true
    }

    /// Fills blocks with zeros; whether they are within the end.
    pub(crate) fn zero(&self, first: u64, count: u32) -> bool {
        let Some((start, end)) = self.range(first, count) else {
            return false;
        };
        let mut content = write(&self.content);
        let Some(place) = content.get_mut(start..end) else {
            return false;
        };
        place.fill(0);
        true
    }

    fn range(&self, first: u64, count: u32) -> Option<(usize, usize)> {
        let end = first
            .checked_add(count.into())
            .filter(|end| *end <= self.blocks)?;
        let byte = |block: u64| usize::try_from(block * u64::from(self.block)).ok();
        Some((byte(first)?, byte(end)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subsystem(namespace: NamespacePlan) -> Result<Subsystem> {
        Subsystem::new(&SubsystemPlan::new("nqn.a").namespace(namespace))
    }

    #[test]
    fn what_is_written_is_read_and_nothing_beyond_the_end() {
        let subsystem = subsystem(NamespacePlan::new(1).sized(8 * 512)).unwrap();
        let namespace = subsystem.namespace(Nsid(1)).unwrap();
        assert!(namespace.write(6, &[7; 1024]));
        assert_eq!(namespace.read(5, 2).unwrap()[511..514], [0, 7, 7]);
        assert!(namespace.zero(7, 1));
        assert_eq!(namespace.read(6, 2).unwrap()[510..514], [7, 7, 0, 0]);
        assert!(!namespace.write(7, &[7; 1024]));
        assert!(namespace.read(8, 1).is_none());
        assert!(namespace.read(u64::MAX, 2).is_none());
    }

    #[test]
    fn controllers_get_the_lowest_free_number() {
        let subsystem = subsystem(NamespacePlan::new(1)).unwrap();
        let taken: Vec<_> = (0..3).map(|_| subsystem.take_cntlid().unwrap().0).collect();
        assert_eq!(taken, [1, 2, 3]);
        subsystem.give_back(Cntlid(2));
        assert_eq!(subsystem.take_cntlid(), Some(Cntlid(2)));
    }

    #[test]
    fn a_plan_that_no_target_can_be_is_refused() {
        for wrong in [
            NamespacePlan::new(0),
            NamespacePlan::new(1025),
            NamespacePlan::new(1).in_group(33),
            NamespacePlan::new(1).sized(1000),
            NamespacePlan {
                block: 1024,
                ..NamespacePlan::new(1)
            },
        ] {
            assert!(subsystem(wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
