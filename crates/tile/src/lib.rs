//! Filtered tiles on disk to columns in memory and back; generic tiles; statistics of tiles.
#![forbid(unsafe_code)]
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

mod chunked;
mod column;
mod field_codec;
mod generic;
mod rules;
mod stats;
mod workspace;

pub use chunked::ChunkedTile;
pub use column::{Column, ColumnRef, check_offsets};
pub use field_codec::{CellShape, FieldCodec, FieldFilters, FilteredTile, FilteredTileRef, VarPlaces};
pub use generic::{DEFAULT_GENERIC_TILE_LIMIT, beyond_limit, read_generic_tile, write_generic_tile};
pub use rules::codec_rules;
pub use smalti_codecs::{ChunkDirectory, Codec, Encryption, PlainLayout, Scratch, TileLens, room};
pub use stats::{Stats, StatsBuilder, StatsKind, Total};
pub use workspace::{KeptWorkspaces, SpareColumn, Workspace};
