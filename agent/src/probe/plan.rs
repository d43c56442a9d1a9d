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
    /// The kernel function.
    pub function: &'static str,
    /// The module that has it, for the reader; the kernel finds it by the function's name.
    pub module: &'static str,
    /// Where.
    pub site: Site,
    /// Whether windows cannot be measured without it.
    pub mandatory: bool,
    /// What it tells.
    pub tells: &'static str,
}

const fn core(
    program: &'static str,
    function: &'static str,
    mandatory: bool,
    tells: &'static str,
) -> Probe {
    Probe {
        program,
        function,
        module: "nvme_core",
        site: Site::Entry,
        mandatory,
        tells,
    }
}

/// All of them, in the order in which they are attached.
pub const PROBES: &[Probe] = &[
    core(
        "change_ctrl_state",
        "nvme_change_ctrl_state",
        true,
        "controller states",
    ),
    core(
        "kick_requeue_lists",
        "nvme_kick_requeue_lists",
        true,
        "live, fail-fast expired",
    ),
    core(
        "update_ana_state",
        "nvme_update_ana_state",
        true,
        "ANA groups as logged",
    ),
    core(
        "mpath_set_live",
        "nvme_mpath_set_live",
        true,
        "legs turned accessible",
    ),
    core(
        "failover_req",
        "nvme_failover_req",
        true,
        "I/O failed with an ANA status",
    ),
    core("ns_remove", "nvme_ns_remove", true, "legs removed"),
    core(
        "mpath_add_disk",
        "nvme_mpath_add_disk",
        false,
        "legs added (begin)",
    ),
    Probe {
        site: Site::Return,
        ..core(
            "mpath_add_disk_return",
            "nvme_mpath_add_disk",
            false,
            "legs added",
        )
    },
    core(
        "start_ctrl",
        "nvme_start_ctrl",
        false,
        "identity of connected controllers",
    ),
    core("uninit_ctrl", "nvme_uninit_ctrl", false, "controllers gone"),
    core(
        "show_ana_state",
        "ana_state_show",
        false,
        "true words of legs on each look",
    ),
    core(
        "show_state",
        "nvme_sysfs_show_state",
        false,
        "true words of controllers on each look",
    ),
    Probe {
        module: "nvme_fabrics",
        ..core(
            "connect_admin_queue",
            "nvmf_connect_admin_queue",
            false,
            "connects (begin)",
        )
    },
    Probe {
        module: "nvme_fabrics",
        site: Site::Return,
        ..core(
            "connect_admin_queue_return",
            "nvmf_connect_admin_queue",
            false,
            "connect results",
        )
    },
    Probe {
        module: "nvme_fabrics",
        ..core(
            "should_reconnect",
            "nvmf_should_reconnect",
            false,
            "reconnect decisions",
        )
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_attached_once() {
        let mut programs: Vec<_> = PROBES.iter().map(|probe| probe.program).collect();
        programs.sort_unstable();
        programs.dedup();
        assert_eq!(programs.len(), PROBES.len());
    }
}
