//! Zstandard: every part is one frame.

use smalti_types::{Error, ErrorKind, Result};
use zstd::zstd_safe::{CCtx, DCtx, compress_bound, get_error_name};

/// Room for what is compressed that is kept; chunks are longer only where single cells are.
const MAX_KEPT_BYTE_LEN: usize = 1 << 20;

/// Contexts that are kept: making one costs more than compressing a small chunk.
#[derive(Default)]
pub(crate) struct ZstdContexts {
    compress: Option<CCtx<'static>>,
    decompress: Option<DCtx<'static>>,
    /// Room for what is compressed, before it goes where it belongs: room there would have to be cleared first.
    compressed: Vec<u8>,
}

/// Levels below -7 stand for the default, 3, as in the reference; -1 is itself, a fast level.
fn effective(level: i32) -> i32 {
    if level < -7 { 3 } else { level.min(22) }
}

pub(crate) fn compress(
    level: i32,
    part: &[u8],
    out: &mut Vec<u8>,
    contexts: &mut ZstdContexts,
) -> Result<()> {
    let ZstdContexts { compress, compressed, .. } = contexts;
    let context = match compress {
        Some(context) => context,
        none => none.insert(CCtx::try_create().ok_or_else(out_of_memory)?),
    };
    compressed.try_reserve(compress_bound(part.len())).map_err(|_| out_of_memory())?;
    context.compress(compressed, part, effective(level)).map_err(|code| {
        Error::new(ErrorKind::OutOfMemory, format!("filter zstd: {}", get_error_name(code)))
    })?;
    out.extend_from_slice(compressed);
    compressed.clear();
    compressed.shrink_to(MAX_KEPT_BYTE_LEN);
    Ok(())
}

/// Decodes in one pass straight into `out`, which bounds it: no window is allocated.
pub(crate) fn decompress(compressed: &[u8], out: &mut [u8], contexts: &mut ZstdContexts) -> Result<()> {
    let context = match &mut contexts.decompress {
        Some(context) => context,
        none => none.insert(DCtx::try_create().ok_or_else(out_of_memory)?),
    };
    let wanted = out.len();
    let byte_len = context
        .decompress(out, compressed)
        .map_err(|code| Error::corrupt(format!("filter zstd: {}", get_error_name(code))))?;
    crate::compression::expect_len("zstd", byte_len, wanted)
}

fn out_of_memory() -> Error {
    Error::new(ErrorKind::OutOfMemory, "no memory for a zstd context")
}
