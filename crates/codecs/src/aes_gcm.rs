//! AES-256-GCM, the last filter of every pipeline of an encrypted array (specification: `tile.md`, encryption filters).
//!
//! Metadata: u32 number of metadata parts, u32 number of data parts, then for each part, metadata first, u32 plain
//! length, u32 encrypted length, 12 bytes of nonce and 16 bytes of tag. Data: the encrypted parts, metadata first. There
//! is no associated data, so an attacker who can write may swap whole parts within what one key encrypted; the format
//! cannot tell.
#![expect(
    clippy::indexing_slicing,
    reason = "what is cut off is behind the length from before the output grew"
)]

use crate::compression::{FrameLens, length, lens_of_records, part_counts};
use crate::context::MetadataReader;
use crate::parts::Parts;
use ::aes_gcm::aead::inout::InOutBuf;
use ::aes_gcm::aead::{AeadInOut, KeyInit};
use ::aes_gcm::{Aes256Gcm, Nonce, Tag};
use smalti_types::{EncryptionKey, Entropy, Error, ErrorKind, Result};
use std::sync::Arc;

/// The key of an array and the source of nonces. Nonces are 96 random bits for every part, as the format asks.
#[derive(Clone)]
pub struct Encryption {
    /// The array's key.
    pub key: EncryptionKey,
    /// Where nonces come from; it must never repeat itself under one key.
    pub entropy: Arc<dyn Entropy>,
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encryption").finish_non_exhaustive()
    }
}

/// The filter.
pub(crate) struct AesGcm {
    cipher: Box<Aes256Gcm>,
    entropy: Arc<dyn Entropy>,
}

const NONCE_BYTE_LEN: usize = 12;
const TAG_BYTE_LEN: usize = 16;
const RECORD_BYTE_LEN: usize = 8 + NONCE_BYTE_LEN + TAG_BYTE_LEN;

impl AesGcm {
    pub(crate) fn new(encryption: &Encryption) -> Self {
        let cipher = Box::new(Aes256Gcm::new(encryption.key.expose().into()));
        AesGcm { cipher, entropy: Arc::clone(&encryption.entropy) }
    }

    pub(crate) fn encode(&self, input: &Parts, output: &mut Parts) -> Result<()> {
        let Parts { metadata, data } = output;
        metadata.push_with(|records| {
            records.extend(length(input.metadata.len())?.to_le_bytes());
            records.extend(length(input.data.len())?.to_le_bytes());
            data.push_with(|out| {
                for part in input.metadata.iter().chain(input.data.iter()) {
                    let mut nonce = [0; NONCE_BYTE_LEN];
                    self.entropy.fill(&mut nonce)?;
                    let start = out.len();
                    out.extend_from_slice(part);
                    let buffer = InOutBuf::from(&mut out[start..]);
                    let tag = self
                        .cipher
                        .encrypt_inout_detached(&Nonce::from(nonce), &[], buffer)
                        .map_err(|_| Error::invalid("filter aes_256_gcm: a part is too long to encrypt"))?;
                    records.extend(length(part.len())?.to_le_bytes());
                    records.extend(length(part.len())?.to_le_bytes());
                    records.extend(nonce);
                    records.extend_from_slice(&tag);
                }
                Ok(())
            })
        })
    }

    pub(crate) fn decode(
        &self,
        mut metadata: MetadataReader<'_>,
        data: &[u8],
        metadata_out: &mut [u8],
        data_out: &mut [u8],
    ) -> Result<()> {
        let (metadata_parts, data_parts) = part_counts(&mut metadata, RECORD_BYTE_LEN)?;
        let mut rest = data;
        for (count, mut out) in [(metadata_parts, metadata_out), (data_parts, data_out)] {
            for _ in 0..count {
                let plain = metadata.len32("plain_length")?;
                let encrypted = metadata.len32("encrypted_length")?;
                let nonce: [u8; NONCE_BYTE_LEN] = metadata.value("nonce")?;
                let tag: [u8; TAG_BYTE_LEN] = metadata.value("tag")?;
                let (part, behind) = rest.split_at_checked(encrypted).ok_or_else(|| {
                    metadata.corrupt("encrypted_length", format!("{encrypted} bytes of {}", rest.len()))
                })?;
                let (target, room) = out
                    .split_at_mut_checked(plain)
                    .ok_or_else(|| metadata.corrupt("plain_length", format!("{plain} bytes are too many")))?;
                let buffer = InOutBuf::new(part, target).map_err(|_| {
                    metadata.corrupt("encrypted_length", format!("{encrypted} bytes encrypt {plain}"))
                })?;
                self.cipher
                    .decrypt_inout_detached(&Nonce::from(nonce), &[], buffer, &Tag::from(tag))
                    .map_err(|_| refused())?;
                (rest, out) = (behind, room);
            }
        }
        Ok(())
    }
}

/// The lengths of an encrypted chunk's content, from its metadata.
pub(crate) fn frame_lens(metadata: MetadataReader<'_>) -> Result<FrameLens> {
    lens_of_records(metadata, RECORD_BYTE_LEN)
}

fn refused() -> Error {
    Error::new(
        ErrorKind::Permission,
        "the data does not decrypt: the encryption key is wrong, or the data was tampered with",
    )
}
