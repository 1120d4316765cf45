//! Attributes whose values are ordered along the array: those of dimension labels.

use super::columns::InputColumn;
use smalti_array::FieldId;
use smalti_format::{ArraySchema, DataOrder};
use smalti_types::{Error, Result};

/// Checks that the values of ordered attributes increase, or decrease, from cell to cell. Like the reference, it lets no two of
/// them be equal; and none be NaN, which has no place in an order.
///
/// # Errors
/// `InvalidArgument` names the first cell that is out of order.
pub(crate) fn check_ordered(schema: &ArraySchema, columns: &[InputColumn<'_>]) -> Result<()> {
    for column in columns {
        let FieldId::Attribute(idx) = column.field else { continue };
        let Some(attribute) = schema.attributes.get(idx) else { continue };
        let wanted = match attribute.order {
            DataOrder::Unordered => continue,
            DataOrder::Increasing => "increase",
            DataOrder::Decreasing => "decrease",
        };
        let is_increasing = attribute.order == DataOrder::Increasing;
        let Some(cell) = first_unordered(column, is_increasing)? else { continue };
        return Err(Error::invalid(format!(
            "the values of {:?} must {wanted}; that of cell {cell} does not",
            attribute.name
        )));
    }
    Ok(())
}

fn first_unordered(column: &InputColumn<'_>, is_increasing: bool) -> Result<Option<usize>> {
    let datatype = column.shape.datatype;
    if let Some(offsets) = column.cells.offsets {
        let label = |cell: usize| column.cells.cell(cell, 1);
        let mut cells = 1..offsets.len().saturating_sub(1);
        return Ok(cells.find(|&cell| {
            if is_increasing { label(cell - 1) >= label(cell) } else { label(cell - 1) <= label(cell) }
        }));
    }
    let mut front = None;
    for (cell, bytes) in column.cells.data.chunks_exact(datatype.byte_len()).enumerate() {
        let ordinal = datatype.ordinal(bytes)?;
        let breaks =
            front.is_some_and(|front| if is_increasing { front >= ordinal } else { front <= ordinal });
        let is_nan = datatype.is_float()
            && smalti_types::Scalar::read(datatype, bytes).is_ok_and(|value| value.as_f64().is_nan());
        if breaks || is_nan {
            return Ok(Some(cell));
        }
        front = Some(ordinal);
    }
    Ok(None)
}
