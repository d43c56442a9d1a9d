//! Little-endian fields by offset.

/// Two bytes at an offset; zero where the slice ends before.
pub(crate) fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(field(bytes, at))
}

/// Four bytes at an offset; zero where the slice ends before.
pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(field(bytes, at))
}

/// Eight bytes at an offset; zero where the slice ends before.
pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}

/// `N` bytes at an offset; zeros where the slice ends before.
pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    if let Some(found) = bytes.get(at..at + N) {
        field.copy_from_slice(found);
    }
    field
}

/// Writes a field at its offset. The page has room for it: offsets are the specification's, pages its sizes.
pub(crate) fn put(page: &mut [u8], at: usize, field: &[u8]) {
    page[at..at + field.len()].copy_from_slice(field);
}

/// Writes text into a field of fixed width: cut to it, padded with `pad`.
pub(crate) fn put_text(page: &mut [u8], at: usize, width: usize, text: &str, pad: u8) {
    let field = &mut page[at..at + width];
    field.fill(pad);
    let length = text.len().min(width);
    field[..length].copy_from_slice(&text.as_bytes()[..length]);
}

/// Text of a field that is padded with NUL bytes.
pub(crate) fn text(bytes: &[u8], at: usize, width: usize) -> String {
    let field = bytes.get(at..at + width).unwrap_or_default();
    let end = field
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// A length on the wire, where four bytes carry it; whatever is longer than that was refused before.
pub(crate) fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
