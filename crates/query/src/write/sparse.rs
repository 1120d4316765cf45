//! Writes cells of a sparse array: in any order, or in global order.

use super::codes::check_codes;
use super::columns::{InputColumn, cell_count, written_fields};
use super::fragment_writer::{Counted, FragmentExtent, FragmentWriter, TileCells, WrittenField};
use super::request::{Duplicates, Naming, Unchecked, WriteRequest, check_layout};
use crate::progress::{Phase, Progress, Unit};
use crate::show;
use crate::sparse::cell_order;
use crate::workspace::SpareColumn;
use rayon::prelude::*;
use smalti_array::{FieldId, NewFragment, Snapshot};
use smalti_format::{ArraySchema, Dimension};
use smalti_space::{
    BitMask, Check, Column as CoordColumn, Interval, KeyLayout, OrderKeys, Permutation, SortedCells,
    SortedKeys, column_bounds, hull, tile_mbrs,
};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel::{self, Shareable as _};
use smalti_types::{Datatype, Error, Extent, ExtentRef, Layout, RectList, Result, Scalar};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of unfiltered cells of a group of tiles: what waits at most for a store that is slow.
pub(super) const GROUP_BYTE_LEN: usize = 64 << 20;

/// Writes cells as a fragment without its commit.
///
/// # Errors
/// `InvalidArgument` when a column is missing, unknown or of another length, a coordinate lies outside the domain, cells
/// repeat, or are not in the order promised; the cell is named. What codecs and store report.
pub(super) fn seal_sparse(
    snapshot: &Snapshot,
    request: &WriteRequest<'_>,
    unchecked: Unchecked,
    name: Naming<'_>,
) -> Result<NewFragment> {
    let schema = snapshot.schema();
    check_layout(schema, request.layout)?;
    if request.subarray.is_some() {
        return Err(Error::invalid("a sparse write takes no range: its cells bring their coordinates"));
    }
    let cell_count = cell_count(schema, request)?;
    if cell_count == 0 {
        return Err(Error::invalid("there are no cells to write"));
    }
    let progress = request.progress.clone().unwrap_or_default();
    let check = || progress.check();
    progress.enter(Phase::Validating, Unit::Cells, Some(cell_count as u64));
    let columns = InputColumn::of_fields(schema, request, cell_count)?;
    check_codes(snapshot, &columns)?;
    check()?;
    let coords = coordinates(schema, &columns)?;
    check_domain(schema, &coords, unchecked)?;
    progress.complete(Phase::Validating);
    check()?;
    // Keys, order, duplicates.
    progress.enter(Phase::Sorting, Unit::Steps, Some(3));
    let layout = key_layout(schema, &coords)?;
    let keys = layout.keys(&coords, &check)?;
    progress.reach(Phase::Sorting, Unit::Steps, 1);
    let is_compared = compares_cells(schema, request.duplicates);
    let (order, repeats, sorted_keys) = match request.layout {
        Layout::GlobalOrder => {
            check_global_order(schema, &coords, &keys, 0, unchecked)?;
            let order = Permutation::Identity(cell_count);
            let repeats = is_compared.then(|| keys.repeats(&order, &check)).transpose()?;
            (order, repeats, None)
        }
        _ => {
            let sorted = SortedCells::new(&keys, &check)?;
            progress.reach(Phase::Sorting, Unit::Steps, 2);
            let repeats = is_compared.then(|| sorted.repeats(&keys, &check)).transpose()?;
            let (order, sorted_keys) = sorted.into_parts();
            (order, repeats, sorted_keys)
        }
    };
    let order = match repeats {
        Some(repeats) => without_repeats(schema, &coords, order, &repeats, request.duplicates, 0)?,
        None => order,
    };
    progress.complete(Phase::Sorting);
    drop(keys);
    // They are of all cells.
    let sorted_keys = sorted_keys.filter(|_| order.len() == cell_count && layout.tells_coordinates());
    let keyed = sorted_keys.map(|keys| KeyedCells { layout, keys });
    let fields = written_fields(snapshot, &columns)?;
    let mut writer = SparseWriter::new(name()?, Arc::clone(&fields), schema, Arc::clone(&progress));
    let tile_count = order.len().div_ceil(writer.capacity()) as u64;
    progress.enter(Phase::Writing, Unit::Tiles, Some(tile_count * fields.len() as u64));
    let cells: Vec<ColumnRef<'_>> = columns.iter().map(|column| column.cells).collect();
    writer.append(&cells, &order, keyed.as_ref(), 0..order.len())?;
    writer.seal()
}

