//! Dense and sparse N-dimensional arrays in the TileDB format.
//!
//! smalti reads arrays of the format versions 1 to 23 and writes version 22: what it writes opens in libtiledb with the same cells,
//! and the other way round.
//!
//! ```
//! use smalti::{Array, Dimension, prelude::*};
//!
//! # fn show(batch: &smalti::arrow_array::RecordBatch) { assert_eq!(batch.num_rows(), 1) }
//! let schema = Schema::sparse()
//!     .dimension(Dimension::new("lat", -90.0..=90.0).tile(10.0))
//!     .dimension(Dimension::new("lon", -180.0..=180.0).tile(10.0))
//!     .attribute(Attribute::utf8("name").filters([Filter::dictionary(), Filter::zstd(3)]))
//!     .attribute(Attribute::of::<u32>("population"))
//!     .build()?;
//! let cities = Array::create("mem://cities", &schema)?;
//!
//! let (lat, lon) = (vec![48.85, 52.52], vec![2.35, 13.41]);
//! let (names, population) = (["Paris", "Berlin"], [2_113_705_u32, 3_677_472]);
//! cities.write()
//!     .column("lat", &lat).column("lon", &lon).column("name", &names).column("population", &population)
//!     .commit()?;
//!
//! for batch in cities.read().range("lat", 40.0..=50.0).batches()? {
//!     show(&batch?); // an Arrow RecordBatch
//! }
//! # Ok::<(), smalti::Error>(())
//! ```
//!
//! # Where to find what
//!
//! | | |
//! |---|---|
//! | [`Schema`], [`Dimension`], [`Attribute`], [`Enumeration`], [`Label`], [`Filter`] | what an array looks like |
//! | [`Evolution`] | changing that later |
//! | [`Array`] | create, open, reopen; fragments, domain, metadata |
//! | [`Group`], [`NewMember`], [`Object`] | groups and their members; finding, moving and removing arrays and groups |
//! | [`Array::history`], [`Group::history`] | what happened, change by change |
//! | [`Context`], [`storage`] | threads, memory and object stores of a program |
//! | [`Options`] | time travel, encryption, durability, threads |
//! | [`Progress`], [`Phase`] | how far a read, a write or upkeep is, and stopping it |
//! | [`Scan`], [`Split`], [`BatchStream`] | what a read will give, dividing it among threads and processes, waiting for it without blocking |
//! | [`ReadBuilder`], [`RecordBatches`] | cells out: record batches, `ndarray`, raw columns |
//! | [`Array::fsck`], [`Array::repair`], [`Array::salvage`] | what is wrong with an array, and mending it |
//! | [`Array::digest`], [`Array::diff`] | whether two arrays say the same, and where not |
//! | [`field`], [`Condition`] | which cells: tests of values, and their text form |
//! | [`WriteBuilder`], [`GlobalWriteBuilder`], [`Columns`], [`Cell`] | cells in: slices, vectors, `ndarray`, Arrow |
//! | [`SealedFragment`] | several fragments that become visible at one moment |
//! | [`arrow`] | which Arrow type a datatype becomes |
//! | [`arrow_array`], [`arrow_schema`], [`ndarray`] | these crates, for programs that need no others |
//! | [`Error`], [`ErrorKind`] | what can go wrong |
//! | [`ReadRequest`], [`WriteRequest`], [`mod@format`], [`json`], [`text`] | the engine's own words, for tools |
//!
//! # Errors
//!
//! Every operation that can fail returns an [`Error`]: its [`kind`](Error::kind) is for programs, its message for people. It names
//! the array, column, cell or file; for a damaged file also the structure, field and byte offset. No bytes on disk and no argument
//! make smalti panic.
#![forbid(unsafe_code)]

mod array;
pub mod arrow;
mod batches;
mod checks;
mod column;
mod condition;
mod context;
mod delete;
mod enumerations;
mod evolution;
pub mod format;
mod fragment;
mod group;
mod history;
pub mod json;
mod metadata;
mod object;
mod options;
pub mod prelude;
mod range;
mod read;
mod scan;
mod schema;
mod sealed;
mod shared;
mod shared_upkeep;
pub mod storage;
mod stream;
mod timestamp;
mod update;
pub mod upkeep;
mod value;
mod views;
mod write;

