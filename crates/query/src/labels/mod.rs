//! Dimension labels in reads and writes of the array that they belong to.
//!
//! A label's values are the ordered attribute of a dense array along one dimension. A range of labels is searched there and
//! becomes a range of positions; a label that is read as a field is looked up by the position of each cell; a column of
//! labels in a write becomes a fragment of the label's array.

mod alone;
mod fields;
mod line;
mod lookup;
mod side;

pub(crate) use alone::LabelsAlone;
pub(crate) use fields::LabelFields;
pub(crate) use side::side_of;

use crate::request::{LabelRange, ReadRequest};
use line::LabelLine;
use smalti_array::Snapshot;
use smalti_types::{Error, Result};

/// A read with its ranges of labels as ranges of positions; `None` where a dimension has no positions in them.
///
/// # Errors
/// `NotFound` for an unknown label; `InvalidArgument` when a dimension has ranges of several kinds, or its labels have gaps or
/// are out of order; what reading labels reports.
pub(crate) fn resolved(snapshot: &Snapshot, request: &ReadRequest) -> Result<Option<ReadRequest>> {
    let mut resolved = ReadRequest { label_ranges: Vec::new(), ..request.clone() };
    let dim_count = snapshot.schema().dimensions.len();
    resolved.ranges.resize(resolved.ranges.len().max(dim_count), Vec::new());
    let mut labelled: Vec<(usize, &str)> = Vec::new();
    for LabelRange { label: name, ranges } in &request.label_ranges {
        let label = snapshot.find_label(name)?;
        let dim = label.dimension_idx as usize;
        let other = labelled.iter().find(|(other, _)| *other == dim).map(|(_, name)| *name);
        let other = other.or_else(|| {
            let given = request.ranges.get(dim).is_some_and(|ranges| !ranges.is_empty());
            given.then(|| snapshot.schema().dimensions[dim].name.as_str())
        });
        if let Some(other) = other {
            return Err(Error::invalid(format!(
                "ranges of the label {name:?} and of {other:?} are for one dimension; give ranges of one of them"
            )));
        }
        labelled.push((dim, name));
        let named = |error: Error| error.context(format_args!("dimension label {name:?}"));
        let Some(line) = LabelLine::open(snapshot, label, request).map_err(named)? else { return Ok(None) };
        for range in ranges {
            resolved.ranges[dim].extend(line.positions(range.as_ref()).map_err(named)?);
        }
        if resolved.ranges[dim].is_empty() {
            return Ok(None);
        }
    }
    Ok(Some(resolved))
}
