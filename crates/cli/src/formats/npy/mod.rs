//! NumPy files: a header with type, order and shape, then the values of one attribute of a dense array.
//!
//! Format: `numpy.lib.format`, versions 1.0 to 3.0.

mod header;
mod read;
mod write;

pub(crate) use header::{Header as NpyHeader, descr};
pub(crate) use read::{NpyValues, open_npy};
pub(crate) use write::NpySink;
