//! The filters of the format and the chain that runs them: tiles to filtered tiles and back.
//!
//! A [`Codec`] is made once a field from its pipeline; it cuts tiles into chunks, sends each chunk through the filters, and
//! frames the results. All memory that outlives a chunk belongs to the caller's [`Scratch`].
//!
//! ```
//! use smalti_codecs::{Codec, CodecRules, FieldKind, Scratch};
//! use smalti_types::{CellValNum, Datatype, Filter, FilterPipeline};
//!
//! let pipeline = FilterPipeline::new([Filter::Byteshuffle, Filter::Zstd { level: 3 }]);
//! let field = FieldKind::data(Datatype::Int32, CellValNum::ONE);
//! let codec = Codec::new(&pipeline, field, CodecRules::NEWEST, None)?;
//! let mut scratch = Scratch::new();
//!
//! let tile: Vec<u8> = (0..1000i32).flat_map(i32::to_le_bytes).collect();
//! let mut filtered = Vec::new();
//! codec.encode(&tile, &mut filtered, &mut scratch)?;
//!
//! let mut decoded = vec![0; tile.len()];
//! codec.decode_into(&filtered, &mut decoded, &mut scratch)?;
//! assert_eq!(decoded, tile);
//! # Ok::<(), smalti_types::Error>(())
//! ```
#![deny(unsafe_code)]
// This crate meets bytes of strangers: whatever could panic or lose bits, outside tests, says why it does not.
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap
    )
)]

mod aes_gcm;
mod bit_width_reduction;
mod bitshuffle;
mod byteshuffle;
mod bzip2;
mod chain;
mod checksum;
mod chunks;
mod codec;
mod compression;
mod context;
mod delta;
mod dictionary;
mod directory;
mod double_delta;
mod empty;
mod field;
mod float_scale;
#[doc(hidden)]
#[expect(clippy::expect_used, clippy::indexing_slicing, reason = "a target of a fuzzer reports by a panic")]
pub mod fuzz;
#[cfg(test)]
mod golden;
mod gzip;
mod lz4;
mod metadata_spans;
mod parts;
mod plain;
mod positive_delta;
mod rle;
mod scratch;
mod steps;
mod strings;
mod webp;
mod words;
mod xor;
mod zstd;

pub use aes_gcm::Encryption;
pub use chunks::{ChunkHeader, filtered_tile_byte_len};
pub use codec::{Codec, FOLDED_OFFSETS_TILE};
pub use directory::{ChunkDirectory, TileLens};
pub use field::{CodecRules, FieldKind, TileRole};
pub use plain::{PlainLayout, PlainRun};
pub use scratch::{Scratch, room};
