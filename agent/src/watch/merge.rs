//! Windows of one subsystem taken together: what its applications felt of all its namespaces.

use serde::Serialize;

use crate::fabric::{BootNs, Nqn};

use super::{Window, WindowId};

/// A maximal interval in which some namespace of a subsystem was dark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// Subsystem.
    pub nqn: Nqn,
    /// Beginning of the first window.
    pub begin_ns: BootNs,
    /// End of the last; none while one is open.
    pub end_ns: Option<BootNs>,
    /// Its windows.
    pub windows: Vec<WindowId>,
}

/// Merges windows, by subsystem and beginning.
#[must_use]
pub fn merged<'w>(windows: impl IntoIterator<Item = &'w Window>) -> Vec<Merged> {
    let mut windows: Vec<&Window> = windows.into_iter().collect();
    windows.sort_by(|a, b| (&a.nqn, a.begin_ns, &a.id).cmp(&(&b.nqn, b.begin_ns, &b.id)));
    let mut all: Vec<Merged> = Vec::new();
    for window in windows {
        match all.last_mut() {
            Some(last) if last.nqn == window.nqn && last.touches(window) => {
                last.end_ns = match (last.end_ns, window.end_ns) {
                    (Some(last), Some(end)) => Some(last.max(end)),
                    _ => None,
                };
                last.windows.push(window.id.clone());
            }
            _ => all.push(Merged {
                nqn: window.nqn.clone(),
                begin_ns: window.begin_ns,
                end_ns: window.end_ns,
                windows: vec![window.id.clone()],
            }),
        }
    }
    all
}

impl Merged {
    fn touches(&self, window: &Window) -> bool {
        self.end_ns.is_none_or(|end| window.begin_ns <= end)
    }
}
