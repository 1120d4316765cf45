//! The counterpart of the reader: bytes in memory.

/// Bytes being put together.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// No bytes yet.
    pub fn new() -> Self {
        Writer::default()
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The number of bytes so far.
    pub fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
