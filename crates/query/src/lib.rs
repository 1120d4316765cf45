//! Reading and writing cells of arrays.
//!
//! A read is plan, fetch, decode, select, order and copy (see `dense` and `sparse`), pulled batch by batch. A write is
//! order, tile, statistics, filter, data files, metadata, commit (see `write`).
#![forbid(unsafe_code)]

mod current_domain;
mod dense;
mod fetch;
mod gather;
mod labels;
mod read;
mod request;
mod show;
mod sparse;
mod workspace;
mod write;

pub use read::{Batches, read};
pub use request::{Batch, DEFAULT_BATCH_CELL_COUNT, LabelRange, ReadRequest, ResultField, TIMESTAMPS_FIELD};
pub use write::{Duplicates, GlobalWriter, WriteRequest, write};
