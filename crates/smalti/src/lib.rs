//! wip
#![forbid(unsafe_code)]
pub mod arrow;
mod column;
mod schema;
mod value;
pub mod text;
pub use column::*;
pub use schema::*;
pub use value::{Interval, Number, Value};
pub use smalti_format as format;
pub use smalti_types::*;
pub mod raw { pub use smalti_tile::{CellShape, Column, ColumnRef}; }
