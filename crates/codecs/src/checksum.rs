//! MD5 and SHA-256 digests of every part; data and earlier metadata pass unchanged (specification: `tile.md`, checksum
//! filters).
//!
//! Metadata: u32 number of metadata parts, u32 number of data parts, then for each part, metadata first, u64 length and
//! digest; behind them the metadata of the filters before.

use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use md5::{Digest, Md5};
use sha2::Sha256;
use smalti_types::Result;

/// Which digest.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Algorithm {
    Md5,
    Sha256,
}

impl Algorithm {
    fn digest_byte_len(self) -> usize {
        match self {
            Algorithm::Md5 => 16,
            Algorithm::Sha256 => 32,
        }
    }

    fn extend_with_digest(self, part: &[u8], out: &mut Vec<u8>) {
        match self {
            Algorithm::Md5 => out.extend_from_slice(&Md5::digest(part)),
            Algorithm::Sha256 => out.extend_from_slice(&Sha256::digest(part)),
        }
    }

    fn matches(self, part: &[u8], digest: &[u8]) -> bool {
        match self {
            Algorithm::Md5 => Md5::digest(part)[..] == *digest,
            Algorithm::Sha256 => Sha256::digest(part)[..] == *digest,
        }
    }
}

/// The filter of a digest.
pub(crate) struct Checksum {
    pub(crate) algorithm: Algorithm,
    /// Whether decoding compares digests with the data, and does not just pass over them.
    pub(crate) compares: bool,
}

impl ChunkFilter for Checksum {
    fn encode(&self, input: &Parts, output: &mut Parts, _: &ChunkContext) -> Result<()> {
        output.metadata.push_with(|own| {
            own.extend(crate::compression::length(input.metadata.len())?.to_le_bytes());
            own.extend(crate::compression::length(input.data.len())?.to_le_bytes());
            for part in input.metadata.iter().chain(input.data.iter()) {
                own.extend((part.len() as u64).to_le_bytes());
                self.algorithm.extend_with_digest(part, own);
            }
            Ok::<_, smalti_types::Error>(())
        })?;
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        input.data.iter().for_each(|part| output.data.push(part));
        Ok(())
    }

    fn decoded_len(&self, _: MetadataReader<'_>, data: &[u8], _: &ChunkContext) -> Result<usize> {
        Ok(data.len())
    }

    fn decode(
        &self,
        metadata: &mut MetadataReader<'_>,
        data: &[u8],
        out: &mut [u8],
        _: &ChunkContext,
    ) -> Result<()> {
        let record_byte_len = 8 + self.algorithm.digest_byte_len();
        let (metadata_parts, data_parts) = crate::compression::part_counts(metadata, record_byte_len)?;
        let mut records = metadata.clone();
        metadata.bytes((metadata_parts + data_parts) * record_byte_len, "checksums")?;
        let parts = [(metadata_parts, metadata.rest()), (data_parts, data)];
        for (count, mut rest) in parts.into_iter().filter(|_| self.compares) {
            for _ in 0..count {
                let byte_len = usize::try_from(records.u64("checksum_input_length")?).unwrap_or(usize::MAX);
                let digest = records.bytes(self.algorithm.digest_byte_len(), "checksum")?;
                let (part, behind) = rest.split_at_checked(byte_len).ok_or_else(|| {
                    records.corrupt("checksum_input_length", format!("{byte_len} bytes of {}", rest.len()))
                })?;
                if !self.algorithm.matches(part, digest) {
                    return Err(records.corrupt("checksum", "the digest of the data is not the stored one"));
                }
                rest = behind;
            }
        }
        out.copy_from_slice(data);
        Ok(())
    }
}
