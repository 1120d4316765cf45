//! Generic tiles: structures on disk that say themselves how they were filtered.
//!
//! Specification: `generic_tile.md`. Schemas, sections of fragment metadata, array metadata, enumerations, group
//! details and delete conditions are stored this way.

use crate::codec_rules;
use smalti_codecs::{Codec, Encryption as Cipher, FieldKind, Scratch};
use smalti_format::{Encryption, GenericTileHeader, Version};
use smalti_types::{AlignedBuf, CellValNum, Error, ErrorKind, Result};

/// The largest generic tile that is read where nobody chose another limit, filtered and unfiltered: 1 GiB.
pub const DEFAULT_GENERIC_TILE_LIMIT: u64 = 1 << 30;

/// The most that filters can shrink a generic tile by: deflate reaches about 1:1032. A header that promises more lies.
pub(crate) const MAX_EXPANSION: u64 = 1100;

/// Unfilters the generic tile at the start of `bytes`, and says how many bytes it takes there. `limit` bounds the unfiltered bytes,
/// and so what a damaged or hostile header can make a reader allocate.
///
/// # Errors
/// `OutOfMemory` for a tile beyond the limit; `Corrupt`; `Permission` when the tile is encrypted and the key is absent or wrong, or when it is plain although a
/// key was given: an attacker without the key could have put it there.
pub fn read_generic_tile(
    bytes: &[u8],
    cipher: Option<&Cipher>,
    limit: u64,
    scratch: &mut Scratch,
) -> Result<(AlignedBuf, u64)> {
    let (header, filtered) = GenericTileHeader::split(bytes)?;
    let codec = codec_of(&header, cipher)?;
    if header.unfiltered_len > limit {
        return Err(
            beyond_limit(header.unfiltered_len, limit).in_field("generic tile header", "unfiltered_len")
        );
    }
    let byte_len = codec.decoded_len(filtered, header.unfiltered_len)?;
    if byte_len as u64 != header.unfiltered_len {
        return Err(Error::corrupt(format!(
            "the tile's chunks hold {byte_len} bytes, its header says {}",
            header.unfiltered_len
        ))
        .in_field("generic tile header", "unfiltered_len"));
    }
    let mut tile = AlignedBuf::zeroed(byte_len)?;
    codec.decode_into(filtered, tile.as_mut_slice(), scratch)?;
    Ok((tile, GenericTileHeader::header_len(bytes)? + header.filtered_len))
}

/// The codec of a generic tile, whose header was checked as far as it can be without the bytes behind it.
///
/// # Errors
/// `Corrupt` for a header that promises more than filters can keep; `Permission` as [`read_generic_tile`]; `Unsupported` for filters
/// that no such tile can have.
pub(crate) fn codec_of(header: &GenericTileHeader, cipher: Option<&Cipher>) -> Result<Codec> {
    let cipher = match (header.encryption, cipher) {
        (Encryption::None, None) => None,
        (Encryption::Aes256Gcm, Some(cipher)) => Some(cipher),
        (Encryption::Aes256Gcm, None) => {
            return Err(Error::new(ErrorKind::Permission, "this is encrypted; give the key to open it"));
        }
        (Encryption::None, Some(_)) => {
            return Err(Error::new(
                ErrorKind::Permission,
                "a key was given, but this is not encrypted; open the array without a key",
            ));
        }
    };
    if header.unfiltered_len > header.filtered_len.saturating_mul(MAX_EXPANSION) {
        return Err(Error::corrupt(format!(
            "{} filtered bytes cannot hold the {} unfiltered ones that are claimed",
            header.filtered_len, header.unfiltered_len
        ))
        .in_field("generic tile header", "unfiltered_len"));
    }
    let mut pipeline = header.filters.clone();
    pipeline.filters.retain(|filter| !matches!(filter, smalti_types::Filter::Aes256Gcm));
    let cell_val_num = u32::try_from(header.cell_len / header.datatype.byte_len() as u64)
        .ok()
        .and_then(CellValNum::from_raw)
        .ok_or_else(|| {
            Error::corrupt("no cell has this length").in_field("generic tile header", "cell_len")
        })?;
    let kind = FieldKind::data(header.datatype, cell_val_num);
    Codec::new(&pipeline, kind, codec_rules(header.version), cipher)
}

/// The error for a generic tile of so many bytes, filtered or not, where fewer are allowed.
pub fn beyond_limit(byte_len: u64, limit: u64) -> Error {
    Error::new(
        ErrorKind::OutOfMemory,
        format!(
            "a part of the metadata takes {byte_len} bytes, more than the limit of {limit}; if the array can be trusted, raise the \
             limit (--metadata-limit)"
        ),
    )
}

/// Filters `payload` into a generic tile as the reference does: 64 KiB chunks, gzip, then encryption. Appends to `out`
/// and returns the length appended.
///
/// # Errors
/// `Io` when there is no randomness for nonces.
pub fn write_generic_tile(
    payload: &[u8],
    version: Version,
    cipher: Option<&Cipher>,
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<u64> {
    let encryption = if cipher.is_some() { Encryption::Aes256Gcm } else { Encryption::None };
    let mut header = GenericTileHeader::new(version, payload.len() as u64, encryption);
    let mut pipeline = header.filters.clone();
    pipeline.filters.retain(|filter| !matches!(filter, smalti_types::Filter::Aes256Gcm));
    let codec = Codec::new(&pipeline, FieldKind::bytes(), codec_rules(version), cipher)?;
    let mut filtered = Vec::new();
    codec.encode(payload, &mut filtered, scratch)?;
    header.filtered_len = filtered.len() as u64;
    let start = out.len();
    out.extend_from_slice(&header.encode()?);
    out.extend_from_slice(&filtered);
    Ok((out.len() - start) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_comes_back_and_its_length_is_told() {
        let mut scratch = Scratch::new();
        let payload: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let mut file = Vec::new();
        let written = write_generic_tile(&payload, Version::DEFAULT, None, &mut file, &mut scratch).unwrap();
        assert_eq!(written, file.len() as u64);
        file.extend_from_slice(b"more");
        let (tile, byte_len) =
            read_generic_tile(&file, None, DEFAULT_GENERIC_TILE_LIMIT, &mut scratch).unwrap();
        assert_eq!(tile.as_slice(), payload);
        assert_eq!(byte_len, written);
    }

    #[test]
    fn a_claim_that_no_filter_could_keep_is_refused_before_allocation() {
        let mut scratch = Scratch::new();
        let mut file = Vec::new();
        write_generic_tile(&[7; 100], Version::DEFAULT, None, &mut file, &mut scratch).unwrap();
        file[12..20].copy_from_slice(&(1u64 << 40).to_le_bytes());
        assert_eq!(
            read_generic_tile(&file, None, DEFAULT_GENERIC_TILE_LIMIT, &mut scratch).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
    }

    #[test]
    fn every_truncation_is_an_error() {
        let mut scratch = Scratch::new();
        let mut file = Vec::new();
        write_generic_tile(b"some payload", Version::DEFAULT, None, &mut file, &mut scratch).unwrap();
        for len in 0..file.len() {
            assert!(
                read_generic_tile(&file[..len], None, DEFAULT_GENERIC_TILE_LIMIT, &mut scratch).is_err(),
                "{len} bytes"
            );
        }
    }
}
