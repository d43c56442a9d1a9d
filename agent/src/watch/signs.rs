//! Signs of trouble that are no window: legs whose ANA state keeps changing, legs that are usable and do not serve.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use crate::{
    event::ControllerId,
    fabric::{BootNs, Nsid},
};

use super::bounds::Rate;

/// A leg that is not well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// Whose leg.
    pub controller: ControllerId,
    /// To which namespace.
    pub nsid: Nsid,
    /// Since when.
    pub since: BootNs,
    /// How often within the rate's span.
    pub count: u64,
    /// The last status, of a leg whose I/O fails over.
    pub status: Option<u16>,
}

#[derive(Debug)]
struct Bounces {
    began: BootNs,
    recent: VecDeque<(BootNs, u64)>,
    status: u16,
}

#[derive(Debug, Default)]
pub(super) struct Signs {
    ana_changes: BTreeMap<(ControllerId, Nsid), VecDeque<BootNs>>,
    bounces: BTreeMap<(ControllerId, Nsid), Bounces>,
}

impl Signs {
    pub(super) fn ana_changed(&mut self, id: ControllerId, nsid: Nsid, time: BootNs, rate: Rate) {
        let changes = self.ana_changes.entry((id, nsid)).or_default();
        changes.push_back(time);
        let keep = usize::try_from(rate.count.saturating_add(1)).unwrap_or(usize::MAX);
        while changes.len() > keep.min(1024) {
            changes.pop_front();
        }
    }

    pub(super) fn failed_over(
        &mut self,
        (id, nsid): (ControllerId, Nsid),
        count: u64,
        status: u16,
        time: BootNs,
        rate: Rate,
    ) {
        let fresh = || Bounces {
            began: time,
            recent: VecDeque::new(),
            status,
        };
        let bounces = self.bounces.entry((id, nsid)).or_insert_with(fresh);
        if bounces
            .recent
            .back()
            .is_some_and(|(last, _)| time.saturating_since(*last) > rate.within)
        {
            bounces.began = time;
        }
        bounces.status = status;
        bounces.recent.push_back((time, count));
        while bounces
            .recent
            .front()
            .is_some_and(|(first, _)| time.saturating_since(*first) > rate.within)
        {
            bounces.recent.pop_front();
        }
    }

    pub(super) fn forget(&mut self, id: ControllerId, nsid: Option<Nsid>) {
        let other = |key: &(ControllerId, Nsid)| key.0 != id || nsid.is_some_and(|it| it != key.1);
        self.ana_changes.retain(|key, _| other(key));
        self.bounces.retain(|key, _| other(key));
    }

    pub(super) fn flapping(&self, now: BootNs, rate: Rate) -> Vec<Sign> {
        let sign = |(key, changes): (&(ControllerId, Nsid), &VecDeque<BootNs>)| {
            let in_span = |time: &&BootNs| now.saturating_since(**time) <= rate.within;
            let count = changes.iter().filter(in_span).count() as u64;
            let since = *changes.iter().find(in_span)?;
            (count > rate.count).then_some(Sign {
                controller: key.0,
                nsid: key.1,
                since,
                count,
                status: None,
            })
        };
        self.ana_changes.iter().filter_map(sign).collect()
    }

    /// Those whose I/O has failed over at the rate for its span, and still does.
    pub(super) fn bouncing(
        &self,
        now: BootNs,
        rate: Rate,
        usable: impl Fn(ControllerId, Nsid) -> bool,
    ) -> Vec<Sign> {
        let sign = |(key, bounces): (&(ControllerId, Nsid), &Bounces)| {
            let (last, _) = bounces.recent.back()?;
            let still = now.saturating_since(*last) <= rate.within.max(Duration::from_secs(1));
            let lasted = last.saturating_since(bounces.began) >= rate.within;
            let count = bounces.recent.iter().map(|(_, count)| count).sum();
            let bounces = still && lasted && count > rate.count && usable(key.0, key.1);
            bounces.then(|| Sign {
                controller: key.0,
                nsid: key.1,
                since: self.bounces.get(key).map_or(*last, |it| it.began),
                count,
                status: self.bounces.get(key).map(|it| it.status),
            })
        };
        self.bounces.iter().filter_map(sign).collect()
    }
}
