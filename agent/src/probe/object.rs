//! The BPF object that was built into this binary, if one was.

/// Bytes with the alignment that an ELF file's headers want.
#[repr(C, align(8))]
struct Aligned<B: ?Sized>(B);

#[cfg(pathwarden_probes)]
static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(env!("PATHWARDEN_BPF_OBJECT")));

#[cfg(not(pathwarden_probes))]
static OBJECT: &Aligned<[u8]> = &Aligned([]);

/// The object; none when this binary was built without it.
#[must_use]
pub fn embedded() -> Option<&'static [u8]> {
    Some(&OBJECT.0).filter(|object| !object.is_empty())
}
