//! QEMU, as a process that does not outlive us.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result};

const MEMORY: &str = "2G";
const CPUS: &str = "2";

/// What to boot, and where its serial ports go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine<'a> {
    pub(super) kernel: &'a Path,
    pub(super) initrd: &'a Path,
    pub(super) command_line: &'a str,
    pub(super) console: &'a Path,
    pub(super) report: &'a Path,
}

/// A running emulator; killed when dropped.
#[derive(Debug)]
pub(super) struct Emulator {
    process: Child,
}

impl Emulator {
    /// Starts it.
    pub(super) fn start(machine: Machine<'_>) -> Result<Self> {
        // util-linux's setpriv has the kernel kill the emulator when the thread that starts it ends for whatever reason,
        // SIGKILL among them.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]);
        // Software emulation on every machine: /dev/kvm is often missing, or there and unable to run an ordinary kernel.
        command.args([
            "-accel",
            "tcg,thread=multi",
            "-cpu",
            "max",
            "-smp",
            CPUS,
            "-m",
            MEMORY,
        ]);
        command.args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
        ]);
        command
            .arg("-kernel")
            .arg(machine.kernel)
            .arg("-initrd")
            .arg(machine.initrd);
        command.args(["-append", machine.command_line]);
        // A local NVMe drive of zeroes. Its driver is loaded by the scenarios that want it, and until then nobody sees it.
        command.args([
            "-blockdev",
            "driver=null-co,node-name=drive,size=67108864,read-zeroes=on",
            "-device",
            "nvme,serial=local,drive=drive",
        ]);
        for (id, port) in [("console", machine.console), ("report", machine.report)] {
            // A comma in a path is written twice in QEMU's options.
            let path = port.display().to_string().replace(',', ",,");
            command.args(["-chardev", &format!("file,id={id},append=on,path={path}")]);
            command.args(["-serial", &format!("chardev:{id}")]);
        }
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Ok(Self {
            process: process.context("starting the emulator")?,
        })
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.process
            .try_wait()
            .context("asking whether the emulator still runs")
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
