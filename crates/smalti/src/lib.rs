//! wip
#![forbid(unsafe_code)]
mod schema;
mod value;
pub mod text;
pub use schema::*;
pub use value::{Interval, Number, Value};
pub use smalti_format as format;
pub use smalti_types::*;
