//! The words of the files: a schema as it is stored, the versions of the format, and what a file's trace tells.
//!
//! For tools that show or compare what is on disk. A program that makes a schema uses [`Schema`](crate::Schema).

pub use smalti_format::names::TimestampedName;
pub use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration, TraceDetail,
    TraceEntry, Version, default_fill_value,
};
