//! Cells between the engine's columns and the formats of files.

mod builder;
mod field;
mod labels;
mod place;
mod text;

pub(crate) use builder::ColumnBuilder;
pub use field::Field;
pub(crate) use field::short;
#[cfg(test)]
pub(crate) use field::tests::field as test_field;
pub use labels::Labels;
pub(crate) use place::{Region, along, cell_count_of, place, place_with, rows_of};
pub use smalti::json::hex;
pub use text::TextNotation;
pub(crate) use text::push_text;
