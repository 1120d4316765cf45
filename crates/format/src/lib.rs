//! Every file of an array or group: bytes to records and back, format versions 1 to 23. No I/O, no codecs.
//!
//! Each on-disk structure is one table in the language of [`record`]. Reader, writer, documentation and the trace
//! that `inspect` prints all come from that table. Rules that changed without a field are in [`Rule`].
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
mod condition;
mod extent;
mod filters;
pub mod fragment;
#[doc(hidden)]
#[expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a target of a fuzzer reports by a panic"
)]
pub mod fuzzing;
mod generic_tile;
mod group;
mod leaf;
mod metadata;
pub mod names;
mod pages;
mod reader;
pub mod record;
mod schema;
mod version;
mod writer;

pub use commits::{CommitEntry, ConsolidatedCommits, NameList, NewCommitEntry};
pub use condition::{CombineOp, CompareOp, ConditionNode, ConditionTree};
pub use generic_tile::{Encryption, GenericTileHeader};
pub use group::{GroupFile, GroupMember, MemberKind};
pub use metadata::{MetadataEntry, MetadataFile, MetadataValue};
pub use pages::pages;
pub use reader::{Reader, TraceDetail, TraceEntry};
pub use record::Shape;
pub use schema::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration, Field,
    default_fill_value, new_fill_value,
};
pub use version::{Rule, Span, Version};
pub use writer::Writer;
