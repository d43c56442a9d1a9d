//! The kernel's instance names, and what their shape says.
//!
//! A name is never an identity: instance numbers are reused within the same second.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text is not a name of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a {expected}")]
pub struct NameParseError {
    /// What was expected, with an example.
    pub expected: &'static str,
}

/// A controller's name, `nvme3`. Sorted by number: nvme2 before nvme10.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControllerName(u32);

impl ControllerName {
    /// The name of this instance number.
    #[must_use]
    pub const fn from_instance(instance: u32) -> Self {
        Self(instance)
    }

    /// The instance number (`ctrl->instance`).
    #[must_use]
    pub const fn instance(self) -> u32 {
        self.0
    }
}

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("nvme{}", self.0))
    }
}

impl FromStr for ControllerName {
    type Err = NameParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix("nvme")
            .and_then(whole_number)
            .map(Self)
            .ok_or(NameParseError {
                expected: "controller's name (nvme3)",
            })
    }
}

/// A subsystem's name, `nvme-subsys3`. Sorted by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubsystemName(u32);

impl SubsystemName {
    /// The name of this instance number.
    #[must_use]
    pub const fn from_instance(instance: u32) -> Self {
        Self(instance)
    }

    /// The instance number (`subsys->instance`).
    #[must_use]
    pub const fn instance(self) -> u32 {
        self.0
    }
}

impl fmt::Display for SubsystemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("nvme-subsys{}", self.0))
    }
}

impl FromStr for SubsystemName {
    type Err = NameParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix("nvme-subsys")
            .and_then(whole_number)
            .map(Self)
            .ok_or(NameParseError {
                expected: "subsystem's name (nvme-subsys3)",
            })
    }
}

/// A disk's name (`nvme_mpath_set_disk_name`): `nvme0c1n2` for a leg under multipath, `nvme0n2` for a
/// head, for a private namespace, and for a disk without multipath.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiskName {
    /// The first number: the subsystem's instance, and without multipath the controller's.
    pub owner: u32,
    /// The number after the last `n`: the head's instance in its subsystem (not the NSID).
    pub head: u32,
    /// The number after `c`: the controller's instance, in a leg's name only.
    pub controller: Option<u32>,
}

impl DiskName {
    /// The name of a multipath leg.
    #[must_use]
    pub const fn leg(subsystem: u32, controller: u32, head: u32) -> Self {
        Self {
            owner: subsystem,
            head,
            controller: Some(controller),
        }
    }

    /// The name of a visible disk: a head, a private namespace, or a disk without multipath.
    #[must_use]
    pub const fn disk(owner: u32, head: u32) -> Self {
        Self {
            owner,
            head,
            controller: None,
        }
    }
}

impl fmt::Display for DiskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            owner,
            head,
            controller,
        } = self;
        match controller {
            Some(controller) => f.pad(&format!("nvme{owner}c{controller}n{head}")),
            None => f.pad(&format!("nvme{owner}n{head}")),
        }
    }
}

impl FromStr for DiskName {
    type Err = NameParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (left, head) = text.strip_prefix("nvme")?.split_once('n')?;
            let (owner, controller) = match left.split_once('c') {
                Some((owner, controller)) => (owner, Some(whole_number(controller)?)),
                None => (left, None),
            };
            Some(Self {
                owner: whole_number(owner)?,
                head: whole_number(head)?,
                controller,
            })
        };
        parse().ok_or(NameParseError {
            expected: "disk's name (nvme0n1, nvme0c1n1)",
        })
    }
}

/// A number as the kernel prints it: no sign, no leading zero.
fn whole_number(text: &str) -> Option<u32> {
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    if canonical { text.parse().ok() } else { None }
}

macro_rules! text_form {
    ($($name:ty),+) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

text_form!(ControllerName, SubsystemName, DiskName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_name_is_taken_for_what_it_is() {
        assert_eq!("nvme5c7n3".parse(), Ok(DiskName::leg(5, 7, 3)));
        assert_eq!("nvme5n3".parse(), Ok(DiskName::disk(5, 3)));
        assert_eq!("nvme5".parse(), Ok(ControllerName(5)));
        assert_eq!("nvme-subsys5".parse(), Ok(SubsystemName(5)));
        for other in [
            "ng5n3",
            "nvme-generic",
            "hwmon3",
            "power",
            "nvme5n3p1",
            "nvme5c7",
            "nvme",
            "",
        ] {
            assert!(other.parse::<DiskName>().is_err(), "{other}");
            assert!(other.parse::<ControllerName>().is_err(), "{other}");
            assert!(other.parse::<SubsystemName>().is_err(), "{other}");
        }
    }

    #[test]
    fn a_name_that_the_kernel_would_not_print_is_none() {
        for text in ["nvme05", "nvme+5", "nvme-5", "nvme4294967296", "nvme5 "] {
            assert!(text.parse::<ControllerName>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_sort_by_number() {
        let mut names: Vec<ControllerName> = ["nvme10", "nvme2", "nvme0"]
            .iter()
            .map(|n| n.parse().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["nvme0", "nvme2", "nvme10"]
        );
    }
}