/// The keys of sorted cells, which tell their coordinates.
pub(crate) struct KeyedCells {
    layout: KeyLayout,
    keys: SortedKeys,
}

/// A sparse fragment that grows tile by tile.
pub(crate) struct SparseWriter {
    writer: FragmentWriter,
    fields: Arc<[WrittenField]>,
    rects: RectList,
    capacity: usize,
    last_tile_cell_count: u64,
}

impl SparseWriter {
    pub(crate) fn new(
        new: NewFragment,
        fields: Arc<[WrittenField]>,
        schema: &ArraySchema,
        progress: Arc<Progress>,
    ) -> Self {
        let is_string: Vec<bool> = schema.dimensions.iter().map(Dimension::is_var).collect();
        SparseWriter {
            writer: FragmentWriter::new(new, Arc::clone(&fields), progress),
            fields,
            rects: RectList::new(is_string),
            capacity: usize::try_from(schema.capacity).unwrap_or(usize::MAX).max(1),
            last_tile_cell_count: 0,
        }
    }

    /// Cells of a full tile.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether a tile was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.rects.is_empty()
    }

    /// Appends the cells at some positions of an order, in tiles of the array's capacity; the last may have fewer. Where keys tell their
    /// coordinates, these are not gathered from all over their columns.
    pub(crate) fn append(
        &mut self,
        columns: &[ColumnRef<'_>],
        order: &Permutation,
        keyed: Option<&KeyedCells>,
        positions: Range<usize>,
    ) -> Result<()> {
        let (start, len) = (positions.start, positions.len());
        let tile_count = len.div_ceil(self.capacity);
        let capacity = self.capacity;
        let cells_of = |tile: usize| start + tile * capacity..start + ((tile + 1) * capacity).min(len);
        // Coordinates are needed in order twice, for the tiles and for their rectangles.
        let in_order = |(field, cells): (&WrittenField, &ColumnRef<'_>)| match field.field {
            FieldId::Dimension(dim) if !order.is_identity() => {
                let spare = &mut SpareColumn::default();
                let Some(KeyedCells { layout, keys }) = keyed else {
                    return take(*cells, field.shape, order, positions.clone(), spare).map(Some);
                };
                let mut column = spare.column(len * field.shape.cell_byte_len(), None, None)?;
                layout.coordinates(dim, keys, positions.clone(), column.data.as_mut_slice())?;
                Ok(Some(column))
            }
            _ => Ok(None),
        };
        let ordered: Vec<Option<Column>> = self.fields.par_iter().zip(columns).steps(in_order)?;
        let mut dims = Vec::new();
        for ((field, cells), ordered) in self.fields.iter().zip(columns).zip(&ordered) {
            if matches!(field.field, FieldId::Dimension(_)) {
                let (cells, range) = match ordered {
                    Some(column) => (column.as_ref(), 0..len),
                    None => (*cells, positions.clone()),
                };
                dims.push(coord_slice(cells, field.shape.datatype, range)?);
            }
        }
        let rects = tile_mbrs(&dims, capacity)?;
        for tile in 0..rects.len() {
            for dim in 0..rects.dim_count() {
                self.rects.push_extent(rects.extent(tile, dim))?;
            }
        }
        // Of var-sized cells the mean of all that are there.
        let values = |(field, cells): (&WrittenField, &ColumnRef<'_>)| match cells.offsets {
            Some(offsets) => cells.data.len().checked_div(offsets.len()).unwrap_or(0),
            None => field.shape.cell_byte_len(),
        };
        let cell_byte_len: usize =
            self.fields.iter().zip(columns).map(|field| values(field).saturating_add(8)).sum();
        let group_len = (GROUP_BYTE_LEN / capacity.saturating_mul(cell_byte_len).max(1))
            .clamp(parallel::thread_count(), 1 << 16);
        let fields = Arc::clone(&self.fields);
        self.writer.append(0..tile_count, group_len, |tile, field, spare| {
            let shape = fields[field].shape;
            let positions = cells_of(tile);
            let column = match &ordered[field] {
                Some(column) => {
                    let range = positions.start - start..positions.end - start;
                    take(column.as_ref(), shape, &Permutation::Identity(len), range, spare)?
                }
                None => take(columns[field], shape, order, positions, spare)?,
            };
            Ok(TileCells { column, counted: Counted::All })
        })?;
        if len > 0 {
            self.last_tile_cell_count = (len - (tile_count - 1) * capacity) as u64;
        }
        Ok(())
    }

    /// Commits the fragment.
    pub(crate) fn commit(self) -> Result<String> {
        let (writer, extent) = self.finished()?;
        writer.commit(extent)
    }

    /// The fragment on its way.
    pub(crate) fn fragment_writer(&self) -> &FragmentWriter {
        &self.writer
    }

    /// Makes all of the fragment durable but its commit.
    pub(crate) fn seal(self) -> Result<NewFragment> {
        let (writer, extent) = self.finished()?;
        writer.seal(extent)
    }

    fn finished(self) -> Result<(FragmentWriter, FragmentExtent)> {
        let non_empty_domain: Vec<Extent> =
            hull(&self.rects).ok_or_else(|| Error::invalid("there are no cells to write"))?;
        let tile_count = self.rects.len() as u64;
        let extent = FragmentExtent {
            rects: Some(self.rects),
            non_empty_domain,
            tile_count,
            last_tile_cell_count: self.last_tile_cell_count,
        };
        Ok((self.writer, extent))
    }
}

