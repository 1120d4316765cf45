//! One JSON object a line, one line a cell.

mod read;
mod write;

pub(crate) use read::{Rows, read_jsonl};
pub use write::JsonlSink;
