//! One BTF file: where its types start, and the words of each.

use std::{collections::HashMap, ops::Range};

use super::Error;

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;
/// A type's common part: name, info, size or type.
const TYPE_BYTES: usize = 12;
const MEMBER_BYTES: usize = 12;
const ENUMERATOR_BYTES: usize = 8;
/// The kernel's own bound on a symbol's name (KSYM_NAME_LEN).
const LONGEST_NAME: usize = 512;

/// The kinds that are looked into; the others only have a size to be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Struct,
    Union,
    Enum,
    Func,
    FuncProto,
    Other,
}

impl Kind {
    fn of(info: u32) -> Self {
        match info >> 24 & 0x1f {
            4 => Self::Struct,
            5 => Self::Union,
            6 => Self::Enum,
            12 => Self::Func,
            13 => Self::FuncProto,
            _ => Self::Other,
        }
    }

    fn is_asked_for_by_name(self) -> bool {
        matches!(self, Self::Struct | Self::Enum | Self::Func)
    }
}

/// A member of a struct or union.
pub(super) struct Member {
    pub(super) name: u32,
    /// Its type's id.
    pub(super) kind: u32,
    /// Offset in bits.
    pub(super) bits: u32,
    /// Width in bits of a bit field, else 0.
    pub(super) bit_field: u32,
}

#[derive(Debug)]
pub(super) struct Raw {
    bytes: Vec<u8>,
    strings: Range<usize>,
    /// Where each type stands in `bytes`, by id from `first_id` on.
    types: Vec<u32>,
    /// The ids of the names that are wanted, with their kinds.
    index: HashMap<String, Vec<(Kind, u32)>>,
    first_id: u32,
    first_string: u32,
}

impl Raw {
    /// Indexes a file whose own types and strings are numbered from these on.
    pub(super) fn read(
        bytes: Vec<u8>,
        first_id: u32,
        first_string: u32,
        wanted: &[&str],
    ) -> Result<Self, Error> {
        let word = |at: usize| word(&bytes, at).ok_or(Error::Truncated(at));
        let start = word(0)?;
        if start & 0xffff != u32::from(MAGIC) {
            return Err(Error::Magic);
        }
        let version = bytes.get(2).copied().unwrap_or(0);
        if version != VERSION {
            return Err(Error::Version(version));
        }
        let header = word(4)? as usize;
        let section = |at: usize| -> Result<Range<usize>, Error> {
            let begin = header.saturating_add(word(at)? as usize);
            let end = begin.saturating_add(word(at + 4)? as usize);
            if end > bytes.len() {
                Err(Error::Truncated(bytes.len()))
            } else {
                Ok(begin..end)
            }
        };
        let (types_at, strings) = (section(8)?, section(16)?);
        let mut raw = Self {
            types: Vec::with_capacity(types_at.len() / (2 * TYPE_BYTES)),
            index: wanted
                .iter()
                .map(|name| ((*name).to_owned(), Vec::new()))
                .collect(),
            strings,
            first_id,
            first_string,
            bytes,
        };
        raw.walk(types_at)?;
        Ok(raw)
    }

    /// One pass over a hundred thousand types: where each stands, and which have a name that is wanted.
    fn walk(&mut self, types_at: Range<usize>) -> Result<(), Error> {
        let mut at = types_at.start;
        let mut id = self.first_id;
        while at < types_at.end {
            let info = word(&self.bytes, at + 4).ok_or(Error::Truncated(at))?;
            self.types
                .push(u32::try_from(at).map_err(|_| Error::Truncated(at))?);
            let kind = Kind::of(info);
            if kind.is_asked_for_by_name() {
                self.note(kind, id, word(&self.bytes, at).unwrap_or(0));
            }
            at += type_bytes(info, id)?;
            id = id.wrapping_add(1);
        }
        if at > types_at.end {
            Err(Error::Truncated(types_at.end))
        } else {
            Ok(())
        }
    }

