//! From the configuration of filters to filters that run.

use crate::bit_width_reduction::BitWidthReduction;
use crate::bitshuffle::Bitshuffle;
use crate::byteshuffle::Byteshuffle;
use crate::checksum::{Algorithm, Checksum};
use crate::codec::{Stage, Step};
use crate::compression::Compressor;
use crate::context::{ChunkContext, ChunkFilter, PartCodec, StringCodec};
use crate::delta::Delta;
use crate::dictionary::Dictionary;
use crate::double_delta::DoubleDelta;
use crate::field::{CodecRules, FieldKind};
use crate::positive_delta::PositiveDelta;
use crate::rle::Rle;
use crate::webp::Webp;
use crate::xor::Xor;
use crate::{chain, codec, empty};
use smalti_types::{Datatype, Error, Filter, FilterPipeline, Result};

/// The filters of a pipeline that have an effect on the field, first to last as writing runs them, and whether the last
/// filter hands on what it is given.
///
/// # Errors
/// `Unsupported` for a filter that cannot run on what it would be given.
pub(crate) fn of_pipeline(
    pipeline: &FilterPipeline,
    field: FieldKind,
    rules: CodecRules,
) -> Result<(Vec<codec::Step>, bool)> {
    let mut steps = Vec::new();
    let mut behind_pass = false;
    let mut datatype = field.datatype;
    for (position, filter) in pipeline.filters.iter().enumerate() {
        let context = ChunkContext { datatype, cell_byte_len: field.cell_byte_len() };
        if chain::has_effect(filter, datatype, rules.typed_chain) {
            let stage = if folds(filter, field, rules) {
                if !steps.is_empty() {
                    return Err(unsupported(
                        filter,
                        position,
                        "on var-sized strings it must be the first filter",
                    ));
                }
                string_stage(filter)
            } else {
                stage(filter, position, datatype, rules)?
            };
            steps.push(Step { name: filter.name(), stage, context, behind_pass });
            behind_pass = false;
        }
        behind_pass |= empty::passes(filter, datatype, rules);
        if rules.typed_chain {
            datatype = chain::output_datatype(filter, datatype);
        }
    }
    Ok((steps, behind_pass))
}

fn folds(filter: &Filter, field: FieldKind, rules: CodecRules) -> bool {
    field.is_var_string()
        && match (filter, field.datatype) {
            (Filter::Rle { .. } | Filter::Dictionary { .. }, Datatype::StringUtf8) => rules.folds_utf8,
            (Filter::Rle { .. }, _) => rules.rle_folds_ascii,
            (Filter::Dictionary { .. }, _) => rules.dictionary_folds_ascii,
            _ => false,
        }
}

fn string_stage(filter: &Filter) -> Stage {
    fn boxed(codec: impl StringCodec + Send + Sync + 'static) -> Stage {
        Stage::Strings(Box::new(codec))
    }
    match filter {
        Filter::Rle { .. } => boxed(Rle),
        _ => boxed(Dictionary),
    }
}

fn stage(filter: &Filter, position: usize, datatype: Datatype, rules: CodecRules) -> Result<Stage> {
    fn chunk(filter: impl ChunkFilter + Send + Sync + 'static) -> Stage {
        Stage::Chunk(Box::new(filter))
    }
    fn part(codec: impl PartCodec + Send + Sync + 'static) -> Stage {
        Stage::Compress(Compressor::Part(Box::new(codec)))
    }
    Ok(match *filter {
        Filter::Gzip { level } => Stage::Compress(Compressor::Gzip { level }),
        Filter::Zstd { level } => Stage::Compress(Compressor::Zstd { level }),
        Filter::Lz4 { .. } => Stage::Compress(Compressor::Lz4),
        Filter::Bzip2 { level } => Stage::Compress(Compressor::Bzip2 { level }),
        Filter::Bitshuffle => chunk(Bitshuffle),
        Filter::Byteshuffle => chunk(Byteshuffle),
        Filter::Xor => chunk(Xor),
        Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. }
            if chain::seen_as(reinterpret, datatype).is_float() =>
        {
            return Err(unsupported(filter, position, "it does not run on floats"));
        }
        Filter::Delta { reinterpret, .. } => part(Delta { reinterpret }),
        Filter::DoubleDelta { reinterpret, .. } => part(DoubleDelta { reinterpret }),
        Filter::Md5 => chunk(Checksum { algorithm: Algorithm::Md5, compares: rules.compares_digests }),
        Filter::Sha256 => chunk(Checksum { algorithm: Algorithm::Sha256, compares: rules.compares_digests }),
        Filter::Webp { quality, format, lossless, y_extent, x_extent } => {
            if datatype != Datatype::UInt8 {
                return Err(unsupported(filter, position, "it runs on UINT8 only"));
            }
            chunk(Webp { quality, format, lossless, y_extent, x_extent })
        }
        Filter::Rle { .. } => part(Rle),
        Filter::Dictionary { .. } => {
            return Err(unsupported(filter, position, "it runs on var-sized strings only"));
        }
        Filter::Aes256Gcm => {
            return Err(unsupported(filter, position, "encryption is never part of a schema's pipeline"));
        }
        Filter::None | Filter::Deprecated => {
            return Err(unsupported(filter, position, "no release supports this filter any more"));
        }
        Filter::BitWidthReduction { max_window } => {
            chunk(BitWidthReduction { max_window_byte_len: max_window })
        }
        Filter::PositiveDelta { max_window } => chunk(PositiveDelta { max_window_byte_len: max_window }),
        Filter::ScaleFloat(_) if !matches!(datatype.byte_len(), 4 | 8) => {
            return Err(unsupported(filter, position, "it runs on types of 4 or 8 bytes only"));
        }
        Filter::ScaleFloat(scale) => chunk(scale),
    })
}

fn unsupported(filter: &Filter, position: usize, reason: &str) -> Error {
    Error::unsupported(format!("filter {filter} at position {position} of the pipeline: {reason}"))
}
