//! One number for what an array says, however it is stored.
//!
//! Every cell is written out as bytes — coordinates in the order of the dimensions, attributes in the order of their names —
//! and hashed with XXH3 to 128 bits; the hashes are added up modulo 2^128, and the sum is hashed once more with the number of
//! cells and the names and types of the fields. A sum does not depend on the order of the cells, so neither does the digest
//! on tiles, fragments, filters or orders; and unlike an exclusive or it counts cells that are there twice. XXH3 is no
//! cryptographic hash: two arrays that differ by accident have the same digest with a probability of about 2^-128, but whoever
//! wants to can construct such arrays. Upkeep guards against accidents, and has to keep up with reads; a signature it is not.
//!
//! What counts:
//! - values as they are stored, bit by bit: -0.0 differs from 0.0, and NaN from NaN of other bits; codes of enumerations, not
//!   their labels;
//! - of a null that it is null, not the value behind it;
//! - of dense arrays the cells that have another value than the fill value in at least one attribute. Nobody can tell a cell that
//!   was never written from one that was written with fill values, and so the digest does not change with the non-empty domain;
//!   what no fragment covers is not looked at.

use rayon::prelude::*;
use smalti_array::{FieldId, Snapshot, TIMESTAMPS, field_shape};
use smalti_format::ArraySchema;
use smalti_query::{
    Batch, Batches, MergePart, Phase, Progress, ReadRequest, ResultField, Unit, read, read_versions,
};
use smalti_tile::{CellShape, ColumnRef};
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Layout, Result};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// Cells that a thread hashes at a time.
const SHARE_CELL_COUNT: usize = 1 << 14;

/// Cells of fixed length that are written out at a time: they stay in the fastest cache.
const ROWS_BYTE_LEN: usize = 8 << 10;

/// What goes into a digest, and what it may take to make one.
#[derive(Debug, Clone, Default)]
pub struct DigestOptions {
    /// Whether the time of each cell counts. Sparse arrays only.
    pub includes_times: bool,
    /// The most bytes held at once; `None` for the default of reads.
    pub memory_byte_len: Option<usize>,
    /// Where the read tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

/// One number for the logical content of an array; shown as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest {
    /// The number.
    pub value: u128,
    /// The cells that went into it.
    pub cell_count: u64,
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.value)
    }
}

/// The digest of everything that a snapshot shows. Reads in bounded memory, on all threads.
///
/// # Errors
/// As [`read`]: `Corrupt`, `Permission`, `Cancelled`; `InvalidArgument` for the times of a dense array's cells.
pub fn digest(snapshot: &Snapshot, options: &DigestOptions) -> Result<Digest> {
    let progress = options.progress.clone().unwrap_or_default();
    let _announced = progress.announce(&[Phase::Hashing]);
    progress.enter(Phase::Hashing, Unit::Cells, snapshot.held_cell_count());
    let digest = digest_in(snapshot, options, Phase::Hashing, None)?;
    progress.complete(Phase::Hashing);
    Ok(digest)
}

/// As [`digest`], in a phase of other work that counts cells.
pub(crate) fn digest_in(
    snapshot: &Snapshot,
    options: &DigestOptions,
    phase: Phase,
    part: Option<&MergePart>,
) -> Result<Digest> {
    let schema = snapshot.schema();
    let order = part.and_then(|part| part.order.clone());
    let request = ReadRequest {
        fields: field_names(schema, options.includes_times),
        ranges: match part {
            Some(part) => part.rectangle.iter().map(|side| vec![side.clone()]).collect(),
            None if schema.is_dense() => non_empty_ranges(snapshot),
            None => Vec::new(),
        },
        // Tile after tile, so that none is decoded twice; the order of the cells does not matter.
        layout: Some(match schema.is_dense() || order.is_some() {
            true => Layout::GlobalOrder,
            false => Layout::Unordered,
        }),
        part: order,
        written_only: true,
        is_fresh: true,
        memory_byte_len: options.memory_byte_len,
        progress: options.progress.clone(),
        ..ReadRequest::default()
    };
    if schema.is_dense() && snapshot.fragments().is_empty() {
        let fields = result_fields(schema, &request.fields)?;
        return Ok(DigestBuilder::new(schema, &fields)?.finish());
    }
    digest_of(schema, read(snapshot, &request)?, phase)
}

