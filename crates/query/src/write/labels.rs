//! Writes that bring labels of dimensions.

use super::cells::write_cells;
use super::dense::check_dense;
use super::request::{Duplicates, Unchecked, WriteRequest};
use crate::labels::side_of;
use smalti_array::{NewFragment, Snapshot};
use smalti_format::DimensionLabel;
use smalti_tile::ColumnRef;
use smalti_types::{Error, Layout, Result};

/// A column of labels on its way into the array of its label.
struct LabelWrite<'a> {
    array: Snapshot,
    request: WriteRequest<'a>,
}

/// Writes cells and labels with one timestamp, each as a fragment of its own array, and returns the name of the fragment of
/// cells, or of the first fragment of labels where there are no cells.
///
/// Everything is checked before anything is written; after that a failure of the store can leave cells without labels.
///
/// # Errors
/// `InvalidArgument` names the column, cell or range that is wrong; nothing is written then.
pub(crate) fn write_labels(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<String> {
    let schema = snapshot.schema();
    let at = Some(NewFragment::stamp(snapshot, request.at));
    let mut cells = WriteRequest { columns: Vec::new(), at, ..request.clone() };
    let mut writes: Vec<LabelWrite<'_>> = Vec::new();
    for (name, column) in &request.columns {
        let Some(label) = schema.label(name) else {
            cells.columns.push((name.clone(), *column));
            continue;
        };
        let write = label_write(snapshot, label, *column, request, at)?;
        check_dense(&write.array, &write.request)
            .map_err(|error| error.context(format_args!("dimension label {name:?}")))?;
        writes.push(write);
    }
    let mut name = None;
    if !cells.columns.is_empty() {
        if !schema.is_dense() {
            return Err(Error::unsupported(
                "labels of a sparse array are written on their own, along a range of their dimension",
            ));
        }
        name = Some(write_cells(snapshot, &cells, Unchecked::default())?);
    }
    if let Some(progress) = request.progress.as_ref().filter(|_| name.is_none()) {
        progress.check()?;
    }
    // From the first commit on the write goes to its end.
    for write in &writes {
        let written = write_cells(&write.array, &write.request, Unchecked::default())?;
        name.get_or_insert(written);
    }
    name.ok_or_else(|| Error::invalid("the write has no columns"))
}

fn label_write<'a>(
    snapshot: &Snapshot,
    label: &DimensionLabel,
    column: ColumnRef<'a>,
    request: &WriteRequest<'_>,
    at: Option<u64>,
) -> Result<LabelWrite<'a>> {
    let side = side_of(snapshot.schema(), label, request.subarray.as_deref())?;
    let request = WriteRequest {
        columns: vec![(label.attribute.clone(), column)],
        subarray: Some(vec![side]),
        layout: Layout::RowMajor,
        at,
        duplicates: Duplicates::Refuse,
        progress: None,
    };
    Ok(LabelWrite { array: snapshot.open_label(label)?, request })
}
