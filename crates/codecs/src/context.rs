//! What a filter is told about a chunk, and the three shapes that filters have.
//!
//! A pipeline is a chain of stages. Writing runs them first to last over [`Parts`]; reading runs them last to first
//! over plain slices, because no filter needs the division into parts to undo its work.

use crate::parts::Parts;
use smalti_types::{Datatype, Error, Result};

/// What a stage is told about the chunk it works on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkContext {
    /// The datatype of the data as this stage sees it when writing, that is, after the stages before it.
    pub(crate) datatype: Datatype,
    /// Bytes of one cell of the field (of one value where the field is var-sized). RLE runs over cells.
    pub(crate) cell_byte_len: usize,
}

/// A filter that sees a chunk as a whole. The chain leaves out stages that have no effect on their datatype, so a
/// filter meets only datatypes that it acts on; for others it answers `Unsupported`.
pub(crate) trait ChunkFilter {
    /// Filters a chunk on its way to disk. `output` comes empty. A filter that does not treat the metadata of the
    /// stages before it pushes its own metadata part first and theirs after it.
    ///
    /// # Errors
    /// `InvalidArgument` when the values cannot be represented.
    fn encode(&self, input: &Parts, output: &mut Parts, context: &ChunkContext) -> Result<()>;

    /// The number of bytes that [`decode`](Self::decode) makes of `data`, from this stage's own metadata.
    ///
    /// # Errors
    /// `Corrupt` when metadata and data contradict each other. No error here does not mean that `decode` succeeds.
    fn decoded_len(&self, metadata: MetadataReader<'_>, data: &[u8], context: &ChunkContext)
    -> Result<usize>;

    /// Undoes [`encode`](Self::encode). Takes this stage's own metadata from `metadata` and leaves the reader where
    /// that of the stage before begins. `out` has exactly [`decoded_len`](Self::decoded_len) bytes and arbitrary content.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are not what `encode` could have made.
    fn decode(
        &self,
        metadata: &mut MetadataReader<'_>,
        data: &[u8],
        out: &mut [u8],
        context: &ChunkContext,
    ) -> Result<()>;
}

/// A compressor: treats every part of metadata and data on its own; the framing around the parts is that of
/// `compression.rs` (gzip, zstd, lz4, bzip2, rle on fixed cells, delta, double delta).
pub(crate) trait PartCodec {
    /// Appends the compressed form of one part to `out`.
    ///
    /// # Errors
    /// `InvalidArgument` when the values cannot be represented.
    fn compress(&self, part: &[u8], out: &mut Vec<u8>, context: &ChunkContext) -> Result<()>;

    /// Fills `out`, whose length is the part's original length, from the compressed form.
    ///
    /// # Errors
    /// `Corrupt` when `compressed` does not decode to exactly `out.len()` bytes.
    fn decompress(&self, compressed: &[u8], out: &mut [u8], context: &ChunkContext) -> Result<()>;
}

/// A compressor of the strings of a var-sized tile together with their offsets (rle, dictionary). The framing
/// (five u32 and the order of the fields) is part of it: see `CompressedPartMD` for strings in the reference.
pub(crate) trait StringCodec {
    /// Encodes strings `data[offsets[i]..offsets[i + 1]]` (the last one ends with the data). `offsets` are checked by
    /// the caller: they start at 0, do not fall and stay within the data. Pushes one metadata part and one data part.
    ///
    /// # Errors
    /// `InvalidArgument` when a length does not fit the format.
    fn encode_strings(&self, data: &[u8], offsets: &[u64], output: &mut Parts) -> Result<()>;

    /// The byte length of the strings and the number of offsets, from this stage's own metadata.
    ///
    /// # Errors
    /// `Corrupt` when metadata and data contradict each other.
    fn decoded_string_lens(&self, metadata: MetadataReader<'_>, data: &[u8]) -> Result<(usize, usize)>;

    /// Undoes [`encode_strings`](Self::encode_strings); both outputs have exactly the lengths of
    /// [`decoded_string_lens`](Self::decoded_string_lens). Offsets are byte offsets, starting with 0.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are not what `encode_strings` could have made.
    fn decode_strings(
        &self,
        metadata: &mut MetadataReader<'_>,
        data: &[u8],
        data_out: &mut [u8],
        offsets_out: &mut [u64],
    ) -> Result<()>;
}

/// Reads little-endian numbers and byte strings from the metadata of a chunk; every error names filter and field.
/// Cheap to clone, so that a length can be computed before the bytes are taken.
#[derive(Debug, Clone)]
pub(crate) struct MetadataReader<'a> {
    filter: &'static str,
    rest: &'a [u8],
}

impl<'a> MetadataReader<'a> {
    /// A reader for the filter of that name.
    pub(crate) fn new(filter: &'static str, metadata: &'a [u8]) -> Self {
        MetadataReader { filter, rest: metadata }
    }

    /// The bytes that were not taken yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `byte_len` bytes.
    pub(crate) fn bytes(&mut self, byte_len: usize, field: &'static str) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(byte_len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.ended(byte_len, field)),
        }
    }

    #[cold]
    fn ended(&self, wanted: usize, field: &'static str) -> Error {
        self.corrupt(field, format!("{wanted} bytes are wanted and {} are left", self.rest.len()))
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N, field)?);
        Ok(array)
    }

    /// The next byte.
    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8> {
        self.array(field).map(u8::from_le_bytes)
    }

    /// The next u32.
    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// The next u32, as a size in memory.
    pub(crate) fn len32(&mut self, field: &'static str) -> Result<usize> {
        self.u32(field).map(|len| len as usize)
    }

    /// The next u64.
    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// The next value of a machine type.
    pub(crate) fn value<T: bytemuck::AnyBitPattern>(&mut self, field: &'static str) -> Result<T> {
        self.bytes(size_of::<T>(), field).map(bytemuck::pod_read_unaligned)
    }

    /// A u32 count of records of at least `record_byte_len` bytes that follow in the metadata, checked against what is
    /// left, so that memory may be reserved for it.
    pub(crate) fn count(&mut self, record_byte_len: usize, field: &'static str) -> Result<usize> {
        let count = self.len32(field)?;
        match count.checked_mul(record_byte_len) {
            Some(byte_len) if byte_len <= self.rest.len() => Ok(count),
            _ => Err(self.corrupt(
                field,
                format!("{count} records of {record_byte_len} bytes and {} bytes are left", self.rest.len()),
            )),
        }
    }

    /// An error about a field of this filter's metadata or data.
    pub(crate) fn corrupt(&self, field: &'static str, message: impl std::fmt::Display) -> Error {
        Error::corrupt(format!("filter {}: {message}", self.filter)).in_field("chunk", field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_beyond_the_metadata_is_corrupt() {
        let mut reader = MetadataReader::new("byteshuffle", &[2, 0, 0, 0, 9, 9, 9, 9]);
        assert!(reader.clone().count(4, "part_count").is_err());
        assert_eq!(reader.count(2, "part_count").unwrap(), 2);
        assert!(reader.u64("x").unwrap_err().to_string().contains("byteshuffle"));
    }
}
