//! Gzip by name, zlib by nature: every part is one zlib stream (RFC 1950) without a preset dictionary.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "the library counts bytes of the slices that it was given"
)]

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use smalti_types::{Error, Result};

/// Contexts that are kept between parts; the compressor for the level that was used last.
#[derive(Default)]
pub(crate) struct GzipContexts {
    compress: Option<(u32, Compress)>,
    decompress: Option<Decompress>,
}

/// Negative levels stand for zlib's default, 6.
fn effective(level: i32) -> u32 {
    u32::try_from(level).map_or(6, |level| level.min(9))
}

pub(crate) fn compress(
    level: i32,
    part: &[u8],
    out: &mut Vec<u8>,
    contexts: &mut GzipContexts,
) -> Result<()> {
    let level = effective(level);
    let context = match &mut contexts.compress {
        Some((kept, context)) if *kept == level => {
            context.reset();
            context
        }
        other => &mut other.insert((level, Compress::new(Compression::new(level), true))).1,
    };
    // Stored blocks, the worst case, cost 5 bytes in 16 KiB; the stream's frame costs 6.
    let mut room = part.len() + part.len() / 1024 + 64;
    let mut read = 0;
    loop {
        let start = out.len();
        out.resize(start + room, 0);
        let (read_before, written_before) = (context.total_in(), context.total_out());
        let status = context
            .compress(&part[read..], &mut out[start..], FlushCompress::Finish)
            .map_err(|error| Error::invalid(format!("filter gzip: {error}")))?;
        read += (context.total_in() - read_before) as usize;
        out.truncate(start + (context.total_out() - written_before) as usize);
        if status == Status::StreamEnd {
            return Ok(());
        }
        room = 1024;
    }
}

pub(crate) fn decompress(compressed: &[u8], out: &mut [u8], contexts: &mut GzipContexts) -> Result<()> {
    let context = match &mut contexts.decompress {
        Some(context) => {
            context.reset(true);
            context
        }
        none => none.insert(Decompress::new(true)),
    };
    // The stream's end has to be seen, which needs room for one byte even where nothing is left to write.
    let mut spare = [0; 1];
    let target = if out.is_empty() { &mut spare[..] } else { &mut out[..] };
    let status = context
        .decompress(compressed, target, FlushDecompress::Finish)
        .map_err(|error| Error::corrupt(format!("filter gzip: {error}")))?;
    if status != Status::StreamEnd {
        return Err(Error::corrupt(format!(
            "filter gzip: the stream of {} bytes does not end with byte {} of its content",
            compressed.len(),
            out.len()
        )));
    }
    crate::compression::expect_len("gzip", context.total_out() as usize, out.len())
}