/// The digest of every version of every cell of a sparse array as they are stored, with their times if these are wanted, in a phase
/// of other work that counts cells. Deletes are not looked at.
pub(crate) fn digest_of_versions(
    snapshot: &Snapshot,
    options: &DigestOptions,
    phase: Phase,
) -> Result<Digest> {
    let request = ReadRequest {
        fields: field_names(snapshot.schema(), options.includes_times),
        is_fresh: true,
        memory_byte_len: options.memory_byte_len,
        progress: options.progress.clone(),
        ..ReadRequest::default()
    };
    digest_of(snapshot.schema(), read_versions(snapshot, &request)?, phase)
}

fn digest_of(schema: &ArraySchema, batches: Batches, phase: Phase) -> Result<Digest> {
    let mut builder = DigestBuilder::new(schema, batches.fields())?;
    let progress = Arc::clone(batches.progress());
    for batch in batches {
        let batch = batch?;
        builder.add(&batch);
        progress.advance(phase, Unit::Cells, batch.cell_count as u64);
    }
    Ok(builder.finish())
}

/// Makes a digest of batches that come from anywhere, in any order.
#[derive(Debug, Clone)]
pub struct DigestBuilder {
    /// In the order in which a cell is written out, each with its place in the batches.
    fields: Vec<DigestField>,
    seed: u64,
    leaves_out_fill: bool,
    sum: u128,
    cell_count: u64,
}

#[derive(Debug, Clone)]
struct DigestField {
    column: usize,
    shape: CellShape,
    /// Of an attribute of a dense array: the value of cells that nobody wrote, `None` for null.
    fill: Option<Option<Vec<u8>>>,
}

impl DigestBuilder {
    /// A digest of no cells yet. `fields` says what the columns of the batches are; of a dense array they have to hold
    /// coordinates too.
    ///
    /// # Errors
    /// `InvalidArgument` when a field is not the schema's, or dimensions are missing.
    pub fn new(schema: &ArraySchema, fields: &[ResultField]) -> Result<Self> {
        let mut ordered: Vec<(u8, usize, &str, DigestField)> = Vec::with_capacity(fields.len());
        for (column, field) in fields.iter().enumerate() {
            let (rank, idx, fill) = match smalti_array::find_field(schema, &field.name) {
                Some(FieldId::Dimension(idx)) => (0, idx, None),
                Some(FieldId::Attribute(idx)) => (1, 0, fill_of(schema, idx)),
                Some(_) => (2, 0, None),
                None => {
                    return Err(Error::invalid(format!(
                        "there is no field {:?} to make a digest of",
                        field.name
                    )));
                }
            };
            ordered.push((rank, idx, &field.name, DigestField { column, shape: field.shape, fill }));
        }
        if ordered.iter().filter(|(rank, ..)| *rank == 0).count() != schema.dimensions.len() {
            return Err(Error::invalid("a digest needs the coordinates of all dimensions"));
        }
        ordered.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
        let mut names = Vec::new();
        for (rank, _, name, field) in &ordered {
            names.push(*rank);
            names.extend((name.len() as u64).to_le_bytes());
            names.extend(name.as_bytes());
            names.push(field.shape.datatype.tag());
            names.extend((field.shape.cell_val_num.fixed().unwrap_or(0) as u64).to_le_bytes());
            names.push(u8::from(field.shape.is_nullable));
        }
        Ok(DigestBuilder {
            fields: ordered.into_iter().map(|(.., field)| field).collect(),
            seed: XxHash3_128::oneshot(&names) as u64,
            leaves_out_fill: schema.is_dense(),
            sum: 0,
            cell_count: 0,
        })
    }

