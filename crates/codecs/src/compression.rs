//! The frame that all compressors share: they compress every part of metadata and of data on its own
//! (specification: `tile.md`, compression filters).
//!
//! Metadata: u32 number of metadata parts, u32 number of data parts, then for each part, metadata first, u32 original
//! length and u32 compressed length. Data: the compressed parts, metadata first.

use crate::context::{ChunkContext, MetadataReader, PartCodec};
use crate::parts::Parts;
use crate::scratch::Contexts;
use crate::{bzip2, gzip, lz4, zstd};
use smalti_types::{Error, Result};

/// What compresses a part.
pub(crate) enum Compressor {
    Gzip {
        level: i32,
    },
    Zstd {
        level: i32,
    },
    Lz4,
    Bzip2 {
        level: i32,
    },
    /// Rle, delta and double delta.
    Part(Box<dyn PartCodec + Send + Sync>),
}

/// The lengths of what a compressed chunk, or an encrypted one, holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameLens {
    pub(crate) metadata_byte_len: usize,
    pub(crate) data_byte_len: usize,
}

const RECORD_BYTE_LEN: usize = 8;

impl Compressor {
    pub(crate) fn encode(
        &self,
        input: &Parts,
        output: &mut Parts,
        context: &ChunkContext,
        contexts: &mut Contexts,
    ) -> Result<()> {
        let Parts { metadata, data } = output;
        metadata.push_with(|records| {
            records.extend(length(input.metadata.len())?.to_le_bytes());
            records.extend(length(input.data.len())?.to_le_bytes());
            data.push_with(|out| {
                for part in input.metadata.iter().chain(input.data.iter()) {
                    let start = out.len();
                    self.compress(part, out, context, contexts)?;
                    records.extend(length(part.len())?.to_le_bytes());
                    records.extend(length(out.len() - start)?.to_le_bytes());
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
        context: &ChunkContext,
        contexts: &mut Contexts,
    ) -> Result<()> {
        let (metadata_parts, data_parts) = part_counts(&mut metadata, RECORD_BYTE_LEN)?;
        let mut rest = data;
        for (count, mut out) in [(metadata_parts, metadata_out), (data_parts, data_out)] {
            for _ in 0..count {
                let original = metadata.len32("original_length")?;
                let compressed = metadata.len32("compressed_length")?;
                let (part, behind) = rest.split_at_checked(compressed).ok_or_else(|| {
                    metadata.corrupt("compressed_length", format!("{compressed} bytes of {}", rest.len()))
                })?;
                let (target, room) = out.split_at_mut_checked(original).ok_or_else(|| {
                    metadata.corrupt("original_length", format!("{original} bytes are too many"))
                })?;
                self.decompress(part, target, context, contexts)?;
                (rest, out) = (behind, room);
            }
        }
        Ok(())
    }

    fn compress(
        &self,
        part: &[u8],
        out: &mut Vec<u8>,
        context: &ChunkContext,
        contexts: &mut Contexts,
    ) -> Result<()> {
        match self {
            Compressor::Gzip { level } => gzip::compress(*level, part, out, &mut contexts.gzip),
            Compressor::Zstd { level } => zstd::compress(*level, part, out, &mut contexts.zstd),
            Compressor::Lz4 => lz4::compress(part, out),
            Compressor::Bzip2 { level } => bzip2::compress(*level, part, out),
            Compressor::Part(codec) => codec.compress(part, out, context),
        }
    }

    fn decompress(
        &self,
        compressed: &[u8],
        out: &mut [u8],
        context: &ChunkContext,
        contexts: &mut Contexts,
    ) -> Result<()> {
        match self {
            Compressor::Gzip { .. } => gzip::decompress(compressed, out, &mut contexts.gzip),
            Compressor::Zstd { .. } => zstd::decompress(compressed, out, &mut contexts.zstd),
            Compressor::Lz4 => lz4::decompress(compressed, out),
            Compressor::Bzip2 { .. } => bzip2::decompress(compressed, out),
            Compressor::Part(codec) => codec.decompress(compressed, out, context),
        }
    }
}

/// The lengths of a compressed chunk's content, from its metadata.
pub(crate) fn frame_lens(metadata: MetadataReader<'_>) -> Result<FrameLens> {
    lens_of_records(metadata, RECORD_BYTE_LEN)
}

/// Sums up the original lengths at the start of records of a fixed length.
pub(crate) fn lens_of_records(mut metadata: MetadataReader<'_>, record_byte_len: usize) -> Result<FrameLens> {
    let (metadata_parts, data_parts) = part_counts(&mut metadata, record_byte_len)?;
    let mut sum = |count: usize| {
        let mut byte_len = 0usize;
        for _ in 0..count {
            byte_len = byte_len.saturating_add(metadata.len32("original_length")?);
            metadata.bytes(record_byte_len - 4, "part")?;
        }
        Ok::<_, Error>(byte_len)
    };
    Ok(FrameLens { metadata_byte_len: sum(metadata_parts)?, data_byte_len: sum(data_parts)? })
}

/// Reads the two part counts in front of the records and checks that the records are there.
pub(crate) fn part_counts(
    metadata: &mut MetadataReader<'_>,
    record_byte_len: usize,
) -> Result<(usize, usize)> {
    let metadata_parts = metadata.len32("metadata_part_count")?;
    let data_parts = metadata.len32("data_part_count")?;
    let wanted = metadata_parts.saturating_add(data_parts).saturating_mul(record_byte_len);
    if wanted > metadata.rest().len() {
        return Err(metadata.corrupt(
            "data_part_count",
            format!("{metadata_parts} and {data_parts} parts do not fit in {} bytes", metadata.rest().len()),
        ));
    }
    Ok((metadata_parts, data_parts))
}

/// A length or count as the format stores it.
///
/// # Errors
/// `InvalidArgument` beyond 4 GiB.
pub(crate) fn length(byte_len: usize) -> Result<u32> {
    u32::try_from(byte_len).map_err(|_| {
        Error::invalid(format!("{byte_len} bytes in one chunk; the format holds less than 4 GiB"))
    })
}

/// Checks that a decompressor filled its output.
pub(crate) fn expect_len(filter: &'static str, byte_len: usize, wanted: usize) -> Result<()> {
    if byte_len == wanted {
        return Ok(());
    }
    Err(Error::corrupt(format!("filter {filter}: a part of {wanted} bytes decodes to {byte_len}")))
}
