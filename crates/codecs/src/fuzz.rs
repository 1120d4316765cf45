//! Entry points for fuzzers: bytes in, nothing out, and nothing must panic or allocate beyond the limits.

use crate::{ChunkDirectory, Codec, CodecRules, Encryption, FieldKind, PlainLayout, Scratch, TileLens};
use smalti_types::{
    CellValNum, Datatype, EncryptionKey, Entropy, Filter, FilterPipeline, FloatScale, Result, ScaleWidth,
    WebpFormat,
};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The largest tile that the entry points decode, in bytes.
pub const MAX_TILE_BYTE_LEN: usize = 1 << 16;

/// Every entry point by its name: one for each family of filters, and one for pipelines of any filters.
pub const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("codec_pipeline", fuzz_pipeline),
    ("codec_gzip", |input| fuzz_family(&[1], input)),
    ("codec_zstd", |input| fuzz_family(&[2], input)),
    ("codec_lz4", |input| fuzz_family(&[3], input)),
    ("codec_rle", |input| fuzz_family(&[4], input)),
    ("codec_bzip2", |input| fuzz_family(&[5], input)),
    ("codec_delta", |input| fuzz_family(&[6, 18], input)),
    ("codec_bit_width", |input| fuzz_family(&[7, 10], input)),
    ("codec_shuffle", |input| fuzz_family(&[8, 9], input)),
    ("codec_webp", |input| fuzz_family(&[11], input)),
    ("codec_checksum", |input| fuzz_family(&[12, 13], input)),
    ("codec_dictionary", |input| fuzz_family(&[14], input)),
    ("codec_scale_float", |input| fuzz_family(&[15], input)),
    ("codec_xor", |input| fuzz_family(&[16], input)),
];

/// Decodes any bytes with any pipeline.
pub fn fuzz_pipeline(input: &[u8]) {
    decode(input, &mut Scratch::new());
}

/// Runs one filter of a family on any bytes: decodes them, or encodes them as cells and wants them back.
///
/// Layout: the filter, its option, datatype, values in a cell (0: var-sized), flags (see [`configuration`]; 16: encode).
/// `kinds` are the numbers of the family's filters in [`configuration`].
pub fn fuzz_family(kinds: &[u8], input: &[u8]) {
    let Some(([which, option, datatype, values, flags], rest)) = input.split_first_chunk::<5>() else {
        return;
    };
    let Some(kind) = kinds.get(usize::from(*which) % kinds.len().max(1)) else { return };
    let configured = [1, *kind, *option, *datatype, *values, *flags];
    let Some((codec, _)) = codec(&configured) else { return };
    let mut scratch = Scratch::new();
    if flags & 16 == 0 {
        return decode_with(&codec, rest, &mut scratch);
    }
    let (pipeline, field, ..) = configuration(&configured);
    round_trip(&codec, field, rest, is_lossless(&pipeline), &mut scratch);
}

/// Encodes bytes as the cells of a tile; what can be encoded comes back.
fn round_trip(codec: &Codec, field: FieldKind, cells: &[u8], is_lossless: bool, scratch: &mut Scratch) {
    let width = field.cell_byte_len().max(1);
    let tile = &cells[..(cells.len() - cells.len() % width).min(MAX_TILE_BYTE_LEN)];
    let offsets: Vec<u64> = (0..tile.len() as u64).step_by(3 * width).collect();
    let mut filtered = Vec::new();
    if codec.encode_var(tile, &offsets, &mut filtered, scratch).is_err() {
        return;
    }
    let mut decoded = vec![0; tile.len()];
    if codec.folds_offsets() {
        let mut starts = vec![0; offsets.len()];
        codec
            .decode_strings(&filtered, &mut decoded, &mut starts, scratch)
            .expect("what was encoded decodes");
        assert_eq!(starts, offsets);
    } else {
        let byte_len =
            codec.decoded_len(&filtered, tile.len() as u64).expect("what was encoded has a length");
        assert_eq!(byte_len, tile.len());
        codec.decode_into(&filtered, &mut decoded, scratch).expect("what was encoded decodes");
    }
    assert!(!is_lossless || decoded == tile, "other bytes come back");
}

fn is_lossless(pipeline: &FilterPipeline) -> bool {
    !pipeline
        .filters
        .iter()
        .any(|filter| matches!(filter, Filter::ScaleFloat(_) | Filter::Webp { lossless: false, .. }))
}

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
    check_directory(filtered, byte_len);
    let mut out = vec![0; byte_len];
    if codec.folds_offsets() {
        for cell_count in [0, 1, 7] {
            let _ = codec.decode_strings(filtered, &mut out, &mut vec![0; cell_count], scratch);
        }
    } else {
        let decoded = codec.decode_into(filtered, &mut out, scratch).is_ok();
        let (mut buffer, mut pieces, whole) = (Vec::new(), vec![0; byte_len], (0..byte_len, byte_len));
        let mut take = |place: std::ops::Range<usize>, bytes: &[u8]| {
            pieces[place].copy_from_slice(bytes);
            Ok(())
        };
        let taken = codec.decode_pieces(filtered, whole, 4, (&mut buffer, scratch), &mut take);
        assert_eq!(taken.is_ok(), decoded, "pieces are decoded as the whole is");
        assert!(!decoded || pieces == out, "pieces hold other bytes than the whole");
    }
}

/// The headers of chunks, read alone and in two parts, tell the same as those of a tile that is there.
fn check_directory(filtered: &[u8], tile_byte_len: usize) {
    let mut read = |offset: u64, dest: &mut [u8]| {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        dest.copy_from_slice(&filtered[start..][..dest.len()]);
        Ok(())
    };
    let lens = TileLens { tile: tile_byte_len, filtered: filtered.len() as u64 };
    let alone = ChunkDirectory::from_headers(lens, u64::MAX, tile_byte_len / 2, &mut read);
    let alone =
        alone.and_then(|part| part.map(|part| part.reaching(lens, usize::MAX, &mut read)).transpose());
    match (ChunkDirectory::new(filtered, tile_byte_len), alone) {
        (Ok(whole), Ok(Some(alone))) => assert_eq!(whole, alone, "headers read alone tell other places"),
        (Ok(whole), Ok(None)) => assert_eq!(whole.chunk_count(), 0, "a tile with chunks has headers"),
        (Err(_), Err(_) | Ok(None)) => {}
        (whole, alone) => unreachable!("{whole:?} of the tile, {alone:?} of its headers"),
    }
}
