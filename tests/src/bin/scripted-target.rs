//! A scripted NVMe/TCP target as a process: plan from a file, orders from standard input, replies to standard output.
//!
//! Scenarios mostly run the target in their own process (`pathwarden_tests::target`). This program is for a target that
//! is to be killed, or lives in a network namespace of its own. The first line it prints says where its ports listen;
//! it ends with its standard input.

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use pathwarden_tests::target::{Order, Plan, Target};

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(plan), None) = (arguments.next().map(PathBuf::from), arguments.next()) else {
        bail!("usage: scripted-target PLAN.json");
    };
    let text =
        std::fs::read_to_string(&plan).with_context(|| format!("read {}", plan.display()))?;
    let parsed: Plan =
        serde_json::from_str(&text).with_context(|| format!("{} is no plan", plan.display()))?;
    let mut target = Target::start(&parsed)?;
    let mut out = io::stdout().lock();
    let ports = target.obey(Order::Ports)?;
    writeln!(out, "{}", serde_json::to_string(&ports)?)?;
    for line in io::stdin().lock().lines() {
        let reply = target.obey_line(&line?);
        writeln!(out, "{}", serde_json::to_string(&reply)?)?;
    }
    Ok(())
}
