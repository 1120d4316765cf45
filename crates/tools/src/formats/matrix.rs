//! Small slices as matrices: rows by one dimension, columns by another, one attribute in the cells.

use super::table::cell_text;
use super::{Sink, Table, borrowed};
use crate::cells::{Field, TextNotation};
use crate::failure::{Failure, Outcome};
use smalti::{Batch, Scalar};
use std::collections::BTreeMap;
use std::io::Write;

/// Columns that people can look at.
const MAX_COLS: usize = 200;
/// Rows likewise.
const MAX_ROWS: usize = 1000;

/// Where a cell lies along a dimension: bytes in the order of its values.
type Key = Vec<u8>;

/// The places along a dimension, with their texts.
type Places = BTreeMap<Key, String>;

/// Collects the cells of a read and prints them as a matrix.
pub struct MatrixSink<W> {
    out: W,
    fields: Vec<(Field, TextNotation)>,
    /// The places of each dimension.
    places: Vec<Places>,
    cells: BTreeMap<Vec<Key>, String>,
}

impl<W: Write> MatrixSink<W> {
    /// The fields of a matrix: all dimensions, then the one attribute that is asked for, or the only one.
    ///
    /// # Errors
    /// When there are several attributes.
    pub fn fields(all: Vec<Field>, selected: &[Field], is_chosen: bool) -> Outcome<Vec<Field>> {
        let (mut dimensions, attributes): (Vec<Field>, Vec<Field>) =
            all.into_iter().partition(|field| field.is_dimension);
        if dimensions.len() < 2 {
            return Err(Failure::usage(
                "a matrix has two dimensions, and the array has one; leave out --format matrix",
            ));
        }
        let chosen: Vec<Field> = match is_chosen {
            true => selected.iter().filter(|field| !field.is_dimension).cloned().collect(),
            false => attributes,
        };
        let [only] = chosen.as_slice() else {
            let names: Vec<&str> = chosen.iter().map(|field| field.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "a matrix shows one attribute; choose it with --select, of {}",
                names.join(", ")
            )));
        };
        dimensions.push(only.clone());
        Ok(dimensions)
    }

    /// A matrix of the fields that [`fields`](MatrixSink::fields) gave.
    pub fn new(out: W, fields: &[Field]) -> Self {
        let notation = |field: &Field| TextNotation::new(field.datatype, field.cell_val_num, field.iso_dates);
        MatrixSink {
            out,
            places: vec![Places::new(); fields.len().saturating_sub(1)],
            fields: fields.iter().map(|field| (field.clone(), notation(field))).collect(),
            cells: BTreeMap::new(),
        }
    }

    /// The dimensions of rows and columns: those with several places, the last two where there are fewer.
    fn axes(&self) -> Outcome<(usize, usize)> {
        let many: Vec<usize> = (0..self.places.len()).filter(|idx| self.places[*idx].len() > 1).collect();
        let last = self.places.len() - 1;
        match many.as_slice() {
            [] => Ok((last - 1, last)),
            [only] if *only == last => Ok((last - 1, last)),
            [only] => Ok((*only, only + 1)),
            [rows, cols] => Ok((*rows, *cols)),
            several => {
                let names: Vec<&str> = several.iter().map(|idx| self.fields[*idx].0.name.as_str()).collect();
                Err(Failure::usage(format!(
                    "a matrix has two dimensions, and the slice has {}: {}; narrow the others to one position with --range",
                    several.len(),
                    names.join(", ")
                )))
            }
        }
    }
}

fn key_of(field: &Field, cell: &[u8]) -> Key {
    match Scalar::read(field.datatype, cell).ok().filter(|_| !field.cell_val_num.is_var()) {
        Some(value) => value.ordinal().to_be_bytes().to_vec(),
        None => cell.to_vec(),
    }
}

impl<W: Write> Sink for MatrixSink<W> {
    fn batch(&mut self, batch: Batch) -> Outcome {
        let columns = borrowed(&batch);
        let Some(((attribute, notation), dimensions)) = self.fields.split_last() else { return Ok(()) };
        for row in 0..batch.cell_count {
            let mut place = Vec::with_capacity(dimensions.len());
            for (((field, notation), column), places) in dimensions.iter().zip(&columns).zip(&mut self.places)
            {
                let key = key_of(field, column.cell(row, field.cell_byte_len()));
                if !places.contains_key(&key) {
                    places.insert(key.clone(), cell_text(field, notation, column, row));
                }
                place.push(key);
            }
            let Some(column) = columns.get(dimensions.len()) else { continue };
            self.cells.insert(place, cell_text(attribute, notation, column, row));
            if self.cells.len() > MAX_ROWS * MAX_COLS {
                return Err(too_large());
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome {
        if self.cells.is_empty() {
            return Ok(self.out.flush()?);
        }
        let (rows, cols) = self.axes()?;
        if self.places[rows].len() > MAX_ROWS || self.places[cols].len() > MAX_COLS {
            return Err(too_large());
        }
        let corner = format!("{} \\ {}", self.fields[rows].0.name, self.fields[cols].0.name);
        let is_number = self.fields.last().is_some_and(|(field, _)| {
            (field.datatype.is_integer() || field.datatype.is_float()) && field.labels.is_none()
        });
        let titles = self.places[cols].values().map(|text| (text.clone(), is_number));
        let mut table = Table::new(std::iter::once((corner, false)).chain(titles));
        let mut place: Vec<Key> =
            self.places.iter().map(|places| places.keys().next().cloned().unwrap_or_default()).collect();
        for (row, text) in &self.places[rows] {
            place[rows].clone_from(row);
            let mut line = vec![text.clone()];
            for col in self.places[cols].keys() {
                place[cols].clone_from(col);
                line.push(self.cells.get(&place).cloned().unwrap_or_default());
            }
            table.push(line);
        }
        table.print(&mut self.out)?;
        Ok(self.out.flush()?)
    }
}

fn too_large() -> Failure {
    Failure::usage(format!(
        "a matrix for people has at most {MAX_COLS} columns and {MAX_ROWS} rows; narrow the slice with --range, or use --format csv or npy"
    ))
}
