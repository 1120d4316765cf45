//! Chunks without data, which tiles of var-sized cells have when all their cells are empty.
//!
//! libtiledb starts such a chunk as one part of no bytes. A filter that hands its input on loses the part, so that the
//! filters behind it see none; so it is here. With some chains libtiledb then fails: it divides by zero (bit-width
//! reduction, positive delta), or cannot read back what it wrote (delta and double delta; a filter that asks for its part
//! before one that hands its input on, before rle, or before encryption). There the chunk is left out, which every release
//! reads: a tile may have no chunks.

use crate::chain;
use crate::field::{CodecRules, FieldKind};
use smalti_types::{Datatype, Filter, FilterPipeline};

/// Whether a chunk without data is written, and not left out.
pub(crate) fn is_written(
    pipeline: &FilterPipeline,
    field: FieldKind,
    rules: CodecRules,
    is_encrypted: bool,
) -> bool {
    let mut datatype = field.datatype;
    // Whether there is a part; whether there is metadata; whether a filter will ask for a part when it is undone.
    let (mut part, mut metadata, mut asks) = (true, false, false);
    for filter in &pipeline.filters {
        match effect(filter, datatype, rules) {
            Effect::Pass if asks => return false,
            Effect::Pass => {
                part = false;
                metadata |= !matches!(filter, Filter::None);
            }
            Effect::Shuffle => (part, metadata, asks) = (true, true, true),
            Effect::Divide | Effect::Difference if part => return false,
            Effect::Divide => (part, metadata, asks) = (true, true, true),
            Effect::Repeat if asks => return false,
            // Compressors make data of metadata too.
            Effect::Difference | Effect::Repeat if metadata => return true,
            Effect::Compress if part || metadata => return true,
            Effect::Difference | Effect::Repeat | Effect::Compress => {
                (part, metadata, asks) = (true, true, true);
            }
        }
        if rules.typed_chain {
            datatype = chain::output_datatype(filter, datatype);
        }
    }
    !(is_encrypted && asks)
}

/// Whether a filter hands its input on, so that parts of no bytes get lost.
pub(crate) fn passes(filter: &Filter, datatype: Datatype, rules: CodecRules) -> bool {
    effect(filter, datatype, rules) == Effect::Pass
}

/// How filters differ on a chunk without data.
#[derive(PartialEq, Eq)]
enum Effect {
    /// Hands it on.
    Pass,
    /// Records its parts and asks for them when it is undone.
    Shuffle,
    /// The same, and does not bear a part of no bytes.
    Divide,
    /// A compressor that does not bear a part of no bytes.
    Difference,
    /// A compressor that makes no data of a part of no bytes.
    Repeat,
    /// A compressor that makes data of it.
    Compress,
}

fn effect(filter: &Filter, datatype: Datatype, rules: CodecRules) -> Effect {
    match filter {
        _ if !chain::has_effect(filter, datatype, rules.typed_chain) => Effect::Pass,
        Filter::Md5 | Filter::Sha256 | Filter::None => Effect::Pass,
        Filter::Bitshuffle | Filter::Byteshuffle | Filter::Xor => Effect::Shuffle,
        Filter::BitWidthReduction { .. } | Filter::PositiveDelta { .. } | Filter::ScaleFloat(_) => {
            Effect::Divide
        }
        Filter::Delta { .. } | Filter::DoubleDelta { .. } => Effect::Difference,
        Filter::Rle { .. } => Effect::Repeat,
        _ => Effect::Compress,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::CellValNum;

    const ZSTD: Filter = Filter::Zstd { level: 1 };

    fn is_written_with(filters: &[Filter], is_encrypted: bool) -> bool {
        let field = FieldKind::data(Datatype::Int32, CellValNum::Var);
        is_written(&FilterPipeline::new(filters.to_vec()), field, CodecRules::NEWEST, is_encrypted)
    }

    #[test]
    fn chunks_that_libtiledb_reads_back_are_written() {
        assert!(is_written_with(&[], true));
        assert!(is_written_with(&[Filter::Byteshuffle], false));
        assert!(is_written_with(&[Filter::Byteshuffle, ZSTD], true));
        assert!(is_written_with(&[Filter::Md5, Filter::Sha256], true));
        assert!(is_written_with(&[Filter::Md5, Filter::Rle { level: -1 }], true));
        assert!(is_written_with(&[Filter::None, ZSTD], false));
    }

    #[test]
    fn chunks_that_libtiledb_cannot_undo_are_left_out() {
        let max_window = 256;
        assert!(!is_written_with(&[Filter::Byteshuffle], true));
        assert!(!is_written_with(&[Filter::Byteshuffle, Filter::Md5], false));
        assert!(!is_written_with(&[Filter::Byteshuffle, Filter::Rle { level: -1 }], false));
        assert!(!is_written_with(&[Filter::BitWidthReduction { max_window }], false));
        assert!(!is_written_with(&[Filter::DoubleDelta { level: -1, reinterpret: None }, ZSTD], false));
        assert!(!is_written_with(&[Filter::None, ZSTD], true));
    }
}
