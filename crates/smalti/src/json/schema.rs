//! Schemas to JSON and back.
//!
//! What may be left out of a schema to create takes the reference's defaults: version 22, capacity 10,000, row-major
//! orders, no duplicates; coordinates and offsets zstd with its default level, validity run lengths; dimensions
//! without filters of their own take those of the coordinates, attributes have none, and the default fill values.

mod filters;
mod read;
mod write;

use serde_json::Value;
use smalti_format::{ArraySchema, Enumeration};
use smalti_types::{Datatype, Extent, Result};

/// What a schema file says: the schema, and the enumerations that its attributes name.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaFile {
    /// The schema; its list of enumerations is empty, since files get their names when the array is created.
    pub schema: ArraySchema,
    /// The enumerations, without the names of their files.
    pub enumerations: Vec<Enumeration>,
}

/// The JSON of a schema, with the contents of its enumerations as far as they are given.
pub fn schema_to_json(schema: &ArraySchema, enumerations: &[Enumeration]) -> Value {
    write::schema(schema, enumerations)
}

/// The JSON of an interval on a dimension: `[low, high]`, the high end null where a string has none.
pub fn extent_to_json(datatype: Datatype, extent: &Extent, iso_dates: bool) -> Value {
    write::extent(datatype, extent, iso_dates)
}

/// The schema that JSON text describes.
///
/// # Errors
/// `InvalidArgument`, naming the place in the text; the schema as a whole is checked when an array is created from it.
pub fn schema_from_json(text: &str) -> Result<SchemaFile> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| smalti_types::Error::invalid(format!("the schema is no JSON: {error}")))?;
    read::schema(&value)
}
