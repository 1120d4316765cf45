//! NumPy files: a header with type, order and shape, then the values of one attribute of a dense array.
//!
//! Format: `numpy.lib.format`, versions 1.0 to 3.0.

mod header;
mod read;
mod write;

pub use header::Header as NpyHeader;
pub(crate) use header::descr;
pub(crate) use read::{NpyValues, open_npy};
pub use write::NpySink;
