//! Transports.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a controller is reached: the attribute `transport`, or the scheme of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// NVMe/TCP.
    Tcp,
    /// NVMe over RDMA.
    Rdma,
    /// NVMe over Fibre Channel.
    Fc,
    /// The kernel's own target in the same kernel.
    Loop,
    /// A local drive.
    Pcie,
    /// Any other, under its own name (`apple-nvme` is one): listed, never touched.
    Other(Box<str>),
}

impl Transport {
    /// From the attribute `transport`, or the scheme of an endpoint.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text {
            "tcp" => Self::Tcp,
            "rdma" => Self::Rdma,
            "fc" => Self::Fc,
            "loop" => Self::Loop,
            "pcie" => Self::Pcie,
            other => Self::Other(other.into()),
        }
    }

    /// The kernel's text for it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tcp => "tcp",
            Self::Rdma => "rdma",
            Self::Fc => "fc",
            Self::Loop => "loop",
            Self::Pcie => "pcie",
            Self::Other(name) => name,
        }
    }

    /// Whether this is a fabric that the kernel's fabrics layer connects and deletes.
    #[must_use]
    pub fn is_fabric(&self) -> bool {
        matches!(self, Self::Tcp | Self::Rdma | Self::Fc | Self::Loop)
    }

    /// Whether its addresses are IP addresses with a port.
    #[must_use]
    pub fn is_ip(&self) -> bool {
        matches!(self, Self::Tcp | Self::Rdma)
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Transport {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Transport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(&String::deserialize(deserializer)?))
    }
}
