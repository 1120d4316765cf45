//! The cells of one side of a comparison, in row-major order, one after the other.

use super::{DiffFields, DiffOptions, Side};
use crate::digest::{fill_of, non_empty_ranges};
use smalti_array::Snapshot;
use smalti_query::{Batch, Batches, Phase, ReadRequest, Unit, read};
use smalti_tile::CellShape;
use smalti_types::{Layout, Result};
use std::cmp::Ordering;

/// A cell, taken out of its batch.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) coordinates: Vec<Vec<u8>>,
    pub(super) values: Vec<Side>,
}

/// A place in the cells of a snapshot.
pub(super) struct Cursor {
    /// None when the array has no cells.
    batches: Option<Batches>,
    batch: Batch,
    at: usize,
    dimensions: Vec<CellShape>,
    attributes: Vec<CellShape>,
    /// Of dense arrays: what cells have that nobody wrote, an entry for each attribute.
    fill: Option<Vec<Side>>,
    /// The array's address, for errors.
    uri: String,
}

impl Cursor {
    pub(super) fn new(
        snapshot: &Snapshot,
        fields: &DiffFields,
        names: &[String],
        options: &DiffOptions,
    ) -> Result<Self> {
        let schema = snapshot.schema();
        let request = ReadRequest {
            fields: names.to_vec(),
            ranges: if schema.is_dense() { non_empty_ranges(snapshot) } else { Vec::new() },
            layout: Some(Layout::RowMajor),
            written_only: true,
            is_fresh: true,
            memory_byte_len: options.memory_byte_len.map(|byte_len| byte_len / 2),
            progress: options.progress.clone(),
            ..ReadRequest::default()
        };
        let is_empty = schema.is_dense() && snapshot.fragments().is_empty();
        let uri = snapshot.place().uri();
        let fill = |(name, _): &(String, CellShape)| {
            let idx = schema.attribute(name).map_or(usize::MAX, |(idx, _)| idx);
            match fill_of(schema, idx) {
                Some(Some(value)) => Side::Value(value),
                Some(None) => Side::Null,
                None => Side::Absent,
            }
        };
        Ok(Cursor {
            batches: if is_empty {
                None
            } else {
                Some(read(snapshot, &request).map_err(|error| error.at_uri(&uri))?)
            },
            batch: Batch { cell_count: 0, columns: Vec::new() },
            at: 0,
            dimensions: fields.dimensions.iter().map(|(_, shape)| *shape).collect(),
            attributes: fields.attributes.iter().map(|(_, shape)| *shape).collect(),
            fill: schema.is_dense().then(|| fields.attributes.iter().map(fill).collect()),
            uri,
        })
    }

    /// Goes to the next cell that counts, where it is not at one; false at the end.
    pub(super) fn settle(&mut self) -> Result<bool> {
        loop {
            while self.at < self.batch.cell_count {
                if !self.is_fill() {
                    return Ok(true);
                }
                self.at += 1;
            }
            let Some(batches) = &mut self.batches else { return Ok(false) };
            // What was handed out before is compared by now.
            batches.progress().advance(Phase::Comparing, Unit::Cells, self.batch.cell_count as u64);
            match batches.next().transpose().map_err(|error| error.at_uri(&self.uri))? {
                Some(batch) => (self.batch, self.at) = (batch, 0),
                None => self.batches = None,
            }
        }
    }

    /// Whether the cell has nothing but fill values: nobody can tell that it was ever written.
    fn is_fill(&self) -> bool {
        let Some(fill) = &self.fill else { return false };
        fill.iter().enumerate().all(|(idx, fill)| {
            let column = self.batch.columns[self.dimensions.len() + idx].as_ref();
            match (column.is_valid(self.at), fill) {
                (false, fill) => *fill == Side::Null,
                (true, Side::Value(fill)) => {
                    column.cell(self.at, self.attributes[idx].cell_byte_len()) == fill
                }
                (true, _) => false,
            }
        })
    }

    /// Compares the coordinates of the cells that two cursors are at.
    pub(super) fn compare(&self, other: &Cursor) -> Result<Ordering> {
        for (dim, shape) in self.dimensions.iter().enumerate() {
            let (ours, theirs) = (self.coordinate(dim), other.coordinate(dim));
            let order = coordinate_order(*shape, ours, theirs)?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    fn coordinate(&self, dim: usize) -> &[u8] {
        self.batch.columns[dim].as_ref().cell(self.at, self.dimensions[dim].cell_byte_len())
    }

    /// The cell that the cursor is at.
    pub(super) fn row(&self) -> Row {
        let value = |(idx, shape): (usize, &CellShape)| {
            let column = self.batch.columns[self.dimensions.len() + idx].as_ref();
            match column.is_valid(self.at) {
                true => Side::Value(column.cell(self.at, shape.cell_byte_len()).to_vec()),
                false => Side::Null,
            }
        };
        Row {
            coordinates: (0..self.dimensions.len()).map(|dim| self.coordinate(dim).to_vec()).collect(),
            values: self.attributes.iter().enumerate().map(value).collect(),
        }
    }

    /// Whether the values of two cells are the same.
    pub(super) fn has_values_of(&self, other: &Cursor) -> bool {
        let start = self.dimensions.len();
        self.attributes.iter().enumerate().all(|(idx, shape)| {
            let (ours, theirs) =
                (self.batch.columns[start + idx].as_ref(), other.batch.columns[start + idx].as_ref());
            let byte_len = shape.cell_byte_len();
            match (ours.is_valid(self.at), theirs.is_valid(other.at)) {
                (true, true) => ours.cell(self.at, byte_len) == theirs.cell(other.at, byte_len),
                (ours, theirs) => ours == theirs,
            }
        })
    }

    pub(super) fn step(&mut self) {
        self.at += 1;
    }

    /// All cells with the coordinates of the one that the cursor is at, which it leaves behind.
    pub(super) fn group(&mut self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        while self.settle()? {
            let row = self.row();
            if let Some(first) = rows.first()
                && !self.is_beside(first, &row)?
            {
                break;
            }
            rows.push(row);
            self.step();
        }
        Ok(rows)
    }

    fn is_beside(&self, first: &Row, row: &Row) -> Result<bool> {
        for ((shape, a), b) in self.dimensions.iter().zip(&first.coordinates).zip(&row.coordinates) {
            if coordinate_order(*shape, a, b)?.is_ne() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn coordinate_order(shape: CellShape, a: &[u8], b: &[u8]) -> Result<Ordering> {
    if shape.is_var() {
        return Ok(a.cmp(b));
    }
    Ok(shape.datatype.ordinal(a)?.cmp(&shape.datatype.ordinal(b)?))
}
