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

/// How much of each object is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// What the topology and findings are made of.
    #[default]
    Topology,
    /// Also the keep-alive interval, the firmware's revision and the kernel's counters (7.2): up to four
    /// more files an object, where each costs as much as any other.
    Everything,
}

/// A kind's attributes: the topology's, and then those of [`Detail::Everything`].
struct Attributes {
    all: &'static [&'static str],
    topology: u32,
}

impl Kind {
    /// All attributes that may be read in a directory of this kind. At most 32: sets of them are bits, the
    /// nth for the nth.
    pub(super) fn attributes(self) -> &'static [&'static str] {
        self.listed().all
    }

    /// Where an attribute stands in [`Kind::attributes`].
    pub(super) fn position(self, name: &str) -> Option<usize> {
        self.attributes().iter().position(|known| *known == name)
    }

    /// Those that are read for so much detail.
    pub(super) fn wanted(self, detail: Detail) -> u32 {
        match detail {
            Detail::Topology => !(u32::MAX << self.listed().topology),
            Detail::Everything => u32::MAX,
        }
    }

    /// The counters in `diag/` (7.2), each of which is hidden where it does not apply.
    pub(super) fn diag(self) -> u32 {
        let all = self.attributes().iter().zip(0..);
        all.filter(|(name, _)| name.starts_with("diag/"))
            .fold(0, |set, (_, bit)| set | 1 << bit)
    }

    fn listed(self) -> &'static Attributes {
        match self {
            Self::Subsystem => &SUBSYSTEM,
            Self::Controller => &CONTROLLER,
            Self::Leg => &LEG,
            Self::Head => &HEAD,
        }
    }
}

static SUBSYSTEM: Attributes = Attributes {
    topology: 5,
    all: &[
        "subsysnqn",
        "subsystype",
        "model",
        "serial",
        "iopolicy",
        // Detail
        "firmware_rev",
    ],
};

static CONTROLLER: Attributes = Attributes {
    topology: 12,
    all: &[
        "transport",
        "state",
        "address",
        "subsysnqn",
        "hostnqn",
        "hostid",
        "cntlid",
        "cntrltype",
        "dctype",
        "reconnect_delay",
        "ctrl_loss_tmo",
        "fast_io_fail_tmo",
        // Detail
        "kato",
        "diag/command_error_count",
        "diag/reset_count",
        "diag/reconnect_count",
    ],
};

static LEG: Attributes = Attributes {
    topology: 5,
    all: &[
        "nsid",
        "uuid",
        "size",
        "ana_state",
        "ana_grpid",
        // Detail. `command_retry_count` is how a user-space library of 2026 spells the first one.
        "diag/command_retries_count",
        "diag/command_retry_count",
        "diag/command_error_count",
        "diag/multipath_failover_count",
    ],
};

static HEAD: Attributes = Attributes {
    topology: 4,
    all: &[
        "nsid",
        "uuid",
        "size",
        "delayed_removal_secs",
        // Detail
        "diag/io_requeue_no_usable_path_count",
        "diag/io_fail_no_available_path_count",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 4] = [Kind::Subsystem, Kind::Controller, Kind::Leg, Kind::Head];

    #[test]
    fn no_secret_is_among_the_attributes() {
        for kind in KINDS {
            assert!(kind.attributes().len() <= 32);
            for name in kind.attributes() {
                assert!(!name.contains("secret") && !name.contains("tls"), "{name}");
            }
        }
    }

    #[test]
    fn the_topology_is_made_without_counters() {
        for kind in KINDS {
            assert_eq!(kind.diag() & kind.wanted(Detail::Topology), 0);
            assert_eq!(kind.diag() & !kind.wanted(Detail::Everything), 0);
        }
        let wanted = Kind::Controller.wanted(Detail::Topology);
        let last = Kind::Controller.position("fast_io_fail_tmo").unwrap();
        assert_eq!(wanted.trailing_ones() as usize, last + 1);
    }
}
