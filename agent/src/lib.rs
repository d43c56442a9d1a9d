//! Pathwarden's library: see ARCHITECTURE.md for the map of its modules.

pub mod cli;
pub mod config;
pub mod diagnose;
pub mod engine;
pub mod event;
pub mod fabric;
pub mod host;
pub mod probe;
pub mod store;
pub mod watch;

/// An error with what it was caused by, in one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
