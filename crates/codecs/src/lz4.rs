//! LZ4: every part is one block without a frame or a length.
#![expect(
    clippy::indexing_slicing,
    reason = "what is cut off is behind the length from before the output grew"
)]

use lz4::block;
use smalti_types::{Error, Result};

pub(crate) fn compress(part: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let failed = |error: std::io::Error| Error::invalid(format!("filter lz4: {error}"));
    let start = out.len();
    out.resize(start + block::compress_bound(part.len()).map_err(failed)?, 0);
    let written = block::compress_to_buffer(part, None, false, &mut out[start..]).map_err(failed);
    out.truncate(start + written.as_ref().map_or(0, |byte_len| *byte_len));
    written.map(|_| ())
}

pub(crate) fn decompress(compressed: &[u8], out: &mut [u8]) -> Result<()> {
    let corrupt = |reason: String| Error::corrupt(format!("filter lz4: {reason}"));
    let (Ok(wanted), Ok(_)) = (i32::try_from(out.len()), i32::try_from(compressed.len())) else {
        return Err(corrupt(format!("{} bytes from {} in one block", out.len(), compressed.len())));
    };
    let byte_len = block::decompress_to_buffer(compressed, Some(wanted), out)
        .map_err(|_| corrupt(format!("{} bytes are no block of {wanted} bytes", compressed.len())))?;
    crate::compression::expect_len("lz4", byte_len, out.len())
}
