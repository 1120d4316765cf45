//! Schemas to JSON and back.
//!
//! What may be left out of a schema to create takes the reference's defaults: version 22, capacity 10,000, row-major
//! orders, no duplicates; coordinates and offsets zstd with its default level, validity run lengths; dimensions
//! without filters of their own take those of the coordinates; the default fill values. Unlike in the reference, attributes are
//! compressed with zstd too (`"filters": []` means none), and strings have any length.

mod filters;
mod read;
mod write;

use crate::Schema;
use serde_json::Value;
use smalti_array::Definitions;
use smalti_format::{ArraySchema, Attribute, Enumeration};
use smalti_types::{Datatype, Error, Extent, Result};

/// What a schema file says: the schema, and what it names.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaFile {
    /// The schema; its list of enumerations is empty, since files get their names when the array is created.
    pub schema: ArraySchema,
    /// The enumerations, without the names of their files.
    pub enumerations: Vec<Enumeration>,
    /// For each dimension label of the schema, in their order, the schema of the label's array.
    pub labels: Vec<ArraySchema>,
}

impl SchemaFile {
    /// The checked schema, ready to create an array with.
    ///
    /// # Errors
    /// `InvalidArgument` naming what breaks a rule.
    pub fn build(self) -> Result<Schema> {
        let SchemaFile { schema, enumerations, labels } = self;
        Schema::from_parts(schema, Definitions { enumerations, labels })
    }
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
    let value = parsed(text, "schema")?;
    read::schema(&value)
}

/// The attribute that JSON text describes, as in the list `attrs` of a schema.
///
/// # Errors
/// `InvalidArgument`, naming the place in the text.
pub fn attribute_from_json(text: &str) -> Result<Attribute> {
    let value = parsed(text, "attribute")?;
    read::lone_attribute(&value)
}

/// The enumeration that JSON text describes, as in the list `enumerations` of a schema.
///
/// # Errors
/// `InvalidArgument`, naming the place in the text.
pub fn enumeration_from_json(text: &str) -> Result<Enumeration> {
    let value = parsed(text, "enumeration")?;
    read::lone_enumeration(&value)
}

fn parsed(text: &str, what: &str) -> Result<Value> {
    let parsed = super::value_from_json(text);
    parsed.map_err(|error| {
        Error::invalid(format!("the {what} is no JSON that can be taken: {}", error.message()))
    })
}
