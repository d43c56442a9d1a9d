//! The attributes that are read, by the kind of directory they are in. Nothing else is ever opened:
//! `dhchap_secret`, `dhchap_ctrl_secret` and `tls_key` stand beside these.

/// What a directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `class/nvme-subsystem/nvme-subsysN`
    Subsystem,
    /// `class/nvme/nvmeN`
    Controller,
    /// A disk below a controller: a leg, or a visible disk.
    Leg,
    /// A disk below a subsystem, or in `block`.
    Head,
}

impl Kind {
    /// The attributes that are read in a directory of this kind. At most 32.
    pub(super) fn attributes(self) -> &'static [&'static str] {
        match self {
            Self::Subsystem => &SUBSYSTEM,
            Self::Controller => &CONTROLLER,
            Self::Leg => &LEG,
            Self::Head => &HEAD,
        }
    }

    /// Where an attribute stands in [`Kind::attributes`].
    pub(super) fn position(self, name: &str) -> Option<usize> {
        self.attributes().iter().position(|known| *known == name)
    }

    /// The counters in `diag/` (7.2), each of which is hidden where it does not apply.
    pub(super) fn diag(self) -> &'static [&'static str] {
        match self {
            Self::Subsystem => &[],
            Self::Controller => &CONTROLLER_DIAG,
            Self::Leg => &LEG_DIAG,
            Self::Head => &HEAD_DIAG,
        }
    }
}

const SUBSYSTEM: [&str; 6] = [
    "subsysnqn",
    "subsystype",
    "model",
    "serial",
    "firmware_rev",
    "iopolicy",
];

const CONTROLLER: [&str; 13] = [
    "transport",
    "state",
    "address",
    "subsysnqn",
    "hostnqn",
    "hostid",
    "cntlid",
    "cntrltype",
    "dctype",
    "kato",
    "reconnect_delay",
    "ctrl_loss_tmo",
    "fast_io_fail_tmo",
];

const LEG: [&str; 5] = ["nsid", "uuid", "size", "ana_state", "ana_grpid"];

const HEAD: [&str; 4] = ["nsid", "uuid", "size", "delayed_removal_secs"];

const CONTROLLER_DIAG: [&str; 3] = [
    "diag/command_error_count",
    "diag/reset_count",
    "diag/reconnect_count",
];

// `command_retry_count` is how a user-space library of 2026 spells the first one.
const LEG_DIAG: [&str; 4] = [
    "diag/command_retries_count",
    "diag/command_retry_count",
    "diag/command_error_count",
    "diag/multipath_failover_count",
];

const HEAD_DIAG: [&str; 2] = [
    "diag/io_requeue_no_usable_path_count",
    "diag/io_fail_no_available_path_count",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_among_the_attributes() {
        for kind in [Kind::Subsystem, Kind::Controller, Kind::Leg, Kind::Head] {
            assert!(kind.attributes().len() <= 32);
            for name in kind.attributes().iter().chain(kind.diag()) {
                assert!(!name.contains("secret") && !name.contains("tls"), "{name}");
            }
        }
    }
}
