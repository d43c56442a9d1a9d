//! What a line on the guest's console means for the run.
//!
//! The guest's kernel runs with `quiet`: errors and worse are printed, warnings are not. A line is recognised by the
//! kernel's own wording; the sources are named at each, and the wording is the same from 6.1 to 7.2.

use std::fmt;

/// The kernel reports that something is badly wrong with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A CPU ran a breakpoint that another had just taken away. The emulator's fault, not the kernel's: while the kernel
    /// patches its own code (static keys, kprobes), QEMU before 8.1 can run what stood there before on another virtual
    /// CPU (https://bugzilla.redhat.com/show_bug.cgi?id=2216496). Seen once in some forty boots.
    StaleBreakpoint,
    /// It stopped.
    Panic,
    /// It hit a bug and went on, or the task did not.
    Oops,
    /// A task has waited without pause for longer than `hung_task_timeout_secs`.
    HungTask,
    /// A CPU does not get round to anything else.
    Lockup,
}

/// The wording, in the order it is looked for: a soft lockup's line says BUG too.
const WORDING: [(Fault, &[&str]); 5] = [
    // arch/x86/kernel/traps.c; newer kernels have "Oops: " before it
    (Fault::StaleBreakpoint, &["int3: 0000 [#"]),
    // kernel/panic.c
    (Fault::Panic, &["Kernel panic - not syncing"]),
    // kernel/watchdog.c, kernel/rcu/tree_stall.h, kernel/workqueue.c
    (
        Fault::Lockup,
        &[
            "soft lockup - CPU",
            "hard LOCKUP on cpu",
            "detected stalls on CPUs",
            "self-detected stall on CPU",
            "detected expedited stalls",
            "BUG: workqueue lockup",
        ],
    ),
    // kernel/hung_task.c
    (Fault::HungTask, &["blocked for more than"]),
    // arch/x86/mm/fault.c, arch/x86/kernel/traps.c and dumpstack.c, lib/bug.c, and the BUG lines of kernel/sched and mm
    (
        Fault::Oops,
        &[
            "BUG: ",
            "kernel BUG at",
            "Oops: ",
            "general protection fault",
            // What else dies by its own name: divide error, stack segment, …
            ": 0000 [#",
        ],
    ),
];

/// The fault a console line reports, if it does.
pub(super) fn fault_in(line: &str) -> Option<Fault> {
    let wording = WORDING
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| line.contains(phrase)));
    wording.map(|(fault, _)| *fault)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StaleBreakpoint => "stale breakpoint of the emulator",
            Self::Panic => "kernel panic",
            Self::Oops => "kernel oops",
            Self::HungTask => "hung task",
            Self::Lockup => "lockup or stall",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_recognised() {
        let line = "[    1.204361] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100";

        assert_eq!(fault_in(line), Some(Fault::Panic));
    }

    #[test]
    fn an_oops_is_recognised_in_all_its_forms() {
        for line in [
            "[    9.1] BUG: kernel NULL pointer dereference, address: 0000000000000010",
            "[    9.1] BUG: unable to handle page fault for address: ffffb1b9c0a3d000",
            "[    9.1] kernel BUG at drivers/nvme/host/core.c:742!",
            "[    9.1] Oops: 0000 [#1] PREEMPT SMP NOPTI",
            "[    9.1] general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1]",
            "[    9.1] invalid opcode: 0000 [#1] PREEMPT SMP NOPTI",
            "[    9.1] divide error: 0000 [#1] PREEMPT SMP NOPTI",
            "[    9.1] BUG: scheduling while atomic: kworker/u4:1/19/0x00000002",
        ] {
            assert_eq!(fault_in(line), Some(Fault::Oops), "{line}");
        }
    }

    #[test]
    fn a_breakpoint_of_the_emulators_own_making_is_no_oops() {
        for line in [
            "[    2.4] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI",
            "[    3.0] int3: 0000 [#1] PREEMPT SMP NOPTI",
        ] {
            assert_eq!(fault_in(line), Some(Fault::StaleBreakpoint), "{line}");
        }
    }

    #[test]
    fn a_hung_task_is_recognised() {
        let line = "[  242.7] INFO: task kworker/u4:0:9 blocked for more than 120 seconds.";

        assert_eq!(fault_in(line), Some(Fault::HungTask));
    }

    #[test]
    fn a_lockup_is_no_oops_although_its_line_says_bug() {
        for line in [
            "[   52.0] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [kworker/1:1:41]",
            "[   52.0] NMI watchdog: Watchdog detected hard LOCKUP on cpu 0",
            "[   52.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
            "[   52.0] rcu: INFO: rcu_preempt self-detected stall on CPU",
            "[   52.0] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... }",
            "[   52.0] BUG: workqueue lockup - pool cpus=1 node=0 flags=0x0 nice=0 stuck for 31s!",
        ] {
            assert_eq!(fault_in(line), Some(Fault::Lockup), "{line}");
        }
    }

    #[test]
    fn what_the_driver_says_while_paths_fail_is_no_fault() {
        for line in [
            "[   28.95] block nvme0n1: no usable path - requeuing I/O",
            "[   30.00] nvme nvme1: failed to connect socket: -111",
            "[   30.00] nvme nvme1: Failed reconnect attempt 3",
            "[   31.00] I/O error, dev nvme0n1, sector 0 op 0x1:(WRITE) flags 0x0",
            "scenario clean-cutover: ok window 2.001 s",
        ] {
            assert_eq!(fault_in(line), None, "{line}");
        }
    }
}