    /// Takes in the cells of a batch.
    ///
    /// # Panics
    /// When the batch does not have the columns that were announced.
    pub fn add(&mut self, batch: &Batch) {
        let columns: Vec<ColumnRef<'_>> =
            self.fields.iter().map(|field| batch.columns[field.column].as_ref()).collect();
        let shares = batch.cell_count.div_ceil(SHARE_CELL_COUNT);
        let share = |idx: usize| {
            let start = idx * SHARE_CELL_COUNT;
            self.sum_of(&columns, start..(start + SHARE_CELL_COUNT).min(batch.cell_count))
        };
        let joined = |a: (u128, u64), b: (u128, u64)| (a.0.wrapping_add(b.0), a.1 + b.1);
        let (sum, cell_count) = match shares {
            0 => (0, 0),
            1 => share(0),
            _ => (0..shares).into_par_iter().shared().map(share).reduce(|| (0, 0), joined),
        };
        self.sum = self.sum.wrapping_add(sum);
        self.cell_count += cell_count;
    }

    fn sum_of(&self, columns: &[ColumnRef<'_>], cells: Range<usize>) -> (u128, u64) {
        let is_fixed = |(field, column): (&DigestField, &ColumnRef<'_>)| {
            !field.shape.is_var() && column.validity.is_none()
        };
        match self.fields.iter().zip(columns).all(is_fixed) {
            true => self.sum_of_rows(columns, cells),
            false => self.sum_of_cells(columns, cells),
        }
    }

    /// Where every cell takes as many bytes: some are written out at a time, field after field.
    fn sum_of_rows(&self, columns: &[ColumnRef<'_>], cells: Range<usize>) -> (u128, u64) {
        let row_byte_len = self.fields.iter().map(|field| field.shape.cell_byte_len()).sum::<usize>().max(1);
        let row_count = (ROWS_BYTE_LEN / row_byte_len).max(1);
        let mut rows = vec![0; row_byte_len * row_count.min(cells.len())];
        let mut says_something = vec![!self.leaves_out_fill; row_count.min(cells.len())];
        let (mut sum, mut cell_count) = (0_u128, 0);
        for start in cells.clone().step_by(row_count) {
            let count = row_count.min(cells.end - start);
            let mut at = 0;
            says_something.fill(!self.leaves_out_fill);
            for (field, column) in self.fields.iter().zip(columns) {
                let byte_len = field.shape.cell_byte_len();
                let values = &column.data[start * byte_len..(start + count) * byte_len];
                put_in_rows(values, byte_len, &mut rows[at..], row_byte_len);
                if let Some(fill) = field.fill.as_ref().filter(|_| self.leaves_out_fill) {
                    let fill = fill.as_deref();
                    let differs = values.chunks_exact(byte_len).map(|value| fill != Some(value));
                    says_something.iter_mut().zip(differs).for_each(|(says, differs)| *says |= differs);
                }
                at += byte_len;
            }
            for (row, _) in
                rows.chunks_exact(row_byte_len).zip(&says_something).take(count).filter(|(_, says)| **says)
            {
                sum = sum.wrapping_add(XxHash3_128::oneshot_with_seed(self.seed, row));
                cell_count += 1;
            }
        }
        (sum, cell_count)
    }

    fn sum_of_cells(&self, columns: &[ColumnRef<'_>], cells: Range<usize>) -> (u128, u64) {
        let (mut sum, mut cell_count) = (0_u128, 0);
        let mut bytes = Vec::new();
        let fields = self.fields.iter().zip(columns);
        let fields: Vec<_> =
            fields.map(|(field, column)| (field, column, field.shape.cell_byte_len())).collect();
        for cell in cells {
            bytes.clear();
            let mut says_something = !self.leaves_out_fill;
            for (field, column, cell_byte_len) in &fields {
                says_something |= push(&mut bytes, field, column, cell, *cell_byte_len);
            }
            if says_something {
                sum = sum.wrapping_add(XxHash3_128::oneshot_with_seed(self.seed, &bytes));
                cell_count += 1;
            }
        }
        (sum, cell_count)
    }

    /// The digest of all cells so far.
    pub fn finish(&self) -> Digest {
        let mut bytes = self.sum.to_le_bytes().to_vec();
        bytes.extend(self.cell_count.to_le_bytes());
        let value = XxHash3_128::oneshot_with_seed(self.seed, &bytes);
        Digest { value, cell_count: self.cell_count }
    }
}

/// Writes values of a field to their places in rows, of which `rows` begins with the place of the first.
fn put_in_rows(values: &[u8], byte_len: usize, rows: &mut [u8], row_byte_len: usize) {
    fn put<const N: usize>(values: &[u8], rows: &mut [u8], row_byte_len: usize) {
        for (value, row) in values.as_chunks::<N>().0.iter().zip(rows.chunks_mut(row_byte_len)) {
            row[..N].copy_from_slice(value);
        }
    }
    match byte_len {
        0 => {}
        1 => put::<1>(values, rows, row_byte_len),
        2 => put::<2>(values, rows, row_byte_len),
        4 => put::<4>(values, rows, row_byte_len),
        8 => put::<8>(values, rows, row_byte_len),
        _ => {
            for (value, row) in values.chunks_exact(byte_len).zip(rows.chunks_mut(row_byte_len)) {
                row[..byte_len].copy_from_slice(value);
            }
        }
    }
}

/// Writes out a cell of a field; whether it differs from the fill value of an attribute.
fn push(
    bytes: &mut Vec<u8>,
    field: &DigestField,
    column: &ColumnRef<'_>,
    cell: usize,
    cell_byte_len: usize,
) -> bool {
    let is_valid = column.is_valid(cell);
    if column.validity.is_some() {
        bytes.push(u8::from(is_valid));
    }
    if !is_valid {
        return field.fill.as_ref().is_some_and(Option::is_some);
    }
    let value = column.cell(cell, cell_byte_len);
    if field.shape.is_var() {
        bytes.extend((value.len() as u64).to_le_bytes());
    }
    bytes.extend(value);
    field.fill.as_ref().is_some_and(|fill| fill.as_deref() != Some(value))
}

/// What a cell of an attribute of a dense array has if nobody wrote it.
pub(crate) fn fill_of(schema: &ArraySchema, attribute: usize) -> Option<Option<Vec<u8>>> {
    let attribute = schema.attributes.get(attribute).filter(|_| schema.is_dense())?;
    let is_null = attribute.nullable && !attribute.fill_valid;
    Some((!is_null).then(|| attribute.fill_value.clone()))
}

/// All dimensions, then all attributes, and the times if they are wanted.
pub(crate) fn field_names(schema: &ArraySchema, includes_times: bool) -> Vec<String> {
    let dimensions = schema.dimensions.iter().map(|dimension| dimension.name.clone());
    let attributes = schema.attributes.iter().map(|attribute| attribute.name.clone());
    dimensions.chain(attributes).chain(includes_times.then(|| TIMESTAMPS.to_owned())).collect()
}

fn result_fields(schema: &ArraySchema, names: &[String]) -> Result<Vec<ResultField>> {
    let field = |name: &String| {
        let id = smalti_array::find_field(schema, name)
            .ok_or_else(|| Error::invalid(format!("there is no field {name:?}")))?;
        let is_dimension = matches!(id, FieldId::Dimension(_));
        if id == FieldId::Timestamps && schema.is_dense() {
            return Err(Error::invalid("cells of dense arrays have no timestamps"));
        }
        Ok(ResultField { name: name.clone(), shape: field_shape(schema, id)?, is_dimension })
    };
    names.iter().map(field).collect()
}

/// Per dimension the range that holds all cells.
pub(crate) fn non_empty_ranges(snapshot: &Snapshot) -> Vec<Vec<smalti_types::Extent>> {
    snapshot.non_empty_domain().unwrap_or_default().into_iter().map(|extent| vec![extent]).collect()
}
