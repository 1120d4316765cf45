//! Imports into dense arrays: of NumPy files, which are grids, and of tables whose rows fill one.

use super::npy::{self, Member};
use super::options::Format;
use super::source::{Rows, Source, Watched};
use super::write::{Written, published};
use crate::cells::{Field, Region, place_with};
use crate::failure::{Failure, Outcome};
use crate::formats::{Room, gather};
use crate::notation::{Dates, Enums, Notation};
use arrow_array::RecordBatch;
use smalti::{
    AlignedBuf, Array, Column, ColumnRef, Duplicates, Extent, Layout, Phase, SealedFragment, Unit,
    WriteRequest,
};
use std::path::Path;
use std::sync::Arc;

/// Makes fragments of rectangles, visible together.
struct Sealing<'a> {
    array: &'a Array,
    at: Option<u64>,
    watched: &'a Watched<'a>,
    sealed: Vec<SealedFragment>,
}

impl<'a> Sealing<'a> {
    fn new(array: &'a Array, at: Option<u64>, watched: &'a Watched<'a>) -> Self {
        Sealing { array, at, watched, sealed: Vec::new() }
    }

    fn write(
        &mut self,
        columns: Vec<(String, ColumnRef<'_>)>,
        sides: Vec<Extent>,
        layout: Layout,
    ) -> Outcome {
        let at = self.at.or_else(|| self.sealed.first().map(SealedFragment::timestamp));
        let duplicates = Duplicates::default();
        let progress = Some(Arc::clone(self.watched.work));
        let request = WriteRequest { columns, subarray: Some(sides), layout, at, duplicates, progress };
        self.sealed.push(self.array.seal_raw(&request)?);
        self.watched.work.complete(Phase::Syncing);
        self.watched.resume();
        Ok(())
    }

    fn commit(self, row_count: u64) -> Outcome<Written> {
        let timestamp = self.sealed.first().map_or(0, SealedFragment::timestamp);
        let fragments = published(self.array, self.sealed, self.watched.work)?;
        let fragments = fragments.iter().map(|fragment| fragment.name().to_owned()).collect();
        Ok(Written { row_count, fragments, timestamp })
    }
}

/// Writes the values of a NumPy file, in slabs of whole tiles. `starts` are the ordinals of their first position on each dimension.
pub(super) fn write_npy(
    path: &Path,
    format: Format,
    members: &[Member],
    array: &Array,
    at: Option<u64>,
    memory: usize,
    watched: &Watched<'_>,
) -> Outcome<Written> {
    let schema = array.schema();
    let Some(first) = members.first() else { return Err(Failure::invalid("there are no values to import")) };
    let shape = &first.shape;
    let cell_count = shape.iter().try_fold(1_usize, |count, len| count.checked_mul(*len));
    let cell_count = cell_count.ok_or_else(|| Failure::invalid("more values than memory can address"))?;
    let starts: Vec<u64> = schema
        .dimensions
        .iter()
        .enumerate()
        .map(|(idx, _)| match crate::ranges::whole(&schema, idx) {
            Extent::Num { lo, .. } => Ok(lo),
            Extent::Str { .. } => Err(Failure::invalid("string dimensions are no axes")),
        })
        .collect::<Outcome<_>>()?;
    // The axis that varies slowest is cut.
    let axis = if first.is_fortran { shape.len().saturating_sub(1) } else { 0 };
    let layout = if first.is_fortran { Layout::ColMajor } else { Layout::RowMajor };
    let len = shape.get(axis).copied().unwrap_or(1);
    let cells_of_line = cell_count.checked_div(len).unwrap_or(0);
    let width: usize = members.iter().map(|member| member.datatype.byte_len()).sum();
    let extent = tile_extent(array, axis);
    let lines = (memory / 3 / cells_of_line.saturating_mul(width).max(1)).max(1);
    // Whole tiles where they fit; a tile that does not is written in parts.
    let lines = if lines >= extent { lines / extent * extent } else { extent };
    watched.begin(Unit::Bytes, Some((cell_count * width) as u64));
    let mut sealing = Sealing::new(array, at, watched);
    npy::with_values(path, format, members, |inputs| {
        for start in (0..len).step_by(lines.max(1)) {
            watched.check()?;
            let count = lines.min(len - start);
            let mut columns: Vec<(String, Column)> = Vec::new();
            for (member, input) in members.iter().zip(inputs.iter_mut()) {
                let data = npy::values(input, member, count * cells_of_line)
                    .map_err(|failure| failure.at(path.display().to_string()))?;
                watched.advance(Unit::Bytes, data.len() as u64);
                columns.push((member.name.clone(), filled_validity(array, &member.name, data)?));
            }
            let sides = shape.iter().enumerate().map(|(idx, len)| {
                let (from, count) = if idx == axis { (start, count) } else { (0, *len) };
                let lo = starts[idx] + from as u64;
                Extent::Num { lo, hi: lo + count as u64 - 1 }
            });
            let named = columns.iter().map(|(name, column)| (name.clone(), column.as_ref())).collect();
            sealing.write(named, sides.collect(), layout)?;
        }
        Ok(())
    })?;
    sealing.commit(cell_count as u64)
}

fn filled_validity(array: &Array, name: &str, data: AlignedBuf) -> Outcome<Column> {
    let mut column = Column { data, ..Column::default() };
    if let Some((_, attribute)) = array.schema().attribute(name)
        && attribute.nullable
    {
        let mut validity = AlignedBuf::new();
        validity.extend_from_slice(&vec![1; column.data.len() / attribute.datatype.byte_len().max(1)])?;
        column.validity = Some(validity);
    }
    Ok(column)
}

fn tile_extent(array: &Array, axis: usize) -> usize {
    let extent = array.schema().dimensions.get(axis).and_then(|dimension| dimension.tile_extent);
    let extent = extent.and_then(|extent| extent.as_i128()).and_then(|extent| usize::try_from(extent).ok());
    extent.unwrap_or(1).max(1)
}

/// Writes the rows of a table where their coordinates say. Cells without a row are fill values in a new array, and refused in others.
pub(super) fn write_table(
    source: &Source<'_>,
    array: &Array,
    is_new: bool,
    sides: &[Extent],
    converted: &dyn Fn(Rows) -> Outcome<Rows>,
    (row_count, at, memory): (u64, Option<u64>, usize),
    watched: &Watched<'_>,
) -> Outcome<Written> {
    let whole = Region::new(sides)?;
    let cell_count = whole.cell_count()?;
    if cell_count as u64 > row_count.saturating_mul(4).saturating_add(1 << 16) {
        return Err(Failure::invalid(format!(
            "{row_count} rows in a grid of {cell_count} cells; make a sparse array, without --dense"
        )));
    }
    let notation = Notation { dates: Dates::Iso, enums: Enums::Labels };
    let fields = Field::of_array(array, notation)?;
    let width: usize = fields.iter().map(|field| field.cell_byte_len().max(16) + 1).sum();
    let (lo, hi) = whole.ranges.first().copied().unwrap_or_default();
    let line_cell_count = cell_count / usize::try_from(hi - lo + 1).unwrap_or(usize::MAX).max(1);
    let extent = tile_extent(array, 0) as u64;
    let lines = ((memory / 3 / line_cell_count.saturating_mul(width).max(1)) as u64).max(1);
    let lines = if lines >= extent { lines / extent * extent } else { extent };
    // A slab begins where a tile does.
    let origin = match array.schema().dimensions.first().and_then(|dimension| dimension.domain) {
        Some((lo, _)) => lo.ordinal(),
        None => lo,
    };
    let slab_of = |ordinal: u64| (ordinal - origin) / lines;
    let fill = |field: &Field| {
        let schema = array.schema();
        let (_, attribute) = schema.attribute(&field.name)?;
        (!attribute.nullable || attribute.fill_valid).then(|| attribute.fill_value.clone())
    };
    let mut sealing = Sealing::new(array, at, watched);
    let mut slab: Vec<RecordBatch> = Vec::new();
    let mut current: Option<u64> = None;
    let mut first: Option<(usize, u64)> = None;
    let first_dimension = array.schema().dimensions[0].name.clone();
    let shape = fields[0].shown_shape();
    let mut flush = |slab: &mut Vec<RecordBatch>, idx: u64, first: Option<(usize, u64)>| -> Outcome {
        let mut sides = sides.to_vec();
        let start = origin + idx * lines;
        sides[0] = Extent::Num { lo: start.max(lo), hi: (start + lines - 1).min(hi) };
        let region = Region::new(&sides)?;
        let (file, row) = first.unwrap_or_default();
        let behind = |failure: Failure| match failure {
            Failure::Error(error) if row == 0 => source.in_file(file, Failure::Error(error)),
            Failure::Error(error) => {
                Failure::invalid(format!("counted from {} on: {}", source.place(file, row), error.message()))
            }
            other => other,
        };
        let columns =
            gather(std::mem::take(slab).into_iter().map(Ok), &fields, &Room::unlimited(), &mut |_| Ok(()))
                .map_err(behind)?;
        let fills = is_new.then_some(&fill as &dyn Fn(&Field) -> Option<Vec<u8>>);
        let placed = place_with(columns, &region, fills).map_err(behind)?;
        let named = placed.iter().map(|(field, column)| (field.name.clone(), column.as_ref())).collect();
        sealing.write(named, sides, Layout::RowMajor)
    };
    source.stream(watched, &mut |rows: Rows| {
        watched.check()?;
        let rows = converted(rows)?;
        let column = rows.batch.column_by_name(&first_dimension);
        let column = column.ok_or_else(|| Failure::invalid(format!("column {first_dimension:?} is missing")))?;
        let column = smalti::arrow::arrow_column(column, shape)?;
        let width = shape.datatype.byte_len();
        let slabs = column.data.as_slice().chunks_exact(width).map(|bytes| shape.datatype.ordinal(bytes).map(slab_of));
        let slabs = slabs.collect::<smalti::Result<Vec<u64>>>()?;
        let mut start = 0;
        for part in slabs.chunk_by(|a, b| a == b) {
            let idx = part[0];
            let row = rows.first_row + start as u64;
            match current {
                Some(before) if before == idx => {}
                Some(before) if before > idx => {
                    return Err(Failure::invalid(format!(
                        "{}: the rows are not sorted by {first_dimension:?}, and do not fit into memory together; sort them, give \
                         more --memory, or make a sparse array, without --dense",
                        source.place(rows.file, row)
                    )));
                }
                before => {
                    if let Some(before) = before {
                        flush(&mut slab, before, first.take())?;
                    }
                    current = Some(idx);
                }
            }
            first.get_or_insert((rows.file, row));
            slab.push(rows.batch.slice(start, part.len()));
            start += part.len();
        }
        Ok(())
    })?;
    if let Some(idx) = current {
        flush(&mut slab, idx, first)?;
    }
    sealing.commit(row_count)
}
