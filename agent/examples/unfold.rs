//! Unfolds a fixture into a directory that stands for `/sys`, to be looked at by hand:
//!
//! ```text
//! cargo run -p pathwarden --example unfold -- tests/fixtures/sysfs/dark.tree /tmp/dark
//! pathwarden inspect --sysfs /tmp/dark
//! ```
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a tool for fixtures: a mistake in one is the report"
)]

#[path = "../tests/tree/mod.rs"]
mod tree;

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [fixture, directory] = arguments.as_slice() else {
        anyhow::bail!("usage: unfold FIXTURE DIRECTORY");
    };
    let text = std::fs::read_to_string(fixture)?;
    // The sections after the tree say what must be found in it.
    let tree = text.split("\n== ").next().unwrap_or_default();
    tree::unfold_into(Path::new(directory), &tree::parse(tree).files(), 0);
    Ok(())
}
