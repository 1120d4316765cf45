//! Writes of dimension labels: beside the cells of a dense array, or a file with one dimension and its labels.

use crate::cells::{Field, Region, along, cell_count_of, place};
use crate::failure::{Failure, Outcome};
use crate::ranges;
use smalti::format::ArraySchema;
use smalti::{Array, Column, ColumnRef, Duplicates, Extent, Layout, Progress, WriteRequest, WrittenFragment};
use std::sync::Arc;

/// Whether a file holds labels and, of a dense array, nothing else but one dimension. Labels stand beside the cells of
/// others.
pub(super) fn are_alone(schema: &ArraySchema, columns: &[(Field, Column)]) -> bool {
    let has_labels = columns.iter().any(|(field, _)| schema.label(&field.name).is_some());
    let dimension_count = columns.iter().filter(|(field, _)| field.is_dimension).count();
    let is_label = |(field, _): &(Field, Column)| field.is_dimension || schema.label(&field.name).is_some();
    let is_line = dimension_count == 1 && schema.dimensions.len() > 1;
    has_labels && (!schema.is_dense() || is_line || (columns.iter().all(is_label) && dimension_count == 1))
}

/// The columns of a write of cells in row-major order, with those of labels cut to one for each position.
pub(super) fn cut(
    schema: &ArraySchema,
    columns: Vec<(Field, Column)>,
    region: &Region,
) -> Outcome<Vec<(Field, Column)>> {
    let cut = |(field, column): (Field, Column)| match schema.label(&field.name) {
        Some(label) => along(&field, &column, region, label.dimension_idx as usize).map(|cut| (field, cut)),
        None => Ok((field, column)),
    };
    columns.into_iter().map(cut).collect()
}

/// Writes labels at the positions that stand beside them, which must follow each other.
pub(super) fn write(
    array: &Array,
    uri: &str,
    at: Option<u64>,
    columns: Vec<(Field, Column)>,
    work: &Arc<Progress>,
) -> Outcome<(WrittenFragment, usize)> {
    let schema = array.schema();
    let wrong = || {
        Failure::invalid(if schema.is_dense() {
            "labels come with all dimensions and attributes, or with their dimension alone"
        } else {
            "labels of a sparse array come from a file of their own, with one dimension and its labels"
        })
    };
    let mut dimensions = columns.iter().filter(|(field, _)| field.is_dimension);
    let (Some((dimension, positions)), None) = (dimensions.next(), dimensions.next()) else {
        return Err(wrong());
    };
    let (dim, _) = schema.dimension(&dimension.name).ok_or_else(wrong)?;
    let is_own = |(field, _): &(Field, Column)| {
        field.is_dimension
            || schema.label(&field.name).is_some_and(|label| label.dimension_idx as usize == dim)
    };
    if !columns.iter().all(is_own) {
        return Err(wrong());
    }
    let cell_count = cell_count_of(dimension, positions);
    let byte_len = dimension.cell_byte_len();
    let ordinal = |cell: usize| dimension.datatype.ordinal(positions.as_ref().cell(cell, byte_len));
    let ordinals = (0..cell_count).map(ordinal).collect::<smalti::Result<Vec<u64>>>()?;
    let lo = ordinals.iter().copied().min().ok_or_else(|| Failure::invalid("there are no rows to write"))?;
    let side = Extent::Num { lo, hi: ordinals.iter().copied().max().unwrap_or(lo) };
    let columns = place(columns, &Region::new(std::slice::from_ref(&side))?)?;
    let mut subarray: Vec<Extent> =
        (0..schema.dimensions.len()).map(|idx| ranges::whole(&schema, idx)).collect();
    subarray[dim] = side;
    let named: Vec<(String, ColumnRef<'_>)> =
        columns.iter().map(|(field, column)| (field.name.clone(), column.as_ref())).collect();
    let request = WriteRequest {
        columns: named,
        subarray: Some(subarray),
        layout: Layout::RowMajor,
        at,
        duplicates: Duplicates::default(),
        progress: Some(Arc::clone(work)),
    };
    Ok((array.write_raw(&request).map_err(|error| error.at_uri(uri))?, cell_count))
}
