//! Which program goes to which kernel function, and what is lost without it.

/// Where in a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// At its first instruction: before what it does.
    Entry,
    /// At its return.
    Return,
}

/// One probe.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// Name of the program in the BPF object.
    pub program: &'static str,
    /// The kernel function, and those that take its place where it does not exist, best first.
    pub functions: &'static [&'static str],
    /// The module that has it, for the reader; the kernel finds it by the function's name.
    pub module: &'static str,
    /// Where.
    pub site: Site,
    /// Whether windows cannot be measured without it.
    pub mandatory: bool,
    /// What it tells.
    pub tells: &'static str,
    /// When it is wanted.
    pub when: When,
    /// What tells the same, later or less exactly, where the kernel has no such function.
    pub otherwise: Option<&'static str>,
}

/// When a probe is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Where the kernel does not give the reconnect decision the attempt's status.
    StatusIsNotGiven,
    /// While a window is open: it runs for each I/O.
    WindowIsOpen,
}

impl Probe {
    /// The function that it is for.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.functions.first().copied().unwrap_or_default()
    }
}

const fn core(
    program: &'static str,
    functions: &'static [&'static str],
    mandatory: bool,
    tells: &'static str,
) -> Probe {
    Probe {
        program,
        functions,
        module: "nvme_core",
        site: Site::Entry,
        mandatory,
        tells,
        when: When::Always,
        otherwise: None,
    }
}

/// All of them, in the order in which they are attached.
pub const PROBES: &[Probe] = &[
    core(
        "change_state",
        &["nvme_change_ctrl_state"],
        true,
        "controller states",
    ),
    core(
        "kick_requeue",
        &["nvme_kick_requeue_lists"],
        true,
        "live, fail-fast expired",
    ),
    core(
        "update_ana",
        &["nvme_update_ana_state"],
        true,
        "ANA groups as logged",
    ),
    core(
        "mpath_set_live",
        &["nvme_mpath_set_live"],
        true,
        "legs turned accessible",
    ),
    core(
        "failover_req",
        &["nvme_failover_req"],
        true,
        "I/O failed with an ANA status",
    ),
    core("ns_remove", &["nvme_ns_remove"], true, "legs removed"),
    core(
        "add_disk",
        &["nvme_mpath_add_disk"],
        false,
        "legs added (begin)",
    ),
    Probe {
        site: Site::Return,
        ..core(
            "add_disk_return",
            &["nvme_mpath_add_disk"],
            false,
            "legs added",
        )
    },
    core(
        "start_ctrl",
        &["nvme_start_ctrl"],
        false,
        "identity of connected controllers",
    ),
    core(
        "uninit_ctrl",
        &["nvme_uninit_ctrl"],
        false,
        "controllers gone",
    ),
    core(
        "show_ana_state",
        &["ana_state_show"],
        false,
        "true words of legs on each look",
    ),
    core(
        "show_state",
        &["nvme_sysfs_show_state"],
        false,
        "true words of controllers on each look",
    ),
    Probe {
        module: "nvme_fabrics",
        ..core(
            "connect",
            &["nvmf_connect_admin_queue"],
            false,
            "connects (begin)",
        )
    },
    Probe {
        module: "nvme_fabrics",
        site: Site::Return,
        ..core(
            "connect_return",
            &["nvmf_connect_admin_queue"],
            false,
            "connect results",
        )
    },
    Probe {
        module: "nvme_fabrics",
        ..core(
            "reconnect",
            &["nvmf_should_reconnect"],
            false,
            "reconnect decisions",
        )
    },
    core(
        "head_gone",
        // The second took the first's place in 7.x; the third is later by the time the last user takes.
        &[
            "nvme_mpath_shutdown_disk",
            "nvme_remove_head",
            "nvme_mpath_put_disk",
        ],
        false,
        "multipath disks gone",
    ),
    core(
        "stop_keep_alive",
        &["nvme_stop_keep_alive"],
        false,
        "error recovery",
    ),
    Probe {
        // Inlined before 6.2.
        otherwise: Some("the error recovery that follows"),
        ..core(
            "keep_alive_end",
            &["nvme_keep_alive_end_io"],
            false,
            "keep-alive failures",
        )
    },
    Probe {
        module: "nvme_tcp",
        when: When::StatusIsNotGiven,
        ..core(
            "setup",
            &["nvme_tcp_setup_ctrl"],
            false,
            "socket errors of connects (begin)",
        )
    },
    Probe {
        module: "nvme_tcp",
        site: Site::Return,
        when: When::StatusIsNotGiven,
        ..core(
            "setup_return",
            &["nvme_tcp_setup_ctrl"],
            false,
            "socket errors of connects",
        )
    },
    Probe {
        when: When::WindowIsOpen,
        ..core(
            "head_submit_bio",
            &["nvme_ns_head_submit_bio"],
            false,
            "I/O held or failed in a window",
        )
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_keeps_every_programs_name_whole() {
        for probe in PROBES {
            // BPF_OBJ_NAME_LEN is 16, with a zero.
            assert!(probe.program.len() < 16, "{}", probe.program);
        }
    }

    #[test]
    fn every_program_is_attached_once() {
        let mut programs: Vec<_> = PROBES.iter().map(|probe| probe.program).collect();
        programs.sort_unstable();
        programs.dedup();
        assert_eq!(programs.len(), PROBES.len());
    }
}
