//! Gzip by name, zlib by nature: every part is one zlib stream (RFC 1950) without a preset dictionary.
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};
use smalti_types::{Error, Result};

/// Contexts that are kept between parts; the compressor for the level that was used last.
#[derive(Default)]
pub(crate) struct GzipContexts {
    compress: Option<(i32, Compressor)>,
    decompress: Option<Decompressor>,
}

/// Negative levels stand for zlib's default, 6.
fn effective(level: i32) -> i32 {
    if level < 0 { 6 } else { level.min(9) }
}

pub(crate) fn compress(
    level: i32,
    part: &[u8],
    out: &mut Vec<u8>,
    contexts: &mut GzipContexts,
) -> Result<()> {
    let failed =
        || Error::invalid(format!("filter gzip: level {level} is of no use for {} bytes", part.len()));
    let level = effective(level);
    let context = match &mut contexts.compress {
        Some((kept, context)) if *kept == level => context,
        other => {
            let known = CompressionLvl::new(level).map_err(|_| failed())?;
            &mut other.insert((level, Compressor::new(known))).1
        }
    };
    let start = out.len();
    out.resize(start + context.zlib_compress_bound(part.len()), 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let byte_len = context.zlib_compress(part, room).map_err(|_| failed())?;
    out.truncate(start + byte_len);
    Ok(())
}

pub(crate) fn decompress(compressed: &[u8], out: &mut [u8], contexts: &mut GzipContexts) -> Result<()> {
    let context = contexts.decompress.get_or_insert_with(Decompressor::new);
    let byte_len = context.zlib_decompress(compressed, out).map_err(|error| {
        let (compressed_len, byte_len) = (compressed.len(), out.len());
        Error::corrupt(match error {
            DecompressionError::BadData => {
                format!("filter gzip: the {compressed_len} bytes are no zlib stream, or a damaged one")
            }
            DecompressionError::InsufficientSpace => format!(
                "filter gzip: the stream of {compressed_len} bytes does not end with byte {byte_len} of its content"
            ),
        })
    })?;
    crate::compression::expect_len("gzip", byte_len, out.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(level: i32, part: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        compress(level, part, &mut out, &mut GzipContexts::default()).unwrap();
        out.split_off(6)
    }

    #[test]
    fn parts_of_any_length_come_back_at_every_level() {
        let text: Vec<u8> = (0..70_000_u32).map(|at| (at.wrapping_mul(at) >> 9) as u8).collect();
        let mut contexts = GzipContexts::default();
        for level in -1..=12 {
            for byte_len in [0, 1, 20, 1000, text.len()] {
                let stream = compressed(level, &text[..byte_len]);
                // The header of RFC 1950: deflate, and a multiple of 31.
                assert_eq!(stream[0] & 15, 8);
                assert_eq!(u16::from_be_bytes([stream[0], stream[1]]) % 31, 0);
                let mut back = vec![0; byte_len];
                decompress(&stream, &mut back, &mut contexts).unwrap();
                assert_eq!(back, text[..byte_len], "level {level}");
            }
        }
    }

    #[test]
    fn streams_that_are_damaged_or_of_another_length_are_refused() {
        let part: Vec<u8> = (0..5000_u32).map(|at| (at % 251) as u8).collect();
        let stream = compressed(6, &part);
        let mut contexts = GzipContexts::default();
        let mut refused = |stream: &[u8], byte_len: usize| {
            let outcome = decompress(stream, &mut vec![0; byte_len], &mut contexts);
            outcome.err().map(|error| error.message().to_owned())
        };
        assert_eq!(refused(&stream, part.len()), None);
        let does_not_end = format!(
            "filter gzip: the stream of {} bytes does not end with byte 4999 of its content",
            stream.len()
        );
        assert_eq!(refused(&stream, 4999), Some(does_not_end));
        assert!(refused(&stream, 5001).is_some());
        assert!(refused(&stream, 0).is_some());
        for cut in 0..stream.len() {
            assert!(refused(&stream[..cut], part.len()).is_some(), "{cut}");
        }
        for at in 0..stream.len() {
            let mut other = stream.clone();
            other[at] ^= 0x10;
            // Bits that fill up a byte mean nothing.
            let mut back = vec![0; part.len()];
            if decompress(&other, &mut back, &mut GzipContexts::default()).is_ok() {
                assert_eq!(back, part, "{at}");
            }
        }
    }
}
