//! Codes of enumerations: a write stores no code that has no label.
//!
//! The reference stores any. What cells hold that nobody wrote is let through too, so that what a dense read gives can be
//! written back; and null cells may hold anything.

use super::columns::InputColumn;
use smalti_array::{FieldId, Snapshot};
use smalti_types::{Datatype, Error, Physical, Result, Scalar, dispatch_physical};

/// Checks the codes in all columns of attributes with an enumeration.
///
/// # Errors
/// `InvalidArgument` names the first cell whose code has no label; what reading the enumeration reports.
pub(crate) fn check_codes(snapshot: &Snapshot, columns: &[InputColumn<'_>]) -> Result<()> {
    for column in columns {
        let FieldId::Attribute(idx) = column.field else { continue };
        let Some(attribute) = snapshot.schema().attributes.get(idx) else { continue };
        let Some(name) = &attribute.enumeration else { continue };
        let label_count = snapshot.enumeration(name)?.element_count() as u64;
        let datatype = column.shape.datatype;
        let outside = dispatch_physical!(datatype, T => {
            first_outside::<T>(column, label_count, datatype, &attribute.fill_value)
        });
        let Some(cell) = outside else { continue };
        let code = Scalar::read(datatype, column.cells.cell(cell, datatype.byte_len()))?;
        let valid = match label_count.checked_sub(1) {
            Some(last) => format!("codes from 0 to {last}"),
            None => "no codes yet".to_owned(),
        };
        return Err(Error::invalid(format!(
            "cell {cell} of attribute {:?} has the code {code}, but the enumeration {name:?} has {valid}; extend the \
             enumeration, or write another code",
            attribute.name
        )));
    }
    Ok(())
}

/// The first cell that is not null and whose value is neither the index of a label nor the fill value.
fn first_outside<T: Physical>(
    column: &InputColumn<'_>,
    label_count: u64,
    datatype: Datatype,
    fill: &[u8],
) -> Option<usize> {
    // Ordinals keep the order of values, so that codes are an interval of them.
    let zero = datatype.ordinal(&vec![0; datatype.byte_len()]).ok()?;
    let fill = datatype.ordinal(fill).ok();
    let cells = column.cells;
    cells.data.chunks_exact(size_of::<T>()).enumerate().position(|(cell, bytes)| {
        let ordinal = bytemuck::pod_read_unaligned::<T>(bytes).ordinal();
        ordinal.wrapping_sub(zero) >= label_count && Some(ordinal) != fill && cells.is_valid(cell)
    })
}
