//! `cargo xtask lab`: real kernels in an emulator, with the scenarios of the `tests` crate.
//!
//! This side of the lab finds kernels ([`kernels`]), packs the guest's root file system ([`image`]), boots and follows the
//! guest ([`guest`]) and tells what came of it ([`outcome`]). What happens inside the guest is the `tests` crate's; the
//! two meet in `pathwarden_tests::lab::protocol`.

mod guest;
mod image;
mod kernels;
mod options;
mod outcome;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};

use crate::cache::Cache;
use crate::setup::{self, Need};
use crate::{ebpf, workspace};
use guest::Guest;
use image::Programs;
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
    setup::ensure(&[Need::Emulator, Need::Kernels, Need::GuestPrograms])?;
    ebpf::build(false)?;
    let programs = Programs::build(&folder("programs"))?;
    let lab = Lab {
        cache: Cache::open()?,
        programs,
        scenarios,
    };
    // One lab at a time on this machine, whichever clone it is started in: guests that share the processors measure each
    // other.
    let _turn = lab.cache.lock("lab")?;
    let run = lab.run_all(&options.kernel.suites, options.jobs.get());
    print!("{}", run.failures());
    println!("{}", run.summary());
    Ok(run)
}

struct Lab {
    cache: Cache,
    programs: Programs,
    scenarios: Vec<String>,
}

impl Lab {
    /// Runs all suites' kernels, `jobs` at a time, and returns them in the order given.
    fn run_all(&self, suites: &[Suite], jobs: usize) -> LabRun {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs.min(suites.len()) {
                scope.spawn(|| {
                    while let Some(suite) = suites.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let run = self.run_one(*suite);
                        done.lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner)
                            .push((*suite, run));
                    }
                });
            }
        });
        let mut done = done
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(suite, _)| suites.iter().position(|other| other == suite));
        LabRun {
            kernels: done.into_iter().map(|(_, run)| run).collect(),
        }
    }

    fn run_one(&self, suite: Suite) -> KernelRun {
        match Kernel::of(&self.cache, suite) {
            Ok(kernel) => {
                let label = kernel.series();
                eprintln!(
                    "note: {label} is {suite}'s {} ({})",
                    kernel.release, kernel.version
                );
                let outcome = self
                    .boot(&kernel, &label)
                    .map_err(|error| format!("{error:#}"));
                KernelRun { label, outcome }
            }
            Err(error) => KernelRun {
                label: suite.to_string(),
                outcome: Err(format!("{error:#}")),
            },
        }
    }

    fn boot(&self, kernel: &Kernel, label: &str) -> Result<guest::Outcome> {
        let folder = folder(label);
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let initrd = folder.join("initrd.cpio");
        image::write(&initrd, &self.cache, kernel, &self.programs)?;
        let guest = Guest {
            kernel: &kernel.image(&self.cache),
            initrd: &initrd,
            folder: &folder,
            scenarios: &self.scenarios,
        };
        guest.run(&mut |ended| println!("{}", outcome::line(label, ended)))
    }
}

/// A folder of the lab's; a kernel's console and other files are kept under its name.
fn folder(name: &str) -> PathBuf {
    workspace::target().join("lab").join(name)
}
