//! The layout of sort keys: which bits hold what, for an order of cells and the bounds of their coordinates.

use crate::check::Check;
use crate::column::Column;
use crate::hilbert_bucket::{buckets_are_distinct, check_columns, hilbert_values};
use crate::key_fields::{CELL_MARK, DimPlan, Field, Fields, KeySink, Packed, Spread, TILE_MARK, ZERO_MARK};
use crate::keys::OrderKeys;
use crate::{CellOrder, Hilbert, Interval, OrderDim, SortedKeys};
use rayon::prelude::*;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Layout, Result, dispatch_physical};
use std::ops::Range;

/// How the sort keys of cells are packed.
///
/// From the most to the least significant bits: the place on the Hilbert curve, or the tile coordinates in tile order;
/// then the coordinates in cell order, within their tile where there are tiles; then one bit per float dimension that
/// may hold -0.0, which tells the zeros apart. Every part takes as many bits as its bounds need, so that two dimensions
/// with millions of values each fit 64 bits.
///
/// Keys can be compared when they were made by the same layout: to merge runs, lay out for the bounds of all of them.
#[derive(Debug, Clone)]
pub struct KeyLayout {
    order: CellOrder,
    dims: Vec<DimPlan>,
    place: Option<Field>,
    width: Width,
    /// The parts of a byte key from first to last; empty for other widths.
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    U64,
    U128,
    Words(usize),
    Bytes,
}

#[derive(Debug, Clone, Copy)]
enum Segment {
    Place,
    Tile(usize),
    Cell(usize),
    Zero(usize),
}

/// Cells of one parallel task.
const TASK: usize = 1 << 13;

impl KeyLayout {
    /// A layout for cells whose coordinates lie inside `bounds`, one interval per dimension; those of string dimensions
    /// are not looked at. [`column_bounds`](crate::column_bounds) gives the bounds of columns.
    ///
    /// # Errors
    /// `InvalidArgument` when the numbers of dimensions differ or an interval is inverted.
    pub fn new(order: &CellOrder, bounds: &[Interval]) -> Result<Self> {
        if bounds.len() != order.dims.len() {
            return Err(Error::invalid(format!(
                "{} bounds were given for {} dimensions",
                bounds.len(),
                order.dims.len()
            )));
        }
        let mut dims = Vec::with_capacity(bounds.len());
        for (dim, bounds) in order.dims.iter().zip(bounds) {
            if dim.is_string() {
                dims.push(DimPlan::of_strings());
            } else {
                Interval::new(bounds.lo, bounds.hi)?;
                let is_tiled = order.tile_order.is_some();
                dims.push(dispatch_physical!(dim.datatype, T => DimPlan::new::<T>(dim, *bounds, is_tiled)));
            }
        }
        let mut layout =
            KeyLayout { order: order.clone(), dims, place: None, width: Width::U64, segments: Vec::new() };
        if order.cell_order == Layout::Hilbert {
            let curve = Hilbert::new(order.dims.len())?;
            let bits = curve.bits() * order.dims.len() as u32;
            layout.place = Some(Field::new(0, (1 << bits) - 1));
            if order.dims.iter().zip(bounds).all(|(dim, bounds)| buckets_are_distinct(&curve, dim, *bounds)) {
                layout.dims.iter_mut().for_each(DimPlan::leave_out);
            }
        }
        layout.assign();
        Ok(layout)
    }

