//! Freezes: windows of one namespace that are so close that an application feels them as one.

use std::collections::VecDeque;

use serde::Serialize;

use crate::fabric::{BootNs, Nqn, Nsid};

use super::{Bounds, CauseKind, Window, WindowId};

/// One freeze.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freeze {
    /// Subsystem.
    pub nqn: Nqn,
    /// Namespace.
    pub nsid: Nsid,
    /// Beginning of the first window.
    pub begin_ns: BootNs,
    /// End of the last.
    pub end_ns: BootNs,
    /// Its windows.
    pub windows: Vec<WindowId>,
    /// The migration it lies in.
    pub migration: Option<String>,
    /// How many freezes of this namespace there have been with it: in the migration, or in the span where none is known.
    pub count: usize,
}

/// The freezes of one namespace.
#[derive(Debug, Default)]
pub(super) struct Freezes {
    current: Option<Freeze>,
    /// Ends and migrations of those before, within the span.
    past: VecDeque<(BootNs, Option<String>)>,
}

impl Freezes {
    /// Takes in a window that has ended. Hands out the freeze before it, if that is over.
    pub(super) fn window(&mut self, window: &Window, bounds: &Bounds) -> Option<Freeze> {
        let end = window.end_ns?;
        if window
            .cause_end
            .as_ref()
            .is_some_and(|cause| cause.kind == CauseKind::Removed)
        {
            return None;
        }
        let before = self.settle(window.begin_ns, bounds);
        match &mut self.current {
            Some(freeze) => {
                freeze.end_ns = freeze.end_ns.max(end);
                freeze.windows.push(window.id.clone());
                if freeze.migration.is_none() {
                    freeze.migration.clone_from(&window.migration);
                }
            }
            None => {
                self.current = Some(Freeze {
                    nqn: window.nqn.clone(),
                    nsid: window.nsid,
                    begin_ns: window.begin_ns,
                    end_ns: end,
                    windows: vec![window.id.clone()],
                    migration: window.migration.clone(),
                    count: 0,
                });
            }
        }
        before
    }

    /// The freeze that is over by `now`: no window has begun within the gap.
    pub(super) fn settle(&mut self, now: BootNs, bounds: &Bounds) -> Option<Freeze> {
        let over = |freeze: &mut Freeze| now.saturating_since(freeze.end_ns) >= bounds.freeze_gap;
        let freeze = self.current.take_if(over)?;
        self.finish(freeze, bounds)
    }

    /// The freeze that no later window can join any more.
    pub(super) fn end(&mut self, bounds: &Bounds) -> Option<Freeze> {
        let freeze = self.current.take()?;
        self.finish(freeze, bounds)
    }

    /// When the current one is over.
    pub(super) fn due(&self, bounds: &Bounds) -> Option<BootNs> {
        self.current.as_ref()?.end_ns.checked_add(bounds.freeze_gap)
    }

    /// Whether one waits for its end.
    pub(super) fn waits(&self) -> bool {
        self.current.is_some()
    }

    fn finish(&mut self, mut freeze: Freeze, bounds: &Bounds) -> Option<Freeze> {
        if freeze.end_ns.saturating_since(freeze.begin_ns) < bounds.freeze_min {
            return None;
        }
        let now = freeze.end_ns;
        self.past.retain(|(end, migration)| {
            let of_this = migration.is_some() && *migration == freeze.migration;
            of_this || now.saturating_since(*end) <= bounds.freeze_span
        });
        let counts = |(_, migration): &&(BootNs, Option<String>)| match &freeze.migration {
            Some(own) => migration.as_ref() == Some(own),
            None => migration.is_none(),
        };
        freeze.count = self.past.iter().filter(counts).count() + 1;
        self.past.push_back((now, freeze.migration.clone()));
        Some(freeze)
    }
}
