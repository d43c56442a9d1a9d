//! UUIDs of namespaces and hosts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A UUID in the byte order in which it is written (`uuid_t` of the kernel).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid([u8; 16]);

/// The text is not 32 hexadecimal digits with hyphens after the 8th, 12th, 16th and 20th.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID (expected 8-4-4-4-12 hexadecimal digits)")]
pub struct UuidParseError;

impl Uuid {
    /// All zero: what a namespace without a UUID has.
    pub const NIL: Self = Self([0; 16]);

    /// From its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether all of it is zero, which names nothing.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        *self == Self::NIL
    }
}

impl From<[u8; 16]> for Uuid {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

/// Byte positions after which a hyphen stands.
const HYPHEN_BEFORE: [usize; 4] = [4, 6, 8, 10];

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = u128::from_be_bytes(self.0);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            all >> 96,
            all >> 80 & 0xffff,
            all >> 64 & 0xffff,
            all >> 48 & 0xffff,
            all & 0xffff_ffff_ffff
        )
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = UuidParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 16];
        let mut rest = text.as_bytes();
        for (at, byte) in bytes.iter_mut().enumerate() {
            if HYPHEN_BEFORE.contains(&at) {
                rest = rest.strip_prefix(b"-").ok_or(UuidParseError)?;
            }
            let (pair, after) = rest.split_first_chunk::<2>().ok_or(UuidParseError)?;
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
            rest = after;
        }
        if rest.is_empty() {
            Ok(Self(bytes))
        } else {
            Err(UuidParseError)
        }
    }
}

fn digit(character: u8) -> Result<u8, UuidParseError> {
    match character {
        b'0'..=b'9' => Ok(character - b'0'),
        b'a'..=b'f' => Ok(character - b'a' + 10),
        b'A'..=b'F' => Ok(character - b'A' + 10),
        _ => Err(UuidParseError),
    }
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_reads_back_as_it_is_written() {
        let text = "00000001-0203-4005-8006-0708090a0bff";
        let uuid: Uuid = text.parse().unwrap();
        assert_eq!(uuid.to_string(), text);
        assert_eq!(text.to_uppercase().parse(), Ok(uuid));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "00000001",
            "00000001-0203-4005-8006-0708090a0bf",
            "g0000001-0203-4005-8006-0708090a0bff",
            "00000001-0203-4005-8006-0708090a0bff0",
            "000000010-203-4005-8006-0708090a0bff",
        ] {
            assert_eq!(text.parse::<Uuid>(), Err(UuidParseError), "{text}");
        }
    }

    #[test]
    fn only_all_zero_is_nil() {
        assert!(Uuid::NIL.is_nil());
        assert!(!Uuid::from_bytes([1; 16]).is_nil());
    }
}
