//! How this repository is worked on.
fn main() {}
