//! Bounds of the diagnosis, from the configuration.

use std::time::Duration;

/// How old something must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Nothing younger is judged (`repair.min_age`).
    pub min_age: Duration,
    /// A delete that takes longer hangs (`repair.delete_hung`).
    pub delete_hung: Duration,
    /// A controller that has not been live for longer may be abandoned (`leak.connecting_after`).
    pub connecting_after: Duration,
    /// So many attempts in a row the target must have rejected (`leak.rejections`).
    pub rejections: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            min_age: Duration::from_secs(30),
            delete_hung: Duration::from_secs(120),
            connecting_after: Duration::from_secs(120),
            rejections: 3,
        }
    }
}
