//! The status of a completion: status code type, status code and the do-not-retry bit, as the Linux driver prints it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Bits 15:1 of a completion's last word: code (7:0), type (10:8), do not retry (14).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Status(pub u16);

/// Base specification 2.0, 3.4.2 and figures 93 to 96; fabrics specification, Connect response.
impl Status {
    /// Done.
    pub const SUCCESS: Self = Self(0x000);
    /// No such command.
    pub const INVALID_OPCODE: Self = Self(0x001);
    /// A field of the command has a value that is not supported.
    pub const INVALID_FIELD: Self = Self(0x002);
    /// Something inside the controller went wrong.
    pub const INTERNAL: Self = Self(0x006);
    /// No such namespace, or not attached to this controller.
    pub const INVALID_NAMESPACE: Self = Self(0x00b);
    /// The command is not allowed now: no Connect, or not enabled.
    pub const SEQUENCE: Self = Self(0x00c);
    /// The data pointer's length is not what the command needs.
    pub const SGL_LENGTH: Self = Self(0x00f);
    /// The data pointer is of a kind that this transport has not.
    pub const SGL_TYPE: Self = Self(0x011);
    /// In-capsule data ends before the data pointer does.
    pub const SGL_OFFSET: Self = Self(0x016);
    /// Beyond the namespace's end.
    pub const LBA_RANGE: Self = Self(0x080);
    /// More asynchronous event requests than the controller parks.
    pub const ASYNC_LIMIT: Self = Self(0x105);
    /// No such log page.
    pub const INVALID_LOG_PAGE: Self = Self(0x109);
    /// Connect: a record format that is not known.
    pub const CONNECT_FORMAT: Self = Self(0x180);
    /// Connect: the controller has its hands full.
    pub const CONNECT_BUSY: Self = Self(0x181);
    /// Connect: no such subsystem here, or no such controller.
    pub const CONNECT_INVALID_PARAMETERS: Self = Self(0x182);
    /// Connect: this host may not.
    pub const CONNECT_INVALID_HOST: Self = Self(0x184);
    /// A path error of the controller's own, no ANA matter.
    pub const INTERNAL_PATH_ERROR: Self = Self(0x300);
    /// The namespace's group will not be served here again.
    pub const ANA_PERSISTENT_LOSS: Self = Self(0x301);
    /// The namespace's group is not served here.
    pub const ANA_INACCESSIBLE: Self = Self(0x302);
    /// The namespace's group is between two states.
    pub const ANA_TRANSITION: Self = Self(0x303);

    const DNR: u16 = 0x4000;

    /// The same with the do-not-retry bit.
    pub const fn do_not_retry(self) -> Self {
        Self(self.0 | Self::DNR)
    }

    /// Whether the command was done.
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#05x}", self.0)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
