//! The encryption key of an array.

use crate::{Error, Result};
use std::fmt;
use zeroize::Zeroizing;

/// A 256-bit key for AES-GCM. Zeroed when dropped, absent from `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey(Zeroizing<[u8; 32]>);

impl EncryptionKey {
    /// The key's length in bytes.
    pub const BYTE_LEN: usize = 32;

    /// Takes a key of exactly 32 bytes.
    ///
    /// # Errors
    /// `InvalidArgument` for any other length; the message names the length only.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let key: [u8; 32] = bytes.try_into().map_err(|_| {
            Error::invalid(format!("an encryption key has 32 bytes, this one has {}", bytes.len()))
        })?;
        Ok(EncryptionKey(Zeroizing::new(key)))
    }

    /// The secret bytes.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(..)")
    }
}