/// The cells at some positions of an order, as a column of their own, in spare memory as far as it goes.
pub(crate) fn take(
    cells: ColumnRef<'_>,
    shape: CellShape,
    order: &Permutation,
    positions: Range<usize>,
    spare: &mut SpareColumn,
) -> Result<Column> {
    let len = positions.len();
    let validity_len = cells.validity.map(|_| len);
    let mut column;
    if let Some(offsets) = cells.offsets {
        let byte_len: u64 = match order {
            Permutation::Identity(_) => offsets[positions.end] - offsets[positions.start],
            Permutation::Indices(indices) => indices[positions.clone()]
                .iter()
                .map(|&cell| offsets[cell as usize + 1] - offsets[cell as usize])
                .sum(),
        };
        column = spare.column(byte_len as usize, Some((len + 1) * 8), validity_len)?;
        let Some(ends) = &mut column.offsets else { return Ok(column) };
        let places = ends.values_mut::<u64>();
        places[0] = 0;
        let mut at = 0;
        for (place, position) in places[1..].iter_mut().zip(positions.clone()) {
            let cell = cell_at(order, position);
            at += offsets[cell + 1] - offsets[cell];
            *place = at;
        }
        let bytes = column.data.as_mut_slice();
        if order.is_identity() {
            let first = offsets[positions.start] as usize;
            bytes.copy_from_slice(&cells.data[first..first + at as usize]);
        } else {
            let mut at = 0;
            for position in positions.clone() {
                let cell = cell_at(order, position);
                let value = &cells.data[offsets[cell] as usize..offsets[cell + 1] as usize];
                bytes[at..at + value.len()].copy_from_slice(value);
                at += value.len();
            }
        }
    } else {
        column = spare.column(len * shape.cell_byte_len(), None, validity_len)?;
        take_fixed(cells.data, shape.cell_byte_len(), order, positions.clone(), column.data.as_mut_slice());
    }
    if let (Some(validity), Some(taken)) = (cells.validity, &mut column.validity) {
        take_fixed(validity, 1, order, positions, taken.as_mut_slice());
    }
    Ok(column)
}

fn take_fixed(data: &[u8], byte_len: usize, order: &Permutation, positions: Range<usize>, bytes: &mut [u8]) {
    let Permutation::Indices(indices) = order else {
        bytes.copy_from_slice(&data[positions.start * byte_len..positions.end * byte_len]);
        return;
    };
    let indices = &indices[positions];
    fn pick<const N: usize>(data: &[u8], indices: &[u32], out: &mut [u8]) {
        let cells = data.as_chunks::<N>().0;
        for (place, &cell) in out.as_chunks_mut::<N>().0.iter_mut().zip(indices) {
            *place = cells[cell as usize];
        }
    }
    match byte_len {
        1 => pick::<1>(data, indices, bytes),
        2 => pick::<2>(data, indices, bytes),
        4 => pick::<4>(data, indices, bytes),
        8 => pick::<8>(data, indices, bytes),
        _ => {
            for (place, &cell) in bytes.chunks_exact_mut(byte_len).zip(indices) {
                place.copy_from_slice(&data[cell as usize * byte_len..][..byte_len]);
            }
        }
    }
}

