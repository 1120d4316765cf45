//! Cells to write, in the many forms that Rust programs have them in.

mod cell;
mod codes;
mod input;

pub use cell::Cell;
pub use input::{Columns, InputColumn, IntoColumn};
pub(crate) use input::{FieldCells, Form, cells, unknown_field};

use arrow_buffer::Buffer;

/// Bytes of a column, borrowed from the caller or kept by Arrow's count of owners.
#[derive(Debug, Clone)]
pub(crate) enum Bytes<'a> {
    Slice(&'a [u8]),
    Buffer(Buffer),
}

impl Bytes<'_> {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Slice(bytes) => bytes,
            Bytes::Buffer(buffer) => buffer.as_slice(),
        }
    }
}

/// Offsets of a column: in bytes, one more than cells.
#[derive(Debug, Clone)]
pub(crate) enum Offsets<'a> {
    Slice(&'a [u64]),
    /// 64-bit integers, none negative.
    Buffer(Buffer),
}

impl Offsets<'_> {
    pub(crate) fn as_slice(&self) -> &[u64] {
        match self {
            Offsets::Slice(offsets) => offsets,
            Offsets::Buffer(buffer) => buffer.typed_data(),
        }
    }
}
