//! Data files: the chunks of their tiles.

use super::{InspectedPart, entry};
use smalti_format::Reader;
use smalti_types::{Error, Result};

/// Chunks that are listed of one file; the rest are counted.
const MAX_LISTED_CHUNKS: u64 = 1000;

/// Every tile of a data file with its chunks. Tiles follow each other, and chunk headers alone say where they end.
pub(super) fn parts(file: &[u8]) -> Result<Vec<InspectedPart>> {
    let mut reader = Reader::new(file);
    let mut parts = Vec::new();
    let mut listed = 0;
    while reader.remaining() > 0 {
        let start = reader.byte_offset();
        let tile = parts.len();
        let named = |error: Error| {
            error.in_field("tile", "chunks").at_offset(start).context(format_args!("tile {tile}"))
        };
        let chunk_count = reader.u64().map_err(named)?;
        let mut fields = vec![entry("tile", "chunk_count", start, 8, chunk_count.to_string())];
        for chunk in 0..chunk_count {
            let at = reader.byte_offset();
            let original = reader.u32().map_err(named)?;
            let filtered = reader.u32().map_err(named)?;
            let metadata = reader.u32().map_err(named)?;
            reader.take(u64::from(metadata)).map_err(named)?;
            reader.take(u64::from(filtered)).map_err(named)?;
            listed += 1;
            if listed <= MAX_LISTED_CHUNKS {
                let value =
                    format!("chunk {chunk}: {original} bytes as {filtered}, with {metadata} of metadata");
                fields.push(entry("tile", "chunk", at, reader.byte_offset() - at, value));
            }
        }
        parts.push(InspectedPart {
            title: format!("tile {tile}"),
            file_range: start..reader.byte_offset(),
            in_unfiltered_tile: false,
            fields,
        });
    }
    Ok(parts)
}
