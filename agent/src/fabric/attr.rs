//! What became of one attribute.
//!
//! An attribute that is not there, one that could not be read, and one that says `off` are three
//! different things, and none of them is a zero.

use std::fmt;
use std::time::Duration;

/// An attribute of which more than "there or not" is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Attr<T> {
    /// It was read.
    Value(T),
    /// This object does not have it, or it is empty: a fact.
    #[default]
    Unset,
    /// It is not known: reading failed, or what was read makes no sense.
    Unreadable(Fault),
}

/// Why an attribute is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The read failed with this errno.
    Errno(i32),
    /// The read did not come back in time (`address` waits for a queue's mutex during teardown).
    TimedOut,
    /// The kernel printed `(efault)` or `(null)` because the object is half made or half gone.
    HalfMade,
    /// Longer than any attribute is (a sysfs attribute ends at one page).
    TooLong,
    /// What was read is not a value of this attribute.
    Malformed,
    /// It belongs to the object and is missing.
    Missing,
    /// The document this came from does not say.
    NotRecorded,
}

impl<T> Attr<T> {
    /// The value, if it is known and there.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unset | Self::Unreadable(_) => None,
        }
    }

    /// The fault that kept it from being known.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::Unreadable(fault) => Some(*fault),
            Self::Value(_) | Self::Unset => None,
        }
    }

    /// Whether it could not be read.
    pub fn is_unreadable(&self) -> bool {
        self.fault().is_some()
    }

    /// The same with the value seen by reference.
    pub fn as_ref(&self) -> Attr<&T> {
        match self {
            Self::Value(value) => Attr::Value(value),
            Self::Unset => Attr::Unset,
            Self::Unreadable(fault) => Attr::Unreadable(*fault),
        }
    }

    /// The value made into another; the absences stay what they are.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Attr<U> {
        self.and_then(|value| Attr::Value(f(value)))
    }

    /// The value made into another, or into an absence; the absences stay what they are.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Attr<U>) -> Attr<U> {
        match self {
            Self::Value(value) => f(value),
            Self::Unset => Attr::Unset,
            Self::Unreadable(fault) => Attr::Unreadable(fault),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errno(errno) => match errno_name(*errno) {
                Some(name) => f.write_str(name),
                None => write!(f, "errno {errno}"),
            },
            Self::TimedOut => f.write_str("no answer in time"),
            Self::HalfMade => f.write_str("half made or half gone"),
            Self::TooLong => f.write_str("longer than an attribute can be"),
            Self::Malformed => f.write_str("not a value of this attribute"),
            Self::Missing => f.write_str("missing"),
            Self::NotRecorded => f.write_str("not recorded"),
        }
    }
}

/// Names of the errors that sysfs gives (`errno-base.h`, `errno.h`).
fn errno_name(errno: i32) -> Option<&'static str> {
    Some(match errno {
        2 => "ENOENT",
        4 => "EINTR",
        5 => "EIO",
        6 => "ENXIO",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        20 => "ENOTDIR",
        21 => "EISDIR",
        22 => "EINVAL",
        24 => "EMFILE",
        40 => "ELOOP",
        110 => "ETIMEDOUT",
        _ => return None,
    })
}

/// A timeout that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// It ends after this long; whole seconds in sysfs.
    After(Duration),
    /// It never ends (`off`, and -1 where tools write it).
    Off,
}

impl Limit {
    /// From the text of `ctrl_loss_tmo`, `reconnect_delay` or `fast_io_fail_tmo`.
    #[must_use]
    pub fn from_sysfs(text: &str) -> Option<Self> {
        match text.trim() {
            "off" => Some(Self::Off),
            number => Self::from_seconds(number.parse().ok()?),
        }
    }

    /// From seconds, where every negative number is `off`.
    #[must_use]
    pub fn from_seconds(seconds: i64) -> Option<Self> {
        Some(u64::try_from(seconds).map_or(Self::Off, |s| Self::After(Duration::from_secs(s))))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(length) => f.pad(&format!("{}s", length.as_secs())),
            Self::Off => f.pad("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_number_or_off() {
        assert_eq!(Limit::from_sysfs("off\n"), Some(Limit::Off));
        assert_eq!(Limit::from_sysfs("-1"), Some(Limit::Off));
        assert_eq!(
            Limit::from_sysfs("600"),
            Some(Limit::After(Duration::from_secs(600)))
        );
        assert_eq!(Limit::from_sysfs("0"), Some(Limit::After(Duration::ZERO)));
        assert_eq!(Limit::from_sysfs("never"), None);
        assert_eq!(Limit::from_sysfs(""), None);
    }

    #[test]
    fn an_absence_survives_a_mapping() {
        assert_eq!(Attr::Value(2).map(|n| n * 2), Attr::Value(4));
        assert_eq!(Attr::<u8>::Unset.map(|n| n * 2), Attr::Unset);
        let lost = Attr::<u8>::Unreadable(Fault::Errno(5));
        assert_eq!(lost.map(|n| n * 2), Attr::Unreadable(Fault::Errno(5)));
    }

    #[test]
    fn off_sorts_after_every_length() {
        assert!(Limit::Off > Limit::After(Duration::MAX));
    }
}
