//! Cells between the engine's columns and the formats of files.

mod builder;
mod field;
mod labels;
mod place;
mod text;

pub(crate) use builder::ColumnBuilder;
#[cfg(test)]
pub(crate) use field::tests::field as test_field;
pub(crate) use field::{Field, short};
pub(crate) use labels::Labels;
pub(crate) use place::{Region, along, cell_count_of, place, place_with, rows_of};
pub(crate) use smalti::json::hex;
pub(crate) use text::{TextNotation, push_text};
