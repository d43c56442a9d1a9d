//! Bounds of the watch, from the configuration.

use std::time::Duration;

/// From when on something counts. All are exclusive but [`Bounds::freeze_min`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// A window longer than this is above what a cutover is designed to take (`cutover.design`).
    pub design: Duration,
    /// Above what healthy ones take (`cutover.warn`).
    pub warn: Duration,
    /// Applications die (`cutover.critical`).
    pub critical: Duration,
    /// Windows less than this apart are one freeze (`cutover.freeze_gap`).
    pub freeze_gap: Duration,
    /// A freeze lasts this or longer (`cutover.freeze_min`).
    pub freeze_min: Duration,
    /// Freezes are counted over this span where no migration is known (`cutover.freeze_span`).
    pub freeze_span: Duration,
    /// A window without a head is given up after this (`watch.lost_after`).
    pub lost_after: Duration,
    /// More ANA changes of a leg than this in a minute are flapping (`watch.flapping`).
    pub flapping: Rate,
    /// More failed-over I/Os of a usable leg than this are bouncing (`watch.bouncing`).
    pub bouncing: Rate,
}

/// So many within so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u64,
    /// Within how long.
    pub within: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            design: Duration::from_secs(2),
            warn: Duration::from_secs(3),
            critical: Duration::from_secs(5),
            freeze_gap: Duration::from_millis(100),
            freeze_min: Duration::from_millis(100),
            freeze_span: Duration::from_secs(600),
            lost_after: Duration::from_secs(3600),
            flapping: Rate {
                count: 10,
                within: Duration::from_secs(60),
            },
            bouncing: Rate {
                count: 50,
                within: Duration::from_secs(1),
            },
        }
    }
}
