//! NVMe Qualified Names.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a subsystem or a host. Opaque: it may hold spaces (names that the kernel makes from a
/// drive's serial and model do), and two names are equal when all of their bytes are.
///
/// Cheap to clone: one host's controllers share few names.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nqn(Arc<str>);

impl Nqn {
    /// The well-known name of every discovery subsystem (NVMe Base Specification 2.0, 4.5).
    pub const DISCOVERY: &'static str = "nqn.2014-08.org.nvmexpress.discovery";

    /// A name as it is.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// From the attribute `subsysnqn` or `hostnqn`. `None` for what the kernel prints while it has no
    /// name to show: nothing, `(null)`, or `(efault)` (a first connect, before the subsystem is known).
    #[must_use]
    pub fn from_sysfs(text: &str) -> Option<Self> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        match text {
            "" | "(null)" | "(efault)" => None,
            name => Some(Self::new(name)),
        }
    }

    /// The name's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the well-known discovery name. Kernels that have `cntrltype` say more: a
    /// discovery subsystem may have a name of its own.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        self.as_str() == Self::DISCOVERY
    }
}

impl fmt::Display for Nqn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Nqn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl FromStr for Nqn {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

impl From<&str> for Nqn {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Nqn {
    fn from(text: String) -> Self {
        Self(Arc::from(text))
    }
}

impl AsRef<str> for Nqn {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Nqn {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for Nqn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Nqn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_prints_without_a_name_is_no_name() {
        for text in ["(efault)", "(efault)\n", "(null)", "", "\n"] {
            assert_eq!(Nqn::from_sysfs(text), None, "{text:?}");
        }
    }

    #[test]
    fn spaces_belong_to_the_name() {
        let text = "nqn.2014.08.org.nvmexpress:1bb11bb1SERIAL            Example SSD 530 4000";
        let nqn = Nqn::from_sysfs(&format!("{text}\n")).unwrap();
        assert_eq!(nqn.as_str(), text);
        assert_ne!(nqn, Nqn::new(&text.replace("            ", " ")));
    }
}