    fn note(&mut self, kind: Kind, id: u32, name: u32) {
        let begin = name
            .checked_sub(self.first_string)
            .map(|begin| begin as usize);
        let strings = self.bytes.get(self.strings.clone()).unwrap_or_default();
        let Some(text) = begin.and_then(|begin| strings.get(begin..)) else {
            return;
        };
        // The end of a text is looked for no further than a wanted name is long.
        let text = &text[..text.len().min(LONGEST_NAME)];
        let Some(end) = text.iter().position(|&byte| byte == 0) else {
            return;
        };
        let name = std::str::from_utf8(&text[..end]).unwrap_or_default();
        if let Some(ids) = self.index.get_mut(name) {
            ids.push((kind, id));
        }
    }

    /// The types of a kind that have a name; nothing for a name that was not said to be wanted.
    pub(super) fn named<'a>(&'a self, kind: Kind, name: &str) -> impl Iterator<Item = u32> + 'a {
        let ids = self.index.get(name).map_or(&[][..], Vec::as_slice);
        ids.iter()
            .filter(move |(of, _)| *of == kind)
            .map(|(_, id)| *id)
    }

    pub(super) fn first_id(&self) -> u32 {
        self.first_id
    }

    pub(super) fn first_string(&self) -> u32 {
        self.first_string
    }

    /// The id after the last one; `read` counted them in 32 bits.
    pub(super) fn next_id(&self) -> u32 {
        self.first_id
            .saturating_add(u32::try_from(self.types.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn string_bytes(&self) -> u32 {
        self.first_string
            .saturating_add(u32::try_from(self.strings.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn kind(&self, id: u32) -> Option<Kind> {
        Some(Kind::of(word(&self.bytes, self.at(id)? + 4)?))
    }

    pub(super) fn size_or_type(&self, id: u32) -> u32 {
        self.word(id, 8)
    }

    /// Members, enumerators or parameters.
    pub(super) fn entries(&self, id: u32) -> usize {
        (self.word(id, 4) & 0xffff) as usize
    }

    pub(super) fn members(&self, id: u32) -> impl Iterator<Item = Member> {
        let with_bit_fields = self.word(id, 4) >> 31 == 1;
        (0..self.entries(id)).map(move |index| {
            let at = TYPE_BYTES + index * MEMBER_BYTES;
            let offset = self.word(id, at + 8);
            let (bits, bit_field) = if with_bit_fields {
                (offset & 0x00ff_ffff, offset >> 24)
            } else {
                (offset, 0)
            };
            Member {
                name: self.word(id, at),
                kind: self.word(id, at + 4),
                bits,
                bit_field,
            }
        })
    }

    /// Names and values of an enum.
    pub(super) fn enumerators(&self, id: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..self.entries(id)).map(move |index| {
            let at = TYPE_BYTES + index * ENUMERATOR_BYTES;
            (self.word(id, at), self.word(id, at + 4))
        })
    }

    /// The string at an offset counted from the kernel's first string on.
    pub(super) fn string(&self, offset: u32) -> Option<&[u8]> {
        let begin = offset.checked_sub(self.first_string)? as usize;
        let strings = self.bytes.get(self.strings.clone())?;
        strings.get(begin..)?.split(|&byte| byte == 0).next()
    }

    fn at(&self, id: u32) -> Option<usize> {
        self.types
            .get(id.checked_sub(self.first_id)? as usize)
            .map(|at| *at as usize)
    }

    /// A word of a type; 0 for a type that is not there (void is type 0).
    fn word(&self, id: u32, offset: usize) -> u32 {
        self.at(id)
            .and_then(|at| word(&self.bytes, at + offset))
            .unwrap_or(0)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// Length of a type with what follows its common part.
fn type_bytes(info: u32, id: u32) -> Result<usize, Error> {
    let entries = (info & 0xffff) as usize;
    let kind = info >> 24 & 0x1f;
    Ok(TYPE_BYTES
        + match kind {
            1 | 14 | 17 => 4,                     // INT, VAR, DECL_TAG
            3 => 12,                              // ARRAY
            4 | 5 => entries * MEMBER_BYTES,      // STRUCT, UNION
            6 | 13 => entries * ENUMERATOR_BYTES, // ENUM, FUNC_PROTO
            15 | 19 => entries * 12,              // DATASEC, ENUM64
            2 | 7..=12 | 16 | 18 => 0,
            _ => return Err(Error::UnknownKind { kind, id }),
        })
}
