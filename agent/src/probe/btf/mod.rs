//! The kernel's type information (BTF): offsets of struct members and the number of parameters of functions.
//!
//! Owns: reading `/sys/kernel/btf/vmlinux` and the files of modules beside it, which continue its type and string
//! numbering ("split" BTF). Does not own: which fields are wanted ([`super::fields`]).
//!
//! A reader of its own: the BPF loader's cannot read a module's file, and the agent wants a few dozen numbers once,
//! out of 6 MiB, without keeping a parsed copy of them. The format is the kernel's Documentation/bpf/btf.rst.

mod parse;

use parse::{Kind, Raw};

/// Why type information could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// Not BTF, or of another byte order.
    #[error("no BTF magic")]
    Magic,
    /// A header version this reader does not know.
    #[error("BTF version {0} is not known")]
    Version(u8),
    /// The file ends before what its header promises.
    #[error("BTF is cut short at byte {0}")]
    Truncated(usize),
    /// A kind whose size is not known, so what follows cannot be found.
    #[error("BTF kind {kind} of type {id} is not known")]
    UnknownKind {
        /// The number of the kind.
        kind: u32,
        /// The type that has it.
        id: u32,
    },
}

/// The types of the kernel, or those of a module on top of the kernel's. Only the names that were said to be wanted can
/// be asked for: the rest is not indexed.
#[derive(Debug)]
pub struct Types<'k> {
    own: Raw,
    kernel: Option<&'k Types<'k>>,
}

impl Types<'static> {
    /// Reads the kernel's own.
    pub fn of_kernel(bytes: Vec<u8>, wanted: &[&str]) -> Result<Self, Error> {
        Ok(Self {
            own: Raw::read(bytes, 1, 0, wanted)?,
            kernel: None,
        })
    }
}

/// How deep anonymous members are looked through; the kernel's deepest is a fraction of it.
const MAX_DEPTH: u32 = 16;

impl<'k> Types<'k> {
    /// Reads a module's, which refer to the kernel's.
    pub fn of_module(
        bytes: Vec<u8>,
        kernel: &'k Types<'k>,
        wanted: &[&str],
    ) -> Result<Self, Error> {
        let own = Raw::read(
            bytes,
            kernel.own.next_id(),
            kernel.own.string_bytes(),
            wanted,
        )?;
        Ok(Self {
            own,
            kernel: Some(kernel),
        })
    }

    /// Size in bytes of a struct; none if these types do not define it.
    pub fn size_of(&self, structure: &str) -> Option<u32> {
        let id = self.own.named(Kind::Struct, structure).next()?;
        Some(self.own.size_or_type(id))
    }

    /// Offset in bytes of a struct's member, looked for in anonymous members too; none if these types do not define
    /// the struct, if it has no such member, or if that is a bit field.
    pub fn offset_of(&self, structure: &str, member: &str) -> Option<u32> {
        let mut structures = self.own.named(Kind::Struct, structure);
        let bits = structures.find_map(|id| self.member_bits(id, member, 0))?;
        (bits % 8 == 0).then_some(bits / 8)
    }

    /// How many parameters a function has; none if these types do not define it.
    pub fn parameters_of(&self, function: &str) -> Option<usize> {
        let id = self.own.named(Kind::Func, function).next()?;
        let prototype = self.own.size_or_type(id);
        let raw = self.raw(prototype);
        (raw.kind(prototype) == Some(Kind::FuncProto)).then(|| raw.entries(prototype))
    }

    /// Value of an enumerator; none if no enum of these types has it.
    pub fn enumerator(&self, enumeration: &str, name: &str) -> Option<u32> {
        self.own
            .named(Kind::Enum, enumeration)
            .flat_map(|id| self.own.enumerators(id))
            .find(|&(offset, _)| self.string(offset) == Some(name.as_bytes()))
            .map(|(_, value)| value)
    }

    fn member_bits(&self, id: u32, wanted: &str, depth: u32) -> Option<u32> {
        let raw = self.raw(id);
        if depth > MAX_DEPTH || !matches!(raw.kind(id), Some(Kind::Struct | Kind::Union)) {
            return None;
        }
        raw.members(id).find_map(|member| {
            let name = self.string(member.name)?;
            if name == wanted.as_bytes() {
                return (member.bit_field == 0).then_some(member.bits);
            }
            let inner = name
                .is_empty()
                .then(|| self.member_bits(member.kind, wanted, depth + 1))?;
            inner.map(|bits| bits + member.bits)
        })
    }

    fn raw(&self, id: u32) -> &Raw {
        match self.kernel {
            Some(kernel) if id < self.own.first_id() => &kernel.own,
            _ => &self.own,
        }
    }

    fn string(&self, offset: u32) -> Option<&[u8]> {
        match self.kernel {
            Some(kernel) if offset < self.own.first_string() => kernel.own.string(offset),
            _ => self.own.string(offset),
        }
    }
}

#[cfg(test)]
mod tests;
