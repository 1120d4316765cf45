//! LZ4: every part is one block without a frame or a length.

use lz4_flex::block::{self, CompressTable};
use smalti_types::{Error, Result};

/// The compressor's hash table, kept between parts.
#[derive(Default)]
pub(crate) struct Lz4Context {
    table: Option<CompressTable>,
}

pub(crate) fn compress(part: &[u8], out: &mut Vec<u8>, context: &mut Lz4Context) -> Result<()> {
    let table = context.table.get_or_insert_with(CompressTable::large);
    let start = out.len();
    out.resize(start + block::get_maximum_output_size(part.len()), 0);
    let byte_len = block::compress_into_with_table(part, &mut out[start..], table)
        .map_err(|error| Error::invalid(format!("filter lz4: {error}")))?;
    out.truncate(start + byte_len);
    Ok(())
}

pub(crate) fn decompress(compressed: &[u8], out: &mut [u8]) -> Result<()> {
    let byte_len = block::decompress_into(compressed, out)
        .map_err(|error| Error::corrupt(format!("filter lz4: {error}")))?;
    crate::compression::expect_len("lz4", byte_len, out.len())
}