fn cell_at(order: &Permutation, position: usize) -> usize {
    match order {
        Permutation::Identity(_) => position,
        Permutation::Indices(indices) => indices[position] as usize,
    }
}

/// The columns of the dimensions, as orders and rectangles want them.
pub(crate) fn coordinates<'a>(
    schema: &ArraySchema,
    columns: &[InputColumn<'a>],
) -> Result<Vec<CoordColumn<'a>>> {
    let mut coords = Vec::with_capacity(schema.dimensions.len());
    for dim in 0..schema.dimensions.len() {
        let column = columns
            .iter()
            .find(|column| column.field == FieldId::Dimension(dim))
            .ok_or_else(|| Error::invalid("a write gives every dimension"))?;
        coords.push(coord_column(column.cells, column.shape.datatype)?);
    }
    Ok(coords)
}

pub(crate) fn coord_column(cells: ColumnRef<'_>, datatype: Datatype) -> Result<CoordColumn<'_>> {
    match cells.offsets {
        Some([starts @ .., _]) => CoordColumn::strings(starts, cells.data),
        _ => CoordColumn::numbers(datatype, cells.data),
    }
}

fn coord_slice(cells: ColumnRef<'_>, datatype: Datatype, range: Range<usize>) -> Result<CoordColumn<'_>> {
    Ok(coord_column(cells, datatype)?.slice(range))
}

/// The sort keys of cells in global order.
pub(super) fn order_keys(
    schema: &ArraySchema,
    coords: &[CoordColumn<'_>],
    check: Check<'_>,
) -> Result<OrderKeys> {
    key_layout(schema, coords)?.keys(coords, check)
}

fn key_layout(schema: &ArraySchema, coords: &[CoordColumn<'_>]) -> Result<KeyLayout> {
    let bounds: Vec<Interval> =
        coords.iter().map(|column| column_bounds(column).unwrap_or(Interval::ALL)).collect();
    KeyLayout::new(&cell_order(schema, Layout::GlobalOrder)?, &bounds)
}

/// Whether a write looks for cells that repeat.
pub(super) fn compares_cells(schema: &ArraySchema, duplicates: Duplicates) -> bool {
    !schema.allows_dups && duplicates != Duplicates::KeepAll
}

/// Sees to cells that [repeat](smalti_space::OrderKeys::repeats). Of the first ones, as many as are skipped, messages do not count.
pub(super) fn without_repeats(
    schema: &ArraySchema,
    coords: &[CoordColumn<'_>],
    order: Permutation,
    repeats: &BitMask,
    duplicates: Duplicates,
    skipped: usize,
) -> Result<Permutation> {
    let Some(position) = repeats.iter_runs().next().map(|run| run.start) else { return Ok(order) };
    if let (Duplicates::Refuse, Some(first), Some(second)) =
        (duplicates, order.cell(position.saturating_sub(1)), order.cell(position))
    {
        return Err(repeated(schema, coords, first, second, skipped));
    }
    let kept = order.iter().enumerate().filter(|(position, _)| !repeats.is_set(*position));
    Ok(Permutation::Indices(kept.map(|(_, cell)| cell as u32).collect()))
}

fn repeated(
    schema: &ArraySchema,
    coords: &[CoordColumn<'_>],
    first: usize,
    second: usize,
    skipped: usize,
) -> Error {
    Error::invalid(format!(
        "cells {} and {} have the same coordinates ({}), which this array does not allow",
        first.saturating_sub(skipped),
        second.saturating_sub(skipped),
        place(schema, coords, first)
    ))
}

/// Checks that cells are in global order. Of the first ones, as many as are skipped, messages do not count.
pub(crate) fn check_global_order(
    schema: &ArraySchema,
    coords: &[CoordColumn<'_>],
    keys: &OrderKeys,
    skipped: usize,
    unchecked: Unchecked,
) -> Result<()> {
    match keys.first_descent().filter(|_| !unchecked.order) {
        Some(cell) => Err(Error::invalid(format!(
            "cell {} at ({}) belongs before the cell in front of it at ({}){}; a write in global order brings its cells sorted",
            cell.saturating_sub(skipped),
            place(schema, coords, cell),
            place(schema, coords, cell - 1),
            if in_one_tile(schema, coords, cell - 1, cell) { "" } else { ", in another tile" },
        ))),
        None => Ok(()),
    }
}

/// Whether two cells lie in one space tile, for messages.
fn in_one_tile(schema: &ArraySchema, coords: &[CoordColumn<'_>], one: usize, other: usize) -> bool {
    if schema.cell_order == Layout::Hilbert {
        return true;
    }
    coords.iter().zip(&schema.dimensions).all(|(column, dimension)| {
        let (Some(extent), Some((lo, _))) = (dimension.tile_extent, dimension.domain) else { return true };
        let tile = |cell: usize| {
            let bytes = dimension.datatype.bytes_of_ordinal(column.ordinal(cell)?);
            let value = Scalar::read(dimension.datatype, &bytes).ok()?;
            match (value.as_i128(), lo.as_i128(), extent.as_i128()) {
                (Some(value), Some(lo), Some(extent)) => Some((value - lo).div_euclid(extent.max(1)) as f64),
                _ => Some(((value.as_f64() - lo.as_f64()) / extent.as_f64()).floor()),
            }
        };
        tile(one) == tile(other)
    })
}

/// Checks that all coordinates lie in the domain and the current domain, and none is NaN.
pub(crate) fn check_domain(
    schema: &ArraySchema,
    coords: &[CoordColumn<'_>],
    unchecked: Unchecked,
) -> Result<()> {
    for (dim, (column, dimension)) in coords.iter().zip(&schema.dimensions).enumerate() {
        let current = schema.current_domain.rectangle().and_then(|rect| rect.get(dim));
        if let Some((lo, hi)) = dimension.domain.filter(|_| !unchecked.domain) {
            let domain = Extent::between(lo, hi).map_err(|error| Error::corrupt(error.message()))?;
            check_numbers(column, dimension, domain.as_ref(), "domain")?;
        }
        match current {
            Some(current) if column.is_string() => {
                let outside = (0..column.cell_count()).find(|&cell| {
                    let value = column.string(cell).unwrap_or_default();
                    !current.as_ref().covers(ExtentRef::Str { lo: value, hi: Some(value) })
                });
                if let Some(cell) = outside {
                    return Err(Error::invalid(format!(
                        "cell {cell} has the coordinate {:?} on dimension {:?}, outside its current domain {}",
                        String::from_utf8_lossy(column.string(cell).unwrap_or_default()),
                        dimension.name,
                        dimension.shown(current.as_ref()),
                    )));
                }
            }
            Some(current) => check_numbers(column, dimension, current.as_ref(), "current domain")?,
            None => {}
        }
    }
    Ok(())
}

fn check_numbers(
    column: &CoordColumn<'_>,
    dimension: &Dimension,
    domain: ExtentRef<'_>,
    what: &str,
) -> Result<()> {
    let (Some(bounds), Some(domain)) = (column_bounds(column), Interval::of_extent(domain)) else {
        return Ok(());
    };
    if domain.covers(bounds) {
        return Ok(());
    }
    let outside = (0..column.cell_count()).find_map(|cell| {
        let ordinal = column.ordinal(cell)?;
        (!domain.contains(ordinal)).then_some((cell, ordinal))
    });
    let (cell, ordinal) = outside.unwrap_or_default();
    Err(Error::invalid(format!(
        "cell {cell} has the coordinate {} on dimension {:?}, outside its {what} {}",
        show::number(dimension.datatype, ordinal),
        dimension.name,
        show::interval(dimension, domain),
    )))
}

/// The coordinates of a cell, for messages.
fn place(schema: &ArraySchema, coords: &[CoordColumn<'_>], cell: usize) -> String {
    let values = coords.iter().zip(&schema.dimensions).map(|(column, dimension)| {
        let value = match column.string(cell) {
            Some(string) => format!("{:?}", String::from_utf8_lossy(string)),
            None => column
                .ordinal(cell)
                .map_or_else(String::new, |ordinal| show::number(dimension.datatype, ordinal)),
        };
        format!("{} = {value}", dimension.name)
    });
    values.collect::<Vec<_>>().join(", ")
}
