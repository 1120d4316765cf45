//! Arrays as immutable snapshots in a time range: listing, schemas, commits, fragments and array metadata; and the
//! writing counterpart: creating arrays, naming and committing fragments.
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

mod commits;
mod content;
mod create;
mod decoders;
mod definitions;
mod deletes;
mod enumeration;
mod evolution;
mod field;
mod fragment;
mod fragment_meta;
mod grid;
mod group;
mod history;
mod inspect;
mod label;
mod lease;
mod listing;
mod manifest;
mod metadata;
mod new_delete;
mod new_fragment;
mod object;
mod opening;
mod place;
mod resources;
mod schema_change;
mod schema_file;
mod section_blocks;
mod shared_commit;
mod shared_write;
mod side_by_side;
mod snapshot;
mod stamp;
mod tile_cache;
mod upgrade;

pub use commits::{CommitFile, Commits, ConsolidatedFile, IgnoreFile};
pub use content::{CellHistory, FieldContent, FragmentContent};
pub use definitions::Definitions;
pub use deletes::{DeleteCommit, ListedDelete};
pub use field::{Plane, TIMESTAMPS, field_filters, field_name, field_shape, find_field};
pub use fragment::{BoundsOfTiles, Fragment, Leaves, NumbersOfTiles, TileTree};
pub use grid::{dense_grid, intervals};
pub use group::{Branch, DeletedGroup, Member, MemberChange, MemberEdit, MemberWalk, NewMember, Visit};
pub use history::{History, HistoryVacuum};
pub use inspect::{InspectedPart, Inspection, Inspector, UNEXPLAINED};
pub use label::label_shape;
pub use lease::{ReadersAway, UpkeepLock};
pub use listing::{
    CommitPlace, GoneHistory, ListedFragment, ListedVacuum, Listing, ReplacedFragment, fragment_meta_files,
    gone_file, purged_at,
};
pub use manifest::Manifest;
pub use new_fragment::NewFragment;
pub use object::{ObjectKind, WalkOrder};
pub use opening::ASIDE_FOLDER;
pub use place::ArrayPlace;
pub use resources::{CACHE_SHARE, DEFAULT_CACHE_BYTE_LEN, Resources, TakenMemory};
pub use schema_change::SchemaChange;
pub use shared_write::SharedWrite;
pub use smalti_format::fragment::FieldId;
pub use snapshot::{Snapshot, explain_missing};
pub use tile_cache::{CachedChunks, CachedColumn, CachedFile, CachedTile, TileCache, TileKey, TilePart};
pub use upgrade::Upgrade;
