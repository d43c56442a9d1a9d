//! Pathwarden's library: see ARCHITECTURE.md for the map of its modules.

pub mod fabric;
