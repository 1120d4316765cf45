//! Entry points for fuzzers: bytes in, nothing out, and nothing must panic or allocate beyond the limits.

use crate::{Codec, CodecRules, Encryption, FieldKind, PlainLayout, Scratch};
use smalti_types::{
    CellValNum, Datatype, EncryptionKey, Entropy, Filter, FilterPipeline, FloatScale, Result, ScaleWidth,
    WebpFormat,
};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The largest tile that the entry points decode, in bytes.
pub const MAX_TILE_BYTE_LEN: usize = 1 << 16;

/// A pipeline, a field and rules out of the first bytes of an input, and the bytes behind them.
///
/// Layout: number of filters modulo 5, one byte and one option byte each, datatype, values in a cell (0: var-sized), flags.
pub fn configuration(input: &[u8]) -> (FilterPipeline, FieldKind, CodecRules, bool, &[u8]) {
    let mut rest = input;
    let mut byte = || match rest.split_first() {
        Some((&first, behind)) => {
            rest = behind;
            first
        }
        None => 0,
    };
    let count = byte() % 5;
    let filters = (0..count).map(|_| filter(byte(), byte())).collect();
    let datatype = Datatype::ALL[usize::from(byte()) % Datatype::ALL.len()];
    let cell_val_num = NonZeroU32::new(u32::from(byte() % 4)).map_or(CellValNum::Var, CellValNum::Fixed);
    let flags = byte();
    let rules = if flags & 1 == 0 { CodecRules::NEWEST } else { CodecRules::OLDEST };
    let max_chunk_size = [0, 64, 1000, 65536][usize::from(flags >> 1 & 3)];
    let encrypted = flags & 8 != 0;
    (
        FilterPipeline { max_chunk_size, filters },
        FieldKind::data(datatype, cell_val_num),
        rules,
        encrypted,
        rest,
    )
}

fn filter(kind: u8, option: u8) -> Filter {
    let level = i32::from(option % 12) - 2;
    let max_window = u32::from(option) * 4;
    let reinterpret = Datatype::from_tag(option);
    match kind % 19 {
        0 => Filter::None,
        1 => Filter::Gzip { level },
        2 => Filter::Zstd { level },
        3 => Filter::Lz4 { level },
        4 => Filter::Rle { level },
        5 => Filter::Bzip2 { level },
        6 => Filter::DoubleDelta { level, reinterpret },
        7 => Filter::BitWidthReduction { max_window },
        8 => Filter::Bitshuffle,
        9 => Filter::Byteshuffle,
        10 => Filter::PositiveDelta { max_window },
        11 => Filter::Webp {
            quality: f32::from(option % 101),
            format: WebpFormat::from_tag(option % 5).unwrap_or(WebpFormat::None),
            lossless: option & 1 == 0,
            y_extent: u16::from(option % 7),
            x_extent: u16::from(option % 9) * 12,
        },
        12 => Filter::Md5,
        13 => Filter::Sha256,
        14 => Filter::Dictionary { level },
        15 => Filter::ScaleFloat(FloatScale {
            factor: f64::from(option) / 16.0,
            offset: f64::from(option % 3),
            width: [ScaleWidth::One, ScaleWidth::Two, ScaleWidth::Four, ScaleWidth::Eight]
                [usize::from(option % 4)],
        }),
        16 => Filter::Xor,
        17 => Filter::Deprecated,
        _ => Filter::Delta { level, reinterpret },
    }
}

/// A key and a source of nonces that are the same every time.
pub fn fixed_encryption() -> Encryption {
    struct Counter;
    impl Entropy for Counter {
        fn fill(&self, bytes: &mut [u8]) -> Result<()> {
            bytes.fill(7);
            Ok(())
        }
    }
    let Ok(key) = EncryptionKey::new(&[9; 32]) else { unreachable!("32 bytes are a key") };
    Encryption { key, entropy: Arc::new(Counter) }
}

/// The codec of a configuration, if there can be one.
pub fn codec(input: &[u8]) -> Option<(Codec, &[u8])> {
    let (pipeline, field, rules, encrypted, rest) = configuration(input);
    let encryption = fixed_encryption();
    let codec = Codec::new(&pipeline, field, rules, encrypted.then_some(&encryption)).ok()?;
    Some((codec, rest))
}

/// Decodes any bytes with any pipeline.
pub fn decode(input: &[u8], scratch: &mut Scratch) {
    let Some((codec, filtered)) = codec(input) else { return };
    decode_with(&codec, filtered, scratch);
}

/// Decodes any bytes with one codec.
pub fn decode_with(codec: &Codec, filtered: &[u8], scratch: &mut Scratch) {
    if let Some(prefix) = filtered.first_chunk() {
        let _ = PlainLayout::new(prefix, filtered.len() as u64 - 20, filtered.len() as u64);
    }
    let Ok(byte_len) = codec.decoded_len(filtered, MAX_TILE_BYTE_LEN as u64) else { return };
    let mut out = vec![0; byte_len];
    if codec.folds_offsets() {
        for cell_count in [0, 1, 7] {
            let _ = codec.decode_strings(filtered, &mut out, &mut vec![0; cell_count], scratch);
        }
    } else {
        let _ = codec.decode_into(filtered, &mut out, scratch);
    }
}
