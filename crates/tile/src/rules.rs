//! What the filters are told about a format version.

use smalti_codecs::CodecRules;
use smalti_format::{Rule, Version};
use smalti_types::DEFAULT_MAX_CHUNK_SIZE;

/// The flags of the codecs for a version, from the format's table of rules.
pub fn codec_rules(version: Version) -> CodecRules {
    CodecRules {
        whole_cells_per_chunk: version.has(Rule::WholeCellsPerChunk),
        // libtiledb stores the chunk size of a pipeline, and writes chunks of 64 KiB whatever it says.
        written_chunk_byte_len: Some(DEFAULT_MAX_CHUNK_SIZE),
        typed_chain: version.has(Rule::IntegerFiltersTakeDates),
        rle_folds_ascii: version.has(Rule::RleHoldsOffsets),
        dictionary_folds_ascii: version.has(Rule::DictionaryHoldsOffsets),
        folds_utf8: version.has(Rule::Utf8HoldsOffsets),
        compares_digests: true,
    }
}