    /// The keys of cells. Columns come in the order of the dimensions.
    ///
    /// # Errors
    /// `InvalidArgument` when the columns do not fit the dimensions or a coordinate lies outside the bounds that the
    /// layout was made for; what `check` returns.
    pub fn keys(&self, columns: &[Column<'_>], check: Check<'_>) -> Result<OrderKeys> {
        let cell_count = check_columns(&self.order.dims, columns)?;
        let places = match self.place {
            Some(_) => hilbert_values(&self.order, columns, check)?,
            None => Vec::new(),
        };
        match self.width {
            Width::U64 => {
                let mut keys = vec![0u64; cell_count];
                self.fill(&mut keys, 1, columns, &places, check, |keys| Packed { keys })?;
                Ok(OrderKeys::U64(keys))
            }
            Width::U128 => {
                let mut keys = vec![0u128; cell_count];
                self.fill(&mut keys, 1, columns, &places, check, |keys| Packed { keys })?;
                Ok(OrderKeys::U128(keys))
            }
            Width::Words(width) => {
                let mut words = vec![0u64; cell_count.saturating_mul(width)];
                self.fill(&mut words, width, columns, &places, check, |words| Spread { words, width })?;
                Ok(OrderKeys::Words { width, words })
            }
            Width::Bytes => self.byte_keys(cell_count, columns, &places, check),
        }
    }

    /// Whether keys of this layout tell the coordinates that they were made of: those of one word do, but on a curve.
    pub fn tells_coordinates(&self) -> bool {
        self.width == Width::U64 && self.place.is_none()
    }

    /// The coordinates along a dimension of the cells at some positions, out of their keys, which are of this layout and
    /// [tell them](KeyLayout::tells_coordinates): in order, where to look for them in a column is to look all over it.
    /// `values` are so many numbers of the dimension's type.
    ///
    /// # Errors
    /// `InvalidArgument` where there is no such dimension, the keys do not tell, or they and `values` are not so many.
    pub fn coordinates(
        &self,
        dim: usize,
        keys: &SortedKeys,
        positions: Range<usize>,
        values: &mut [u8],
    ) -> Result<()> {
        let (Some(plan), Some(order)) = (self.dims.get(dim), self.order.dims.get(dim)) else {
            return Err(Error::invalid(format!("there is no dimension {dim}")));
        };
        let byte_len = positions.len().checked_mul(order.datatype.byte_len());
        let cell_count = keys.iter(positions.clone()).count();
        if !self.tells_coordinates() || cell_count != positions.len() || byte_len != Some(values.len()) {
            return Err(Error::invalid("these keys do not tell these coordinates"));
        }
        let keys = keys.iter(positions);
        dispatch_physical!(order.datatype, T => plan.take::<T>(keys, values));
        Ok(())
    }

    /// Bits of a key; `None` when keys hold strings.
    pub fn bit_count(&self) -> Option<u32> {
        (self.width != Width::Bytes).then(|| {
            let fields =
                self.dims.iter().map(|dim| dim.tile.bits + dim.cell.bits + dim.zero.map_or(0, |z| z.bits));
            fields.sum::<u32>() + self.place.map_or(0, |place| place.bits)
        })
    }

    /// Gives every field its place, the least significant first.
    fn assign(&mut self) {
        let mut shift = 0;
        let mut place = |field: &mut Field| {
            // A field without bits is never moved, so that no shift exceeds a word.
            field.shift = if field.bits == 0 { 0 } else { shift };
            shift += field.bits;
        };
        for dim in self.dims.iter_mut().rev() {
            if let Some(zero) = &mut dim.zero {
                place(zero);
            }
        }
        for dim in self.order.significance(self.order.cell_order).into_iter().rev() {
            place(&mut self.dims[dim].cell);
        }
        if let Some(tile_order) = self.order.tile_order {
            for dim in self.order.significance(tile_order).into_iter().rev() {
                place(&mut self.dims[dim].tile);
            }
        }
        if let Some(curve) = &mut self.place {
            place(curve);
        }
        self.width = match shift {
            _ if self.order.dims.iter().any(OrderDim::is_string) => Width::Bytes,
            0..=64 => Width::U64,
            65..=128 => Width::U128,
            bits => Width::Words(bits.div_ceil(64) as usize),
        };
        if self.width == Width::Bytes {
            self.segments = self.byte_segments();
        }
    }

    fn byte_segments(&self) -> Vec<Segment> {
        let mut segments = Vec::new();
        segments.extend(self.place.map(|_| Segment::Place));
        if let Some(tile_order) = self.order.tile_order {
            let tiled =
                self.order.significance(tile_order).into_iter().filter(|&dim| self.dims[dim].tile.bits > 0);
            segments.extend(tiled.map(Segment::Tile));
        }
        segments.extend(self.order.significance(self.order.cell_order).into_iter().map(Segment::Cell));
        segments.extend((0..self.dims.len()).filter(|&dim| self.dims[dim].zero.is_some()).map(Segment::Zero));
        segments
    }

    /// Fills the keys of all cells.
    fn fill<'k, K: Send, S: KeySink + 'k>(
        &self,
        keys: &'k mut [K],
        words_per_key: usize,
        columns: &[Column<'_>],
        places: &[u64],
        check: Check<'_>,
        sink: impl Fn(&'k mut [K]) -> S + Sync,
    ) -> Result<()> {
        let task = |(task_idx, keys): (usize, &'k mut [K])| {
            check()?;
            let start = task_idx * TASK;
            let cells = start..start + keys.len() / words_per_key;
            inside(self.fill_cells(&mut sink(keys), columns, places, cells))
        };
        let keys_per_task = TASK * words_per_key;
        if keys.len() <= keys_per_task {
            keys.chunks_mut(keys_per_task).enumerate().try_for_each(task)
        } else {
            keys.par_chunks_mut(keys_per_task).enumerate().shared().try_for_each(task)
        }
    }

    /// Fills the keys of some cells and says whether all coordinates were inside the bounds.
    fn fill_cells(
        &self,
        sink: &mut impl KeySink,
        columns: &[Column<'_>],
        places: &[u64],
        cells: Range<usize>,
    ) -> bool {
        if let (Some(field), Some(places)) = (&self.place, places.get(cells.clone())) {
            for (cell, &place) in places.iter().enumerate() {
                sink.put(cell, field, place);
            }
        }
        self.dims.iter().zip(&self.order.dims).zip(columns).all(|((plan, dim), column)| {
            let values = column.number_bytes(cells.clone());
            dispatch_physical!(dim.datatype, T => plan.put::<T, _>(values, sink))
        })
    }

    /// Keys with strings: numbers as big-endian bytes of their field's width, strings with NUL escaped and an end mark,
    /// or as they are where nothing follows.
    fn byte_keys(
        &self,
        cell_count: usize,
        columns: &[Column<'_>],
        places: &[u64],
        check: Check<'_>,
    ) -> Result<OrderKeys> {
        let starts: Vec<usize> = (0..cell_count).step_by(TASK).collect();
        let task = |&start: &usize| {
            check()?;
            let cells = start..(start + TASK).min(cell_count);
            let (ends, bytes, fits) = self.byte_keys_of(cells, columns, places);
            inside(fits).map(|()| (ends, bytes))
        };
        let parts: Vec<(Vec<usize>, Vec<u8>)> = if starts.len() < 2 {
            starts.iter().map(task).collect::<Result<_>>()?
        } else {
            starts.par_iter().shared().map(task).collect::<Result<_>>()?
        };
        let mut ends = Vec::with_capacity(cell_count);
        let mut bytes = Vec::with_capacity(parts.iter().map(|(_, bytes)| bytes.len()).sum());
        for (part_ends, part_bytes) in parts {
            check()?;
            ends.extend(part_ends.iter().map(|end| bytes.len() + end));
            bytes.extend_from_slice(&part_bytes);
        }
        Ok(OrderKeys::Bytes { ends, bytes })
    }

    fn byte_keys_of(
        &self,
        cells: Range<usize>,
        columns: &[Column<'_>],
        places: &[u64],
    ) -> (Vec<usize>, Vec<u8>, bool) {
        let mut fits = true;
        let mut numbers: Vec<Fields> = Vec::with_capacity(columns.len());
        for ((plan, dim), column) in self.dims.iter().zip(&self.order.dims).zip(columns) {
            let mut fields = Fields::default();
            if !dim.is_string() {
                let zeros = || vec![0; cells.len()];
                fields = Fields { tile: zeros(), cell: zeros(), zero: zeros() };
                let mut plan = *plan;
                plan.tile.shift = TILE_MARK;
                plan.cell.shift = CELL_MARK;
                if let Some(zero) = &mut plan.zero {
                    zero.shift = ZERO_MARK;
                }
                let values = column.number_bytes(cells.clone());
                fits &= dispatch_physical!(dim.datatype, T => plan.put::<T, _>(values, &mut fields));
            }
            numbers.push(fields);
        }
        let mut ends = Vec::with_capacity(cells.len());
        let mut bytes = Vec::new();
        for (at, cell) in cells.enumerate() {
            for (i, segment) in self.segments.iter().enumerate() {
                let is_last = i + 1 == self.segments.len();
                match *segment {
                    Segment::Place => bytes.extend(places.get(cell).copied().unwrap_or(0).to_be_bytes()),
                    Segment::Tile(dim) => {
                        push_number(&mut bytes, numbers[dim].tile[at], &self.dims[dim].tile)
                    }
                    Segment::Zero(dim) => bytes.push(numbers[dim].zero[at] as u8),
                    Segment::Cell(dim) => match columns[dim].string(cell) {
                        Some(string) => push_string(&mut bytes, string, is_last),
                        None => push_number(&mut bytes, numbers[dim].cell[at], &self.dims[dim].cell),
                    },
                }
            }
            ends.push(bytes.len());
        }
        (ends, bytes, fits)
    }
}

fn inside(fits: bool) -> Result<()> {
    match fits {
        true => Ok(()),
        false => {
            Err(Error::invalid("a coordinate lies outside the bounds that the sort keys were laid out for"))
        }
    }
}

fn push_number(bytes: &mut Vec<u8>, value: u64, field: &Field) {
    let byte_len = field.bits.div_ceil(8) as usize;
    bytes.extend_from_slice(&value.to_be_bytes()[8 - byte_len..]);
}

fn push_string(bytes: &mut Vec<u8>, string: &[u8], is_last: bool) {
    if is_last {
        bytes.extend_from_slice(string);
        return;
    }
    let mut rest = string;
    while let Some(nul) = rest.iter().position(|&byte| byte == 0) {
        bytes.extend_from_slice(&rest[..=nul]);
        bytes.push(0xff);
        rest = &rest[nul + 1..];
    }
    bytes.extend_from_slice(rest);
    bytes.extend_from_slice(&[0, 0]);
}
