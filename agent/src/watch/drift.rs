//! Where what events had added up to turned out not to be so.

use std::fmt;

use crate::{event::ControllerId, fabric::Nsid};

/// One disagreement between the events and a look; the look was taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Of which controller.
    pub controller: ControllerId,
    /// Of its leg to which namespace; none: of the controller itself.
    pub nsid: Option<Nsid>,
    /// What differed.
    pub what: &'static str,
}

impl Drift {
    pub(super) const fn controller(controller: ControllerId, what: &'static str) -> Self {
        Self {
            controller,
            nsid: None,
            what,
        }
    }

    pub(super) const fn leg((controller, nsid): (ControllerId, Nsid), what: &'static str) -> Self {
        Self {
            controller,
            nsid: Some(nsid),
            what,
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nsid {
            Some(nsid) => write!(
                f,
                "{} of {}'s leg to nsid {nsid}",
                self.what, self.controller
            ),
            None => write!(f, "{} of {}", self.what, self.controller),
        }
    }
}
