//! The kernel's routing rule, on plain words.
//!
//! `nvme_path_is_disabled`, `__nvme_find_path` and `nvme_available_path` of
//! `drivers/nvme/host/multipath.c`, whose logic is the same in 6.1, 6.12 and 7.2. The snapshot of a
//! host ([`crate::fabric::View`]) and the model that follows events both come here, so that there is
//! one rule.

use super::{AnaState, ControllerState};

/// What the kernel knows of one leg (`struct nvme_ns`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegWords {
    /// On its head's list of siblings.
    pub member: bool,
    /// `NVME_NS_READY`: cleared while the leg goes, and while its size differs from its siblings'.
    pub ready: bool,
    /// `NVME_NS_ANA_PENDING`: an I/O came back with an ANA status, and the log has not been read yet.
    pub pending: bool,
    /// The ANA state; `None` on a controller without ANA, which the kernel treats as optimized.
    pub ana: Option<AnaState>,
}

/// What the kernel knows of a controller (`struct nvme_ctrl`) that matters for its legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerWords {
    /// Its state.
    pub state: ControllerState,
    /// It is deleting, and was live right before. The kernel routes over every deleting controller;
    /// one that was not live bounces each I/O at kHz, which is not serving.
    pub deleting_from_live: bool,
    /// `NVME_CTRL_FAILFAST_EXPIRED`: connecting for longer than `fast_io_fail_tmo`.
    pub failfast_expired: bool,
}

/// Whether the kernel would route I/O over this leg now.
#[must_use]
pub fn usable(leg: &LegWords, controller: &ControllerWords) -> bool {
    let carries = match controller.state {
        ControllerState::Live => true,
        ControllerState::Deleting => controller.deleting_from_live,
        _ => false,
    };
    leg.member && leg.ready && !leg.pending && leg.ana.is_none_or(AnaState::accessible) && carries
}

/// Whether this controller alone makes the kernel hold I/O for a head that has no usable leg.
///
/// The ANA state does not matter here: legs that are inaccessible on live controllers queue for ever.
#[must_use]
pub fn holds(controller: &ControllerWords) -> bool {
    matches!(
        controller.state,
        ControllerState::Live | ControllerState::Resetting | ControllerState::Connecting
    ) && !controller.failfast_expired
}

/// Whether the kernel holds the I/O of a head that has no usable leg (true: severity `queued`), or
/// would fail it (false: `failing`).
///
/// `siblings` are the controllers of the legs on the head's list; `delayed_removal` is whether the
/// head's `delayed_removal_secs` is more than 0 (`NVME_NSHEAD_QUEUE_IF_NO_PATH`, 7.2).
#[must_use]
pub fn queues<'a>(
    siblings: impl IntoIterator<Item = &'a ControllerWords>,
    delayed_removal: bool,
) -> bool {
    delayed_removal || siblings.into_iter().any(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: LegWords = LegWords {
        member: true,
        ready: true,
        pending: false,
        ana: Some(AnaState::Optimized),
    };

    fn controller(state: ControllerState) -> ControllerWords {
        ControllerWords {
            state,
            deleting_from_live: false,
            failfast_expired: false,
        }
    }

    #[test]
    fn an_optimized_leg_is_usable_under_a_live_controller_only() {
        for state in ControllerState::ALL {
            assert_eq!(
                usable(&READY, &controller(state)),
                state == ControllerState::Live,
                "{state}"
            );
        }
    }

    #[test]
    fn a_controller_that_was_live_serves_while_it_is_deleted() {
        let mut words = controller(ControllerState::Deleting);
        words.deleting_from_live = true;
        assert!(usable(&READY, &words));
        words.state = ControllerState::DeletingNoIo;
        assert!(!usable(&READY, &words));
    }

    #[test]
    fn each_word_of_a_leg_can_take_it_out() {
        let live = controller(ControllerState::Live);
        assert!(!usable(
            &LegWords {
                member: false,
                ..READY
            },
            &live
        ));
        assert!(!usable(
            &LegWords {
                ready: false,
                ..READY
            },
            &live
        ));
        assert!(!usable(
            &LegWords {
                pending: true,
                ..READY
            },
            &live
        ));
        for ana in AnaState::ALL {
            let leg = LegWords {
                ana: Some(ana),
                ..READY
            };
            assert_eq!(usable(&leg, &live), ana.accessible(), "{ana}");
        }
    }

    #[test]
    fn a_leg_without_ana_is_accessible() {
        let leg = LegWords { ana: None, ..READY };
        assert!(usable(&leg, &controller(ControllerState::Live)));
        assert!(!usable(&leg, &controller(ControllerState::Connecting)));
    }

    #[test]
    fn io_is_held_while_some_controller_may_come_back() {
        use ControllerState::{Connecting, Dead, Deleting, Live, New, Resetting};
        for state in [Live, Resetting, Connecting] {
            assert!(
                queues([&controller(Dead), &controller(state)], false),
                "{state}"
            );
            let expired = ControllerWords {
                failfast_expired: true,
                ..controller(state)
            };
            assert!(!queues([&expired], false), "{state}");
        }
        for state in [New, Deleting, Dead] {
            assert!(!queues([&controller(state)], false), "{state}");
        }
    }

    #[test]
    fn delayed_removal_holds_io_without_any_controller() {
        assert!(queues([], true));
        assert!(!queues([], false));
    }

    #[test]
    fn one_expired_path_does_not_fail_io_while_another_is_live() {
        let expired = ControllerWords {
            failfast_expired: true,
            ..controller(ControllerState::Connecting)
        };
        assert!(queues(
            [&expired, &controller(ControllerState::Live)],
            false
        ));
        assert!(!queues([&expired, &expired], false));
    }
}
