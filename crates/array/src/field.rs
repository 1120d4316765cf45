//! Fields as schema, data files and fragment metadata know them together.

use smalti_format::fragment::FieldId;
use smalti_format::{ArraySchema, Version};
use smalti_tile::{CellShape, FieldFilters};
use smalti_types::{CellValNum, Datatype, Error, Result};
use std::num::NonZeroU32;

/// The name under which the write times of cells are read.
pub const TIMESTAMPS: &str = "__timestamps";

/// One of the three kinds of data file of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plane {
    /// Fixed-size values, or the offsets of var-sized ones.
    Fixed,
    /// Var-sized values.
    Var,
    /// Validity bytes.
    Validity,
}

/// The field of a name: a dimension, an attribute, or the cells' timestamps.
pub fn find_field(schema: &ArraySchema, name: &str) -> Option<FieldId> {
    if let Some((idx, _)) = schema.dimension(name) {
        return Some(FieldId::Dimension(idx));
    }
    if let Some((idx, _)) = schema.attribute(name) {
        return Some(FieldId::Attribute(idx));
    }
    (name == TIMESTAMPS).then_some(FieldId::Timestamps)
}

/// The name of a field.
pub fn field_name(schema: &ArraySchema, field: FieldId) -> &str {
    match field {
        FieldId::Attribute(idx) => schema.attributes.get(idx).map_or("", |attribute| &attribute.name),
        FieldId::Dimension(idx) => schema.dimensions.get(idx).map_or("", |dimension| &dimension.name),
        FieldId::Coordinates => "__coords",
        FieldId::Timestamps => TIMESTAMPS,
        FieldId::DeleteTimestamps => "__delete_timestamps",
        FieldId::DeleteConditionIndex => "__delete_condition_index",
    }
}

/// What the cells of a field are.
///
/// # Errors
/// `InvalidArgument` when the schema has no such field.
pub fn field_shape(schema: &ArraySchema, field: FieldId) -> Result<CellShape> {
    let missing = || Error::invalid("the schema has no such field");
    Ok(match field {
        FieldId::Attribute(idx) => {
            let attribute = schema.attributes.get(idx).ok_or_else(missing)?;
            CellShape {
                datatype: attribute.datatype,
                cell_val_num: attribute.cell_val_num,
                is_nullable: attribute.nullable,
            }
        }
        FieldId::Dimension(idx) => {
            let dimension = schema.dimensions.get(idx).ok_or_else(missing)?;
            CellShape {
                datatype: dimension.datatype,
                cell_val_num: dimension.cell_val_num,
                is_nullable: false,
            }
        }
        FieldId::Coordinates => {
            let count = u32::try_from(schema.dimensions.len()).ok().and_then(NonZeroU32::new);
            CellShape {
                datatype: schema.dimensions.first().ok_or_else(missing)?.datatype,
                cell_val_num: CellValNum::Fixed(count.ok_or_else(missing)?),
                is_nullable: false,
            }
        }
        FieldId::Timestamps | FieldId::DeleteTimestamps | FieldId::DeleteConditionIndex => {
            CellShape { datatype: Datatype::UInt64, cell_val_num: CellValNum::ONE, is_nullable: false }
        }
    })
}

/// The filters of a field's three kinds of tile, in fragments of a version.
///
/// # Errors
/// As [`field_shape`].
pub fn field_filters(schema: &ArraySchema, fragment: Version, field: FieldId) -> Result<FieldFilters<'_>> {
    let missing = || Error::invalid("the schema has no such field");
    let data = match field {
        FieldId::Attribute(idx) => &schema.attributes.get(idx).ok_or_else(missing)?.filters,
        FieldId::Dimension(idx) => {
            schema.coordinate_filters(schema.dimensions.get(idx).ok_or_else(missing)?, fragment)
        }
        _ => &schema.coords_filters,
    };
    Ok(FieldFilters { data, offsets: &schema.offsets_filters, validity: &schema.validity_filters })
}
