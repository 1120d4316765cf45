//! Arrays written by releases of libtiledb, read as their `expected.json` says: every case of every format version, a
//! test a version. What passes is in `docs/versions.md`, which a test compares with the run.

pub mod archive;
pub mod case;
mod groups;
mod metadata;
pub mod reads;
mod refused;
mod table;
mod tally;
mod versions;

pub use archive::Archive;
