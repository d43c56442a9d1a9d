//! What Identify and Get Log Page return: pure functions from what a controller shows to the bytes of the page.
//!
//! Offsets are those of the base specification (1.4 and 2.0 agree on all that are used) and, for the fields that only
//! fabrics have, of the fabrics specification. Checked byte by byte by the tests beside each.

pub(crate) mod ana_log;
pub(crate) mod controller;
pub(crate) mod logs;
pub(crate) mod namespace;

/// Size of every Identify data structure, bytes.
pub(crate) const IDENTIFY: usize = 4096;

/// The version that the target says it is: 1.4.0. Later ones would have hosts ask for more.
pub(crate) const VERSION: u32 = 0x0001_0400;

/// The firmware revision.
pub(crate) const FIRMWARE: &str = "scripted";
