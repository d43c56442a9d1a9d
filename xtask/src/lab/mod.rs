//! `cargo xtask lab`: real kernels in an emulator, with the scenarios of the `tests` crate.
//!
//! This side of the lab finds kernels ([`kernels`]), packs the guest's root file system ([`image`]), boots and follows the
//! guest ([`guest`]) and tells what came of it ([`outcome`]). What happens inside the guest is the `tests` crate's; the
//! two meet in `pathwarden_tests::lab::protocol`.

mod boots;
mod guest;
mod image;
mod kernels;
mod options;
mod outcome;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};

use crate::cache::Cache;
use crate::setup::{self, Need};
use crate::{ebpf, workspace};
use guest::Guest;
use image::Programs;
pub(crate) use kernels::Selection;
use kernels::{Kernel, Suite};
pub(crate) use options::Options;
use outcome::KernelRun;
pub(crate) use outcome::LabRun;

/// Runs what the options ask for and prints it. Failures are in the result.
pub(crate) fn run(options: &Options) -> Result<LabRun> {
    if options.list {
        print!("{}", options::list());
        return Ok(LabRun {
            kernels: Vec::new(),
        });
    }
    let scenarios = options.scenario_names()?;
    // All at once: someone who must ask an administrator asks once.
    setup::ensure(&[
        Need::BpfToolchain,
        Need::GuestPrograms,
        Need::Emulator,
        Need::Kernels,
    ])?;
    ebpf::build(false)?;
    let cache = Cache::open()?;
    let programs = Programs::prepare(&cache, &folder("programs"), &scenarios)?;
    let lab = Lab {
        cache,
        programs,
        scenarios,
    };
    let kernels: Vec<_> = options
        .kernel
        .suites
        .iter()
        .map(|&suite| lab.look_up(suite))
        .collect();
    // One lab at a time on this machine, whichever clone it is started in: guests that share the processors measure each
    // other.
    let turn = lab.cache.lock("lab")?;
    let run = LabRun {
        kernels: in_order(&kernels, options.jobs.get(), |kernel| lab.run(kernel)),
    };
    drop(turn);
    print!("{}", run.failures());
    println!("{}", run.summary());
    Ok(run)
}

struct Lab {
    cache: Cache,
    programs: Programs,
    scenarios: Vec<String>,
}

/// A kernel to boot, or why there is none, by the name it goes by.
type LookedUp = (String, Result<Kernel, String>);

impl Lab {
    fn look_up(&self, suite: Suite) -> LookedUp {
        match Kernel::of(&self.cache, suite) {
            Ok(kernel) => {
                let label = kernel.series();
                eprintln!(
                    "note: {label} is {suite}'s {} ({})",
                    kernel.release, kernel.version
                );
                (label, Ok(kernel))
            }
            Err(error) => (suite.to_string(), Err(format!("{error:#}"))),
        }
    }

    fn run(&self, (label, kernel): &LookedUp) -> KernelRun {
        let boot = |kernel| {
            self.boot(kernel, label)
                .map_err(|error| format!("{error:#}"))
        };
        let outcome = kernel.as_ref().map_err(Clone::clone).and_then(boot);
        KernelRun {
            label: label.clone(),
            outcome,
        }
    }

    fn boot(&self, kernel: &Kernel, label: &str) -> Result<guest::Outcome> {
        let folder = folder(label);
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let initrd = folder.join("initrd.cpio");
        image::write(&initrd, &self.cache, kernel, &self.programs)?;
        let image = kernel.image(&self.cache);
        let run = |scenarios: &[String]| {
            let guest = Guest {
                kernel: &image,
                initrd: &initrd,
                folder: &folder,
                scenarios,
            };
            guest.run(&mut |ended| println!("{}", outcome::line(label, ended)))
        };
        let slipped = |boot: usize, outcome: &guest::Outcome| {
            let kept = folder.join(format!("console-{boot}.log"));
            fs::copy(&outcome.console, &kept).context("keeping the console")?;
            let trouble = outcome.trouble.as_deref().unwrap_or_default();
            let left = outcome.unfinished.len();
            eprintln!(
                "note: {label}: {trouble} ({}); a new guest runs the {left} scenarios left",
                kept.display()
            );
            Ok(())
        };
        let mut outcome = boots::run_all(&self.scenarios, run, slipped)?;
        for ended in &outcome.unfinished {
            println!("{}", outcome::line(label, ended));
        }
        outcome.ended.append(&mut outcome.unfinished);
        Ok(outcome)
    }
}

/// Runs `jobs` of them at a time; the results are in the order of the items.
fn in_order<T: Sync, R: Send>(items: &[T], jobs: usize, run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, run(item)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.min(items.len()))
            .map(|_| scope.spawn(take))
            .collect();
        let joined = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect::<Vec<_>>()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A folder of the lab's; a kernel's console and other files are kept under its name.
fn folder(name: &str) -> PathBuf {
    workspace::target().join("lab").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_come_in_the_order_of_the_items_however_many_run_at_once() {
        for jobs in [1, 2, 5] {
            let results = in_order(&[30, 10, 20], jobs, |&wait| {
                std::thread::sleep(Duration::from_millis(wait));
                wait
            });

            assert_eq!(results, [30, 10, 20], "{jobs} at a time");
        }
    }
}
