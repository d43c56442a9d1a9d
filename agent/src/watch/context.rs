//! What a namespace is judged by.

use crate::{
    event::ControllerId,
    fabric::{BootNs, UnixNs},
};

use super::{
    Bounds, CauseKind, history::Histories, links::Links, migrations::Migrations, window::Because,
    words::Words,
};

/// Everything but the namespace itself.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) boot_id: &'a str,
    pub(super) wall: Option<(BootNs, UnixNs)>,
    pub(super) words: &'a Words,
    pub(super) histories: &'a Histories,
    pub(super) migrations: &'a Migrations,
    pub(super) links: &'a Links,
    pub(super) bounds: &'a Bounds,
}

impl<'a> Context<'a> {
    /// Something that came by a controller.
    pub(super) fn because(
        &self,
        kind: CauseKind,
        controller: ControllerId,
        time: BootNs,
    ) -> Because<'a> {
        let track = self.words.track(controller);
        let interface = track.and_then(|it| it.interface.as_deref());
        Because {
            kind,
            controller: Some(controller),
            endpoint: track.and_then(|it| it.endpoint.as_ref()),
            nearby: interface.and_then(|interface| self.links.near(interface, time)),
        }
    }

    /// A boot-clock time in wall time, as the two were last paired.
    pub(super) fn unix_ms(&self, time: BootNs) -> Option<i64> {
        let (boot, unix) = self.wall?;
        let nanoseconds = i128::from(unix.0) + i128::from(time.0) - i128::from(boot.0);
        Some(i64::try_from(nanoseconds.div_euclid(1_000_000)).unwrap_or(i64::MAX))
    }
}
