//! The fields that a read hands out, and the orders that it has.

use crate::request::{ResultField, TIMESTAMPS_FIELD};
use smalti_array::{FieldId, field_name, field_shape, find_field};
use smalti_format::ArraySchema;
use smalti_types::{Error, Layout, Result};

/// The order of a read's cells.
pub(crate) fn check_layout(schema: &ArraySchema, asked: Option<Layout>) -> Result<Layout> {
    let layout = asked.unwrap_or(if schema.is_dense() { Layout::RowMajor } else { Layout::GlobalOrder });
    match layout {
        Layout::Hilbert => {
            Err(Error::invalid("hilbert is no order to read in; use global on a Hilbert array"))
        }
        // The fastest order of a dense array.
        Layout::Unordered if schema.is_dense() => Ok(Layout::RowMajor),
        layout => Ok(layout),
    }
}

/// The fields of a read: those asked for, or all dimensions, then all attributes.
pub(crate) fn result_fields(schema: &ArraySchema, asked: &[String]) -> Result<Vec<(FieldId, ResultField)>> {
    let mut ids = Vec::new();
    if asked.is_empty() {
        ids.extend((0..schema.dimensions.len()).map(FieldId::Dimension));
        ids.extend((0..schema.attributes.len()).map(FieldId::Attribute));
    }
    for name in asked {
        let id = find_field(schema, name).filter(|id| *id != FieldId::Timestamps || !schema.is_dense());
        let id = id.ok_or_else(|| unknown_field(schema, name))?;
        ids.push(id);
    }
    ids.into_iter().map(|id| result_field(schema, id)).collect()
}

/// A field as a read hands it out.
pub(crate) fn result_field(schema: &ArraySchema, id: FieldId) -> Result<(FieldId, ResultField)> {
    let field = ResultField {
        name: field_name(schema, id).to_owned(),
        shape: field_shape(schema, id)?,
        is_dimension: matches!(id, FieldId::Dimension(_)),
    };
    Ok((id, field))
}

fn unknown_field(schema: &ArraySchema, name: &str) -> Error {
    if name == TIMESTAMPS_FIELD {
        return Error::invalid("cells of dense arrays have no timestamps; leave out __timestamps");
    }
    let mut names: Vec<&str> = schema.fields().map(|field| field.name()).collect();
    names.extend(schema.dimension_labels.iter().map(|label| label.name.as_str()));
    Error::invalid(format!("there is no field {name:?}; the fields are {}", names.join(", ")))
}
