//! Network interfaces that went down, as a cause near a controller's trouble.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::fabric::BootNs;

/// A connection notices a cut only when something goes unanswered: a keep-alive or an I/O time-out later.
const NEAR: Duration = Duration::from_secs(60);

/// An interface's last fall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearby {
    /// Its name.
    pub ifname: String,
    /// When it went down.
    pub down_ns: BootNs,
    /// When it came back, if it has.
    pub up_ns: Option<BootNs>,
}

#[derive(Debug, Default)]
pub(super) struct Links {
    fallen: BTreeMap<String, Nearby>,
}

impl Links {
    pub(super) fn note(&mut self, ifname: &str, up: bool, time: BootNs) {
        match (up, self.fallen.get_mut(ifname)) {
            (true, Some(fall)) => {
                fall.up_ns.get_or_insert(time);
            }
            (true, None) => {}
            (false, Some(fall)) if fall.up_ns.is_none() => {}
            (false, _) => {
                let fall = Nearby {
                    ifname: ifname.to_owned(),
                    down_ns: time,
                    up_ns: None,
                };
                self.fallen.insert(ifname.to_owned(), fall);
            }
        }
    }

    /// The fall of this interface that is near a time: it has lasted until then, or ended shortly before.
    pub(super) fn near(&self, ifname: &str, time: BootNs) -> Option<&Nearby> {
        let fall = self.fallen.get(ifname)?;
        let over = |up| time.saturating_since(up) > NEAR;
        (!fall.up_ns.is_some_and(over)).then_some(fall)
    }
}
