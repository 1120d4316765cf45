//! Reads arrays out of `.npz` files as NumPy's `savez` writes them: a zip archive of stored `.npy` files.

use crate::query::Outcome;

/// The raw little-endian bytes of an array.
pub(crate) fn array(path: &str, name: &str) -> Outcome<Vec<u8>> {
    let file = std::fs::read(path)?;
    let wanted = format!("{name}.npy");
    let mut at = 0;
    while file.get(at..at + 4) == Some(b"PK\x03\x04") {
        let number = |start: usize, len: usize| -> usize {
            file[at + start..at + start + len]
                .iter()
                .rev()
                .fold(0, |number, &byte| number << 8 | usize::from(byte))
        };
        let (name_len, extra_len) = (number(26, 2), number(28, 2));
        let extra = at + 30 + name_len;
        let mut size = number(18, 4);
        if size == 0xffff_ffff {
            // zip64: the extra field holds the unpacked, then the packed size.
            let bytes: [u8; 8] = file[extra + 12..extra + 20].try_into()?;
            size = u64::from_le_bytes(bytes) as usize;
        }
        let data = extra + extra_len;
        if file[at + 30..at + 30 + name_len] == *wanted.as_bytes() {
            let npy = &file[data..data + size];
            let header_len = usize::from(u16::from_le_bytes([npy[8], npy[9]]));
            return Ok(npy[10 + header_len..].to_vec());
        }
        at = data + size;
    }
    Err(format!("{path} has no array {name}").into())
}
