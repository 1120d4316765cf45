//! Words that every layer of smalti shares: datatypes and their values, orders, filter configurations,
//! rectangles, timestamps, aligned byte buffers and how they are filled, errors, worker threads, and the injected sources of time and randomness.
//!
//! This crate does no I/O and knows no file layout. Numbers that stand for coordinates are compared and
//! counted as [`Physical::ordinal`]s, so that the layers above need no code per type.
#![deny(unsafe_code)]

// The one place that decides it; docs/install.md says it, deny.toml lists the targets. The local store is written for Unix, places in
// memory are taken for numbers of 64 bits, and cells for little-endian as they are stored.
#[cfg(not(all(unix, target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "smalti runs on Linux, macOS and other Unix systems with 64-bit little-endian processors: docs/install.md, Platforms"
);

mod buffer;
mod datatype;
mod env;
mod error;
mod extent;
mod filter;
mod helper;
mod key;
mod order;
mod pages;
pub mod parallel;
mod physical;
mod processors;
mod scalar;
mod spares;
mod stores;
pub mod text;
mod time;
mod units;

pub use buffer::AlignedBuf;
pub use datatype::{CellValNum, Datatype, PhysicalKind};
pub use env::{Clock, Entropy, Env};
pub use error::{Error, ErrorKind, Location, Result, without_login};
pub use extent::{Extent, ExtentRef, RectList};
pub use filter::{DEFAULT_MAX_CHUNK_SIZE, Filter, FilterPipeline, FloatScale, ScaleWidth, WebpFormat};
pub use key::EncryptionKey;
pub use order::{ArrayType, Layout};
pub use physical::{Physical, ValueBytes};
pub use scalar::Scalar;
pub use spares::Spares;
pub use stores::{PastCaches, Stores, write_past_caches};
pub use time::TimeRange;
