//! How many I/Os the kernel held or failed in a window: by its own counters where it has them, else by a probe that is
//! attached while a window is open.

use std::collections::BTreeMap;

use crate::{
    event::{Event, HeadSeen, NamespaceId},
    fabric::{DiskName, HeadCounters, Host, Nqn, Nsid},
    host::{SysRoot, sysfs},
    probe::Programs,
    watch::{Change, Severity, Window},
};

/// A namespace by what a window says of it.
type Key = (Nqn, Nsid);

#[derive(Debug, Default)]
pub(super) struct IoCounts {
    heads: BTreeMap<Key, Known>,
    open: BTreeMap<Key, Counting>,
}

/// A head, and its counters as they were last seen: they move only while it is dark.
#[derive(Debug)]
struct Known {
    disk: DiskName,
    counters: HeadCounters,
}

/// A window that is counted for.
#[derive(Debug)]
struct Counting {
    namespace: NamespaceId,
    severity: Severity,
    /// I/Os sent to the head until it was last asked; none where its own counters tell.
    submitted: Option<u64>,
}

impl IoCounts {
    /// Takes in the heads of a look, and the counters of those that are not counted for.
    pub(super) fn note_heads(&mut self, host: &Host) {
        let mut heads = BTreeMap::new();
        for head in HeadSeen::all(host) {
            let key = (head.nqn, head.nsid);
            let counting = self.open.contains_key(&key);
            let known = match self.heads.remove(&key) {
                Some(known) if counting && known.disk == head.name => known,
                _ => Known {
                    disk: head.name,
                    counters: head.counters,
                },
            };
            heads.insert(key, known);
        }
        self.heads = heads;
    }

    /// What has become known with a change.
    pub(super) fn follow(
        &mut self,
        change: &Change,
        programs: Option<&mut Programs>,
        root: &SysRoot,
    ) -> Vec<Event> {
        match change {
            Change::Opened(window) => {
                self.begin(window, programs);
                Vec::new()
            }
            Change::Worsened(window) => {
                let counted = self.ask(window, programs.as_deref(), root);
                if let Some(counting) = self.open.get_mut(&key(window)) {
                    counting.severity = window.severity;
                }
                counted
            }
            Change::Closed(window) => {
                let counted = self.ask(window, programs.as_deref(), root);
                self.open.remove(&key(window));
                let probed = self.open.values().any(|it| it.submitted.is_some());
                if let Some(programs) = programs.filter(|it| it.watches_io() && !probed) {
                    programs.watch_io(false);
                }
                counted
            }
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, window: &Window, programs: Option<&mut Programs>) {
        let key = key(window);
        let Some(known) = self.heads.get(&key) else {
            return;
        };
        let has_counters = known.counters.requeued.is_some();
        let submitted = programs.filter(|_| !has_counters).map(|programs| {
            programs.watch_io(true);
            submitted(programs, known.disk)
        });
        if submitted.is_none() && !has_counters {
            return;
        }
        let namespace = NamespaceId {
            nqn: window.nqn.clone(),
            nsid: window.nsid,
            uuid: window.uuid,
        };
        let counting = Counting {
            namespace,
            severity: window.severity,
            submitted,
        };
        self.open.insert(key, counting);
    }

    /// What was held and failed since the last time.
    fn ask(&mut self, window: &Window, programs: Option<&Programs>, root: &SysRoot) -> Vec<Event> {
        let key = key(window);
        let (Some(counting), Some(known)) = (self.open.get_mut(&key), self.heads.get_mut(&key))
        else {
            return Vec::new();
        };
        let namespace = counting.namespace.clone();
        if let Some(before) = counting.submitted {
            let Some(programs) = programs else {
                return Vec::new();
            };
            let now = submitted(programs, known.disk);
            counting.submitted = Some(now);
            // Sent while it was being attached: not counted. Sent after the end: counted too many.
            return vec![told(
                namespace,
                counting.severity,
                now.saturating_sub(before),
                false,
            )];
        }
        let now = sysfs::head_counters(root, known.disk);
        let before = std::mem::replace(&mut known.counters, now);
        let grown = |before: Option<u64>, now: Option<u64>| {
            let now = now?;
            // Root can set them to 0.
            Some(
                before
                    .filter(|before| *before <= now)
                    .map_or(now, |it| now - it),
            )
        };
        let requeued = grown(before.requeued, now.requeued).map(|count| Event::Requeued {
            namespace: namespace.clone(),
            count,
            exact: true,
        });
        let failed = grown(before.failed, now.failed).map(|count| Event::Failed {
            namespace,
            count,
            exact: true,
        });
        requeued.into_iter().chain(failed).collect()
    }
}

fn told(namespace: NamespaceId, severity: Severity, count: u64, exact: bool) -> Event {
    if severity == Severity::Queued {
        Event::Requeued {
            namespace,
            count,
            exact,
        }
    } else {
        Event::Failed {
            namespace,
            count,
            exact,
        }
    }
}

fn key(window: &Window) -> Key {
    (window.nqn.clone(), window.nsid)
}

fn submitted(programs: &Programs, disk: DiskName) -> u64 {
    programs.submitted(disk).unwrap_or_else(|error| {
        tracing::warn!(%error, "I/O in windows cannot be counted");
        0
    })
}
