//! Words that every layer of smalti shares: datatypes and their values, orders, filter configurations,
//! rectangles, timestamps, aligned byte buffers, errors, and the injected sources of time and randomness.
//!
//! This crate does no I/O and knows no file layout. Numbers that stand for coordinates are compared and
//! counted as [`Physical::ordinal`]s, so that the layers above need no code per type.
#![forbid(unsafe_code)]

mod buffer;
mod datatype;
mod env;
mod error;
mod extent;
mod filter;
mod key;
mod order;
mod physical;
mod scalar;
pub mod text;
mod time;

pub use buffer::AlignedBuf;
pub use datatype::{CellValNum, Datatype, PhysicalKind};
pub use env::{Clock, Entropy, Env};
pub use error::{Error, ErrorKind, Location, Result};
pub use extent::{Extent, ExtentRef, RectList};
pub use filter::{DEFAULT_MAX_CHUNK_SIZE, Filter, FilterPipeline, FloatScale, ScaleWidth, WebpFormat};
pub use key::EncryptionKey;
pub use order::{ArrayType, Layout};
pub use physical::Physical;
pub use scalar::Scalar;
pub use time::TimeRange;
