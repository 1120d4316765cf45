//! JSON notations: of cells, and of schemas.
//!
//! # Cells
//!
//! | datatype | JSON | example |
//! |---|---|---|
//! | integers | numbers, exact in all 64 bits | `18446744073709551615` |
//! | floats | the shortest number that gives back the value, or a string | `0.5`, `-0.0`, `"NaN"`, `"-Infinity"` |
//! | `BOOL` | booleans | `true` |
//! | `CHAR`, `STRING_ASCII`, `STRING_UTF8`, `GEOM_WKT` | strings; bytes that are not UTF-8 as an object | `"é"`, `{"hex": "80"}` |
//! | `ANY`, `BLOB`, `GEOM_WKB` | an object | `{"hex": "00ff"}` |
//! | UTF-16, UTF-32, UCS-2, UCS-4 | lists of code units | `[233]` |
//! | dates and times | ISO 8601 strings as in [`text`](crate::text), or the stored integers | `"2024-02-29"` |
//!
//! Cells of several numbers, and of any number of them, are lists; null is `null`.

mod cell;
pub mod hex;
mod parse;
mod schema;
mod strict;

pub use cell::{CellNotation, push_json};
pub use parse::{CellSeed, ParsedCell};
pub use schema::{
    SchemaFile, attribute_from_json, enumeration_from_json, extent_to_json, schema_from_json, schema_to_json,
};
pub use strict::value_from_json;
