//! Every filter both ways, on a tile of about 64 KiB.

use crate::case::{Case, Outcome, again, case};
use crate::input;
use smalti_codecs::{Codec, CodecRules, Encryption, FieldKind, Scratch};
use smalti_store::SeededEntropy;
use smalti_types::{CellValNum, Datatype, EncryptionKey, Filter, FilterPipeline, ScaleWidth, WebpFormat};
use std::sync::Arc;

/// Cells of four bytes in a tile.
const CELL_COUNT: usize = 16 << 10;
/// Rows of an image, and pixels of a row.
const IMAGE_SIDE: u16 = 64;

/// What a tile holds.
#[derive(Clone, Copy)]
enum Tile {
    Integers,
    Runs,
    Times,
    Floats,
    Pixels,
    Text,
}

impl Tile {
    fn field(self) -> FieldKind {
        let datatype = match self {
            Tile::Integers | Tile::Runs => Datatype::Int32,
            Tile::Times => Datatype::Int64,
            Tile::Floats => Datatype::Float64,
            Tile::Pixels => Datatype::UInt8,
            Tile::Text => return FieldKind::data(Datatype::StringUtf8, CellValNum::Var),
        };
        FieldKind::data(datatype, CellValNum::ONE)
    }

    /// The values, and the start of each where they have any length.
    fn content(self) -> (Vec<u8>, Vec<u64>) {
        let values = match self {
            Tile::Integers => input::bytes(&input::walk(1, CELL_COUNT), |value| value.to_le_bytes()),
            Tile::Runs => input::bytes(&input::runs(2, CELL_COUNT), |value| value.to_le_bytes()),
            Tile::Times => input::bytes(&input::times(3, CELL_COUNT / 2), |value| value.to_le_bytes()),
            Tile::Floats => input::bytes(&input::floats(4, CELL_COUNT / 2), |value| value.to_le_bytes()),
            Tile::Pixels => {
                let side = usize::from(IMAGE_SIDE);
                input::walk(5, 3 * side * side).into_iter().map(|value| value as u8).collect()
            }
            Tile::Text => {
                let (values, mut offsets) = input::names(6, CELL_COUNT / 4);
                offsets.pop();
                return (values, offsets);
            }
        };
        (values, Vec::new())
    }
}

/// The cases.
pub(crate) fn cases() -> Vec<Case> {
    let scale = Filter::scale_float(0.01, 0.0, ScaleWidth::Four);
    let webp = Filter::Webp {
        quality: 100.0,
        format: WebpFormat::Rgb,
        lossless: true,
        y_extent: IMAGE_SIDE,
        x_extent: 3 * IMAGE_SIDE,
    };
    let filters = [
        ("none", Filter::None, Tile::Integers),
        ("gzip", Filter::gzip(6), Tile::Integers),
        ("zstd", Filter::zstd(3), Tile::Integers),
        ("lz4", Filter::lz4(), Tile::Integers),
        ("bzip2", Filter::bzip2(6), Tile::Integers),
        ("rle", Filter::rle(), Tile::Runs),
        ("rle-text", Filter::rle(), Tile::Text),
        ("dictionary", Filter::dictionary(), Tile::Text),
        ("delta", Filter::delta(), Tile::Times),
        ("double-delta", Filter::double_delta(), Tile::Times),
        ("positive-delta", Filter::positive_delta(), Tile::Times),
        ("bit-width-reduction", Filter::bit_width_reduction(), Tile::Integers),
        ("byteshuffle", Filter::byteshuffle(), Tile::Integers),
        ("byteshuffle-of-8", Filter::byteshuffle(), Tile::Floats),
        ("bitshuffle", Filter::bitshuffle(), Tile::Integers),
        ("bitshuffle-of-8", Filter::bitshuffle(), Tile::Floats),
        ("xor", Filter::xor(), Tile::Floats),
        ("float-scaling", scale, Tile::Floats),
        ("webp", webp, Tile::Pixels),
        ("md5", Filter::md5(), Tile::Integers),
        ("sha256", Filter::sha256(), Tile::Integers),
    ];
    let mut cases: Vec<Case> = filters
        .into_iter()
        .flat_map(|(name, filter, tile)| both_ways(name, FilterPipeline::new([filter]), tile, false))
        .collect();
    cases.extend(both_ways("encryption", FilterPipeline::default(), Tile::Integers, true));
    cases
}

fn both_ways(name: &str, pipeline: FilterPipeline, tile: Tile, is_encrypted: bool) -> [Case; 2] {
    let of_decoding = pipeline.clone();
    [
        case(&format!("{name}-encode"), move || {
            let (codec, (values, starts)) = (codec(&pipeline, tile, is_encrypted)?, tile.content());
            let (mut out, mut scratch) = (Vec::new(), Scratch::new());
            again(move || {
                out.clear();
                encode(&codec, &values, &starts, &mut out, &mut scratch)
            })
        }),
        case(&format!("{name}-decode"), move || {
            let (codec, (values, mut starts)) = (codec(&of_decoding, tile, is_encrypted)?, tile.content());
            let (mut filtered, mut scratch) = (Vec::new(), Scratch::new());
            encode(&codec, &values, &starts, &mut filtered, &mut scratch)?;
            let mut out = vec![0; values.len()];
            again(move || match codec.folds_offsets() {
                true => Ok(codec.decode_strings(&filtered, &mut out, &mut starts, &mut scratch)?),
                false => Ok(codec.decode_into(&filtered, &mut out, &mut scratch)?),
            })
        }),
    ]
}

fn codec(pipeline: &FilterPipeline, tile: Tile, is_encrypted: bool) -> Outcome<Codec> {
    let key = EncryptionKey::new(&[9; 32])?;
    let encryption = Encryption { key, entropy: Arc::new(SeededEntropy::new(7)) };
    Ok(Codec::new(pipeline, tile.field(), CodecRules::NEWEST, is_encrypted.then_some(&encryption))?)
}

fn encode(codec: &Codec, values: &[u8], starts: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Outcome {
    match starts {
        [] => codec.encode(values, out, scratch)?,
        _ => codec.encode_var(values, starts, out, scratch)?,
    }
    Ok(())
}
