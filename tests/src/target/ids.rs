//! The numbers and names a target deals in, each a type of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A namespace's number within its subsystem; 1 and up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nsid(pub u32);

impl Nsid {
    /// The broadcast value: every namespace of the controller.
    pub const ALL: Self = Self(u32::MAX);
}

/// An ANA group's number within its subsystem; 1 to [`super::limits::ANA_GROUPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub u32);

impl Default for GroupId {
    fn default() -> Self {
        Self(1)
    }
}

/// A controller's number within its subsystem; unique there unless a script says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cntlid(pub u16);

impl Cntlid {
    /// What a host asks for: any controller (dynamic model).
    pub const ANY: Self = Self(0xffff);
}

/// A queue's number within its controller; 0 is the admin queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QueueId(pub u16);

impl QueueId {
    /// The admin queue.
    pub const ADMIN: Self = Self(0);
}

/// A UUID in the byte order of its text form, which is the order NVMe sends it in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The UUID (version 8, vendor's own) of a namespace that was given none: the same in every run, and different for
    /// every NQN and number, since Linux refuses a namespace whose identity another subsystem shows too
    /// (6.12 `nvme_global_check_duplicate_ids`).
    pub fn of_namespace(nqn: &str, nsid: Nsid) -> Self {
        let mut bytes = [0; 16];
        for (half, seed) in bytes
            .chunks_exact_mut(8)
            .zip([0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15])
        {
            let named = nqn.bytes().chain(nsid.0.to_le_bytes());
            half.copy_from_slice(&named.fold(seed, fnv1a).to_be_bytes());
        }
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

/// One round of the FNV-1a hash.
fn fnv1a(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Uuid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a UUID");
        let groups: Vec<usize> = text.split('-').map(str::len).collect();
        if !text.is_ascii() || groups != [8, 4, 4, 4, 12] {
            return Err(wrong());
        }
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Uuid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Uuid> for String {
    fn from(uuid: Uuid) -> Self {
        uuid.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_survives_its_text_form() {
        let text = "00112233-4455-6677-8899-aabbccddeeff";
        let uuid: Uuid = text.parse().unwrap();
        assert_eq!(uuid.0[..5], [0, 0x11, 0x22, 0x33, 0x44]);
        assert_eq!(uuid.to_string(), text);
    }

    #[test]
    fn what_is_no_uuid_is_refused() {
        for text in [
            "",
            "0011",
            "00112233-4455-6677-8899-aabbccddeefg",
            "0011223344556677-8899-aabb-ccdd-eeff0011",
        ] {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
    }

    #[test]
    fn namespaces_have_different_identities_that_stay_the_same() {
        let of = |nqn: &str, nsid| Uuid::of_namespace(nqn, Nsid(nsid));
        assert_eq!(of("nqn.a", 1), of("nqn.a", 1));
        assert_ne!(of("nqn.a", 1), of("nqn.a", 2));
        assert_ne!(of("nqn.a", 1), of("nqn.b", 1));
    }
}
