//! Pathwarden's library: see ARCHITECTURE.md for the map of its modules.

pub mod event;
pub mod fabric;
pub mod probe;
pub mod watch;
