//! Reading and writing cells of arrays.
//!
//! A read is plan, fetch, decode, select, order and copy (see `dense` and `sparse`), pulled batch by batch. A write is
//! order, tile, statistics, filter, data files, metadata, commit (see `write`).
#![forbid(unsafe_code)]

mod aggregate;
mod budget;
mod buffers;
mod chunks;
pub mod condition;
mod count;
mod current_domain;
mod delete;
mod dense;
mod dest;
mod explain;
mod explanation;
mod fetch;
mod field_statistics;
mod fields;
mod folded;
mod gather;
mod kept;
mod labels;
mod mean_len;
mod merge;
mod part;
mod progress;
mod ranges;
mod read;
mod reads;
mod request;
mod scan;
mod show;
mod source;
mod sparse;
mod split;
mod spread;
mod steps;
mod summary;
mod tile_statistics;
mod whole;
mod workspace;
mod write;

pub use aggregate::{Aggregate, AggregateRequest, AggregateValue, Function, aggregate};
pub use budget::DEFAULT_MEMORY_BYTE_LEN;
pub use buffers::{BufferedRead, FieldBuffers, Filled};
pub use count::Count;
pub use delete::{Deleted, check_delete, delete};
pub use dense::written_regions;
pub use explain::{Analysis, analyze, explain};
pub use explanation::{ExplainedFragment, Explanation, FragmentFate, Strategy};
pub use field_statistics::FieldStatistics;
pub use merge::{MergePart, MergeRequest, Merged, merge, split_merge};
pub use part::{Coordinate, OrderPart};
pub use progress::{Announced, Phase, PhaseProgress, Progress, ReadStatistics, Unit};
pub use ranges::{CutRange, cut_ranges};
pub use read::{Batches, read, read_versions};
pub use request::{Batch, DEFAULT_BATCH_CELL_COUNT, LabelRange, ReadRequest, ResultField, TIMESTAMPS_FIELD};
pub use scan::Scan;
pub use sparse::cell_order;
pub use split::Split;
pub use write::{
    Duplicates, GlobalWriter, Unchecked, WriteRequest, seal, seal_shared, write, write_unchecked,
};
