//! The pathwarden command.
fn main() {}
