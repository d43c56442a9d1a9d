//! The two states that decide where I/O goes: a controller's, and a leg's ANA state.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A controller's life, `enum nvme_ctrl_state` of `drivers/nvme/host/nvme.h` (identical in 6.1, 6.12
/// and 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControllerState {
    /// Made, and not connected yet.
    New,
    /// Serving.
    Live,
    /// Being torn down to be connected again.
    Resetting,
    /// Trying to connect again.
    Connecting,
    /// Being deleted; I/O that is under way may still finish.
    Deleting,
    /// Being deleted, and no I/O is let through any more.
    DeletingNoIo,
    /// Given up by the driver.
    Dead,
    /// A value or a text this version does not know, or none that could be read.
    Unknown,
}

impl ControllerState {
    /// Every state, in the kernel's order.
    pub const ALL: [Self; 8] = [
        Self::New,
        Self::Live,
        Self::Resetting,
        Self::Connecting,
        Self::Deleting,
        Self::DeletingNoIo,
        Self::Dead,
        Self::Unknown,
    ];

    /// From the word in `ctrl->state`.
    #[must_use]
    pub fn from_kernel(word: u32) -> Self {
        match word {
            0 => Self::New,
            1 => Self::Live,
            2 => Self::Resetting,
            3 => Self::Connecting,
            4 => Self::Deleting,
            5 => Self::DeletingNoIo,
            6 => Self::Dead,
            _ => Self::Unknown,
        }
    }

    /// From the text of the attribute `state` (`nvme_sysfs_show_state`).
    #[must_use]
    pub fn from_sysfs(text: &str) -> Self {
        match text.trim() {
            "new" => Self::New,
            "live" => Self::Live,
            "resetting" => Self::Resetting,
            "connecting" => Self::Connecting,
            "deleting" => Self::Deleting,
            "deleting (no IO)" => Self::DeletingNoIo,
            "dead" => Self::Dead,
            _ => Self::Unknown,
        }
    }

    /// The kernel's own text for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Live => "live",
            Self::Resetting => "resetting",
            Self::Connecting => "connecting",
            Self::Deleting => "deleting",
            Self::DeletingNoIo => "deleting (no IO)",
            Self::Dead => "dead",
            Self::Unknown => "unknown state",
        }
    }

    /// Whether the controller is on its way out, with or without I/O.
    #[must_use]
    pub fn is_deleting(self) -> bool {
        matches!(self, Self::Deleting | Self::DeletingNoIo)
    }
}

impl fmt::Display for ControllerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ControllerState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ControllerState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_sysfs(&String::deserialize(deserializer)?))
    }
}

/// A leg's ANA state, `enum nvme_ana_state` of `include/linux/nvme.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnaState {
    /// Accessible, and the best path.
    Optimized,
    /// Accessible, and not the best path.
    NonOptimized,
    /// Not now.
    Inaccessible,
    /// Not any more: the group has lost the namespace for good on this controller.
    PersistentLoss,
    /// Between two states; the target says so for at most its ANATT.
    Change,
    /// Value 0, or one that the specification does not have.
    Invalid,
}

impl AnaState {
    /// Every state, in the order of its value, [`AnaState::Invalid`] last.
    pub const ALL: [Self; 6] = [
        Self::Optimized,
        Self::NonOptimized,
        Self::Inaccessible,
        Self::PersistentLoss,
        Self::Change,
        Self::Invalid,
    ];

    /// From the word in `ns->ana_state` or an ANA log's group descriptor.
    #[must_use]
    pub fn from_kernel(word: u8) -> Self {
        match word {
            1 => Self::Optimized,
            2 => Self::NonOptimized,
            3 => Self::Inaccessible,
            4 => Self::PersistentLoss,
            0x0f => Self::Change,
            _ => Self::Invalid,
        }
    }

    /// From the text of the attribute `ana_state`, or a tool's spelling of it. `None` for a text that
    /// is neither.
    #[must_use]
    pub fn from_sysfs(text: &str) -> Option<Self> {
        Some(match text.trim() {
            "optimized" => Self::Optimized,
            "non-optimized" | "nonoptimized" => Self::NonOptimized,
            "inaccessible" => Self::Inaccessible,
            "persistent-loss" => Self::PersistentLoss,
            "change" => Self::Change,
            "invalid state" => Self::Invalid,
            _ => return None,
        })
    }

    /// The kernel's own text for it (`nvme_ana_state_names`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Optimized => "optimized",
            Self::NonOptimized => "non-optimized",
            Self::Inaccessible => "inaccessible",
            Self::PersistentLoss => "persistent-loss",
            Self::Change => "change",
            Self::Invalid => "invalid state",
        }
    }

    /// Whether the kernel would route I/O over a leg in this state.
    #[must_use]
    pub fn accessible(self) -> bool {
        matches!(self, Self::Optimized | Self::NonOptimized)
    }
}

impl fmt::Display for AnaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for AnaState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for AnaState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_sysfs(&text)
            .ok_or_else(|| serde::de::Error::custom(format_args!("unknown ANA state \"{text}\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_text_reads_back_as_itself() {
        for state in ControllerState::ALL {
            assert_eq!(ControllerState::from_sysfs(state.as_str()), state);
            assert_eq!(ControllerState::from_sysfs(&format!("{state}\n")), state);
        }
        for state in AnaState::ALL {
            assert_eq!(AnaState::from_sysfs(state.as_str()), Some(state));
        }
    }

    #[test]
    fn kernel_words_follow_the_enum() {
        for (word, state) in (0u32..).zip(ControllerState::ALL) {
            assert_eq!(ControllerState::from_kernel(word), state);
        }
        assert_eq!(AnaState::from_kernel(0), AnaState::Invalid);
        assert_eq!(AnaState::from_kernel(2), AnaState::NonOptimized);
        assert_eq!(AnaState::from_kernel(15), AnaState::Change);
        assert_eq!(AnaState::from_kernel(5), AnaState::Invalid);
    }

    #[test]
    fn both_spellings_of_non_optimized_are_one_state() {
        assert_eq!(
            AnaState::from_sysfs("nonoptimized"),
            AnaState::from_sysfs("non-optimized")
        );
        assert_eq!(AnaState::from_sysfs("frozen"), None);
    }

    #[test]
    fn only_optimized_and_non_optimized_are_accessible() {
        let accessible: Vec<_> = AnaState::ALL
            .into_iter()
            .filter(|s| s.accessible())
            .collect();
        assert_eq!(accessible, [AnaState::Optimized, AnaState::NonOptimized]);
    }
}