/// Arrow's arrays and record batches, in the version that this interface has: programs need no crate of their own for them.
pub use arrow_array;
/// Arrow's types and schemas, in the version that this interface has.
pub use arrow_schema;
/// The trait of [`BatchStream`], in the version that this interface has.
pub use futures_core;
/// N-dimensional arrays in memory, in the version that this interface has.
pub use ndarray;

pub use array::Array;
pub use batches::RecordBatches;
pub use checks::Salvaged;
pub use column::{Cell, Columns, InputColumn, IntoColumn};
pub use condition::{FieldTest, field};
pub use context::Context;
pub use delete::DeleteBuilder;
pub use enumerations::Enumeration;
pub use evolution::Evolution;
pub use fragment::{Fragment, WrittenDelete, WrittenFragment};
pub use group::{Group, Member, MembersBuilder, Visit};
pub use history::{Event, HistoryEntry};
pub use metadata::{Metadata, MetadataBuilder};
pub use object::Object;
pub use options::Options;
pub use range::RangeEnd;
pub use read::ReadBuilder;
pub use scan::{FieldStatistics, Scan, Split};
pub use schema::{
    Attribute, Dimension, IntoPipeline, Label, Schema, SchemaBuilder, check_pipeline, filtered_byte_len,
};
pub use sealed::SealedFragment;
pub use stream::BatchStream;
pub use timestamp::IntoTimestamp;
pub use update::{UpdateBuilder, WrittenUpdate};
pub use value::{Interval, Number, Value};
pub use write::{GlobalWriteBuilder, GlobalWriter, WriteBuilder};

pub use smalti_array::{
    Branch, Definitions, DeletedGroup, InspectedPart, Inspection, Inspector, NewMember, ObjectKind,
    SchemaChange, SharedWrite, UNEXPLAINED, Upgrade, WalkOrder,
};
pub use smalti_query::condition::{Condition, Literal, Relation, UnknownLabel, nearest_labels};
pub use smalti_query::{
    Aggregate, AggregateRequest, Analysis, Announced, Batch, Batches, BufferedRead, Coordinate, Count,
    CutRange, DEFAULT_BATCH_CELL_COUNT, DEFAULT_MEMORY_BYTE_LEN, Duplicates, ExplainedFragment, Explanation,
    FieldBuffers, Filled, FragmentFate, Function, LabelRange, OrderPart, Phase, PhaseProgress, Progress,
    ReadRequest, ReadStatistics, ResultField, Strategy, TIMESTAMPS_FIELD, Unchecked, Unit, WriteRequest,
};
pub use smalti_store::{SyncLevel, Traffic, free_byte_len, system_env};
pub use smalti_tile::{CellShape, Column, ColumnRef};
pub use smalti_types::text;
pub use smalti_types::{
    AlignedBuf, ArrayType, CellValNum, Clock, Datatype, EncryptionKey, Entropy, Env, Error, ErrorKind,
    Extent, ExtentRef, Filter, FilterPipeline, FloatScale, Layout, Location, Physical, PhysicalKind,
    RectList, Result, Scalar, ScaleWidth, TimeRange, WebpFormat, dispatch_physical,
};
// For the program `smalti`, whose own parallel steps go the same way.
#[doc(hidden)]
pub use smalti_types::parallel;
// For the same program, which shows what it was given.
#[doc(hidden)]
pub use smalti_types::without_login;
pub use smalti_upkeep::{
    CellDifference, Change, Class, DiffFields, DiffOptions, DiffSummary, Digest, DigestOptions,
    FieldDifference, Finding, FindingKind, FsckOptions, FsckReport, LostCells, MemberReport, Mended,
    MendedMember, Older, OlderCells, Remedy, RepairOptions, RepairReport, Side, Step,
};

/// The page's program runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/splits.md")]
struct SplitsPage;

/// The README's program compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
