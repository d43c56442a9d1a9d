//! The BPF programs.
fn main() {}
