//! The columns of a write, checked against the schema.

use super::fragment_writer::WrittenField;
use super::request::WriteRequest;
use smalti_array::{FieldId, FragmentContent, Snapshot, field_name, field_shape, find_field};
use smalti_format::ArraySchema;
use smalti_tile::{CellShape, ColumnRef, StatsKind, check_offsets};
use smalti_types::{Error, Result};
use std::sync::Arc;

/// The cells of one field of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputColumn<'a> {
    pub(crate) field: FieldId,
    pub(crate) shape: CellShape,
    pub(crate) cells: ColumnRef<'a>,
}

impl<'a> InputColumn<'a> {
    /// The columns of all attributes, each of `cell_count` cells.
    ///
    /// # Errors
    /// `InvalidArgument` when a column is missing, unknown, given twice, or has another number of cells.
    pub(crate) fn of_attributes(
        schema: &ArraySchema,
        request: &WriteRequest<'a>,
        cell_count: usize,
    ) -> Result<Vec<InputColumn<'a>>> {
        let attributes = (0..schema.attributes.len()).map(FieldId::Attribute);
        collect(schema, request, attributes, cell_count)
    }

    /// The columns of all attributes, then all dimensions, each of `cell_count` cells.
    ///
    /// # Errors
    /// As [`of_attributes`](InputColumn::of_attributes).
    pub(crate) fn of_fields(
        schema: &ArraySchema,
        request: &WriteRequest<'a>,
        cell_count: usize,
    ) -> Result<Vec<InputColumn<'a>>> {
        let attributes = (0..schema.attributes.len()).map(FieldId::Attribute);
        let dimensions = (0..schema.dimensions.len()).map(FieldId::Dimension);
        collect(schema, request, attributes.chain(dimensions), cell_count)
    }
}

fn collect<'a>(
    schema: &ArraySchema,
    request: &WriteRequest<'a>,
    fields: impl Iterator<Item = FieldId>,
    cell_count: usize,
) -> Result<Vec<InputColumn<'a>>> {
    let mut columns = Vec::new();
    let mut names = Vec::new();
    for field in fields {
        let name = field_name(schema, field);
        let mut given = request.columns.iter().filter(|(column, _)| column == name);
        let Some((_, cells)) = given.next() else {
            return Err(Error::invalid(format!("the column {name:?} is missing; a write gives every field")));
        };
        if given.next().is_some() {
            return Err(Error::invalid(format!("the column {name:?} is given twice")));
        }
        let shape = field_shape(schema, field)?;
        check_column(name, *cells, shape, cell_count)?;
        columns.push(InputColumn { field, shape, cells: *cells });
        names.push(name.to_owned());
    }
    if let Some((unknown, _)) = request.columns.iter().find(|(column, _)| !names.contains(column)) {
        return Err(Error::invalid(format!(
            "there is no field {unknown:?} to write; the fields are {}",
            names.join(", ")
        )));
    }
    Ok(columns)
}

fn check_column(name: &str, cells: ColumnRef<'_>, shape: CellShape, cell_count: usize) -> Result<()> {
    let found = match cells.offsets {
        Some(offsets) if shape.is_var() => {
            check_offsets(offsets, cells.data.len(), shape.datatype.byte_len())
                .map_err(|error| Error::invalid(format!("column {name:?}: {}", error.message())))?;
            offsets.len() - 1
        }
        None if !shape.is_var() => {
            let byte_len = shape.cell_byte_len();
            if !cells.data.len().is_multiple_of(byte_len) {
                return Err(Error::invalid(format!(
                    "column {name:?} has {} bytes, which are no whole cells of {byte_len} bytes",
                    cells.data.len()
                )));
            }
            cells.data.len() / byte_len
        }
        Some(_) => {
            return Err(Error::invalid(format!(
                "column {name:?} has offsets, but its cells have a fixed size"
            )));
        }
        None => {
            return Err(Error::invalid(format!(
                "column {name:?} has no offsets, but its cells are var-sized"
            )));
        }
    };
    if found != cell_count {
        return Err(Error::invalid(format!("column {name:?} has {found} cells, {cell_count} are due")));
    }
    match (shape.is_nullable, cells.validity) {
        (false, None) => Ok(()),
        (true, Some(validity)) if validity.len() == cell_count => Ok(()),
        (true, Some(validity)) => Err(Error::invalid(format!(
            "column {name:?} has {} validity bytes for {cell_count} cells",
            validity.len()
        ))),
        (true, None) => {
            Err(Error::invalid(format!("column {name:?} is nullable; give a validity byte per cell")))
        }
        (false, Some(_)) => {
            Err(Error::invalid(format!("column {name:?} is not nullable, but has validity bytes")))
        }
    }
}

/// The number of cells of the first column of a write.
///
/// # Errors
/// `InvalidArgument` when there is no column or it is not one of the schema's.
pub(crate) fn cell_count(schema: &ArraySchema, request: &WriteRequest<'_>) -> Result<usize> {
    let (name, cells) = request.columns.first().ok_or_else(|| Error::invalid("the write has no columns"))?;
    let field = find_field(schema, name)
        .ok_or_else(|| Error::invalid(format!("there is no field {name:?} to write")))?;
    Ok(match cells.offsets {
        Some(offsets) => offsets.len().saturating_sub(1),
        None => cells.data.len() / field_shape(schema, field)?.cell_byte_len(),
    })
}

/// Codecs and statistics of the fields of a write.
///
/// # Errors
/// `Unsupported` for filters that cannot run.
pub(crate) fn written_fields(
    snapshot: &Snapshot,
    columns: &[InputColumn<'_>],
) -> Result<Arc<[WrittenField]>> {
    let fields: Vec<FieldId> = columns.iter().map(|column| column.field).collect();
    let content = FragmentContent::new(snapshot.schema(), snapshot.schema_name());
    fields_of_fragment(snapshot, &content, &fields)
}

/// Codecs and statistics of some fields of a fragment.
///
/// # Errors
/// `Unsupported` for filters that cannot run; `InvalidArgument` for a field that the fragment does not have.
pub(crate) fn fields_of_fragment(
    snapshot: &Snapshot,
    content: &FragmentContent,
    fields: &[FieldId],
) -> Result<Arc<[WrittenField]>> {
    let schema = snapshot.schema();
    let slots = schema.shape();
    fields
        .iter()
        .map(|&field| {
            let shape = field_shape(schema, field)?;
            let is_dimension = matches!(field, FieldId::Dimension(_));
            Ok(WrittenField {
                field,
                slot: content.slot(&slots, field)?,
                shape,
                codec: snapshot.place().field_codec(schema, schema.write_version(), field)?,
                stats: StatsKind::new(shape.datatype, shape.cell_val_num, is_dimension),
            })
        })
        .collect()
}
