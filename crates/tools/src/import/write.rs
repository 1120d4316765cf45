//! Rows to fragments: chunk by chunk, all made visible at one moment, or each when it is written.

use super::held::Held;
use super::joined::joined;
use super::plan::ROW;
use super::source::{Rows, Source, Watched};
use super::state::State;
use super::types::cast;
use crate::failure::{Failure, Outcome};
use arrow_array::{ArrayRef, UInt64Array, new_null_array};
use arrow_schema::DataType;
use rayon::prelude::*;
use smalti::arrow::{ArrowForm, arrow_array, arrow_column, arrow_field, unpacked_byte_len};
use smalti::format::ArraySchema;
use smalti::parallel::Shareable as _;
use smalti::{
    AlignedBuf, Array, CellShape, Column, ErrorKind, Phase, Progress, SealedFragment, Unit, WrittenFragment,
};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// Rows of one fragment: cell numbers of a write have 32 bits.
const MAX_CHUNK_ROW_COUNT: usize = 1 << 30;

/// Where the cells of a field come from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// A column of the table, in the Arrow type that it has in all files together.
    Column(DataType),
    /// The number of the row.
    RowNumber,
    /// No column: null.
    Null,
    /// No column: the fill value.
    Fill(Vec<u8>),
}

/// A field and where its cells come from.
#[derive(Debug, Clone)]
pub(super) struct WrittenField {
    pub(super) name: String,
    pub(super) shape: CellShape,
    pub(super) origin: Origin,
}

/// What was written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) row_count: u64,
    pub(super) fragments: Vec<String>,
    pub(super) timestamp: u64,
}

/// When fragments become visible.
pub(super) enum Visible<'a> {
    /// All at the end.
    Together,
    /// Each when it is written; the state tells how far the import came.
    AsItGoes(&'a mut State),
}

/// Takes rows, and writes them in chunks.
pub(super) struct Writer<'a> {
    pub(super) array: &'a Array,
    pub(super) source: &'a Source<'a>,
    pub(super) watched: &'a Watched<'a>,
    pub(super) fields: Vec<WrittenField>,
    pub(super) chunk_byte_len: usize,
    pub(super) at: Option<u64>,
    /// The number of the next row.
    pub(super) row_number: u64,
    pub(super) visible: Visible<'a>,
    chunk: Chunk,
    sealed: Vec<SealedFragment>,
    written: Written,
}

#[derive(Default)]
struct Chunk {
    /// For each field its arrays.
    arrays: Vec<Vec<ArrayRef>>,
    row_count: usize,
    /// For each field what its arrays hold.
    held: Vec<Held>,
    /// Where the first row stands, and the file and row behind the last.
    first: Option<(usize, u64)>,
    end: (usize, u64),
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        array: &'a Array,
        source: &'a Source<'a>,
        watched: &'a Watched<'a>,
        fields: Vec<WrittenField>,
        memory: usize,
        visible: Visible<'a>,
    ) -> Writer<'a> {
        Writer {
            array,
            source,
            watched,
            fields,
            // The rows, their columns in one piece, their order, and the tiles on their way.
            chunk_byte_len: (memory / 3).clamp(1 << 20, 1 << 30),
            at: None,
            row_number: 0,
            visible,
            chunk: Chunk::default(),
            sealed: Vec::new(),
            written: Written::default(),
        }
    }

    /// Takes rows.
    ///
    /// # Errors
    /// Name the rows and the column.
    pub(super) fn add(&mut self, rows: Rows) -> Outcome {
        self.watched.check()?;
        let mut rows = rows;
        if let Visible::AsItGoes(state) = &self.visible
            && let Some(done) = state.done_rows(rows.file, rows.first_row, rows.batch.num_rows())
        {
            self.row_number += done as u64;
            rows.batch = rows.batch.slice(done, rows.batch.num_rows() - done);
            rows.first_row += done as u64;
        }
        let row_count = rows.batch.num_rows();
        if row_count == 0 {
            return Ok(());
        }
        let mut arrays = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            arrays.push(self.cells(field, &rows)?);
        }
        self.row_number += row_count as u64;
        let chunk = &mut self.chunk;
        chunk.arrays.resize_with(arrays.len(), Vec::new);
        chunk.held.resize_with(arrays.len(), Held::default);
        let kept = chunk.arrays.iter_mut().zip(&mut chunk.held);
        for (((all, held), array), field) in kept.zip(arrays).zip(&self.fields) {
            // Labels stay codes; other dictionaries are written out.
            let schema = self.array.schema();
            let attribute = schema.attribute(&field.name);
            let has_codes = attribute.is_some_and(|(_, attribute)| attribute.enumeration.is_some());
            let unpacked = if has_codes { 0 } else { unpacked_byte_len(&array) };
            held.add(&*array, unpacked);
            all.push(array);
        }
        chunk.row_count += row_count;
        chunk.first.get_or_insert((rows.file, rows.first_row));
        chunk.end = (rows.file, rows.first_row + row_count as u64);
        let byte_len = chunk.held.iter().fold(0_usize, |sum, held| sum.saturating_add(held.byte_len()));
        if byte_len >= self.chunk_byte_len || chunk.row_count >= MAX_CHUNK_ROW_COUNT {
            self.flush()?;
        }
        Ok(())
    }

    fn cells(&self, field: &WrittenField, rows: &Rows) -> Outcome<ArrayRef> {
        let row_count = rows.batch.num_rows();
        let column = rows.batch.column_by_name(&field.name);
        match (&field.origin, column) {
            (Origin::RowNumber, _) => Ok(Arc::new(UInt64Array::from_iter_values(
                self.row_number..self.row_number + row_count as u64,
            ))),
            (Origin::Column(to), Some(array)) => cast(array, to).map_err(|problem| {
                let place = self.source.place(rows.file, rows.first_row);
                Failure::invalid(format!("{place} and behind: column {:?}: {problem}", field.name))
            }),
            (Origin::Column(to), None) => Ok(new_null_array(to, row_count)),
            (Origin::Null, _) => {
                let arrow = arrow_field(&field.name, field.shape, ArrowForm::default());
                Ok(new_null_array(arrow.data_type(), row_count))
            }
            (Origin::Fill(value), _) => {
                let mut column = Column::default();
                column.data.extend_from_slice(&value.repeat(row_count))?;
                if field.shape.is_var() {
                    let ends: Vec<u64> = (0..=row_count).map(|row| (row * value.len()) as u64).collect();
                    let mut offsets = AlignedBuf::new();
                    offsets.extend_from_slice(bytemuck::cast_slice(&ends))?;
                    column.offsets = Some(offsets);
                }
                if field.shape.is_nullable {
                    let mut validity = AlignedBuf::new();
                    validity.extend_from_slice(&vec![1; row_count])?;
                    column.validity = Some(validity);
                }
                Ok(arrow_array(column, field.shape, row_count, ArrowForm::default())?)
            }
        }
    }

    /// Writes the rows that were taken as a fragment.
    fn flush(&mut self) -> Outcome {
        let chunk = std::mem::take(&mut self.chunk);
        let Some(first) = chunk.first else { return Ok(()) };
        self.watched.check()?;
        let at = self.at.or_else(|| match self.visible {
            Visible::Together => self.sealed.first().map(SealedFragment::timestamp),
            Visible::AsItGoes(_) => None,
        });
        let mut write = self.array.write().progress(Arc::clone(self.watched.work));
        if let Some(at) = at {
            write = write.at(at);
        }
        let joined: Vec<Outcome<ArrayRef>> = chunk.arrays.into_par_iter().shared().map(joined).collect();
        for (field, cells) in self.fields.iter().zip(joined) {
            write = write.column(field.name.clone(), cells?);
        }
        let sealed = write.seal().map_err(|error| self.explained(error, first))?;
        self.watched.work.complete(Phase::Syncing);
        self.watched.resume();
        self.written.row_count += chunk.row_count as u64;
        match &mut self.visible {
            Visible::Together => self.sealed.push(sealed),
            Visible::AsItGoes(state) => {
                self.written.timestamp = sealed.timestamp();
                state.pend(sealed.name(), sealed.timestamp(), chunk.end)?;
                let fragment = sealed.commit(self.array)?;
                state.done()?;
                self.written.fragments.push(fragment.name().to_owned());
            }
        }
        Ok(())
    }

    /// Says which rows an error of the engine is about.
    fn explained(&self, error: smalti::Error, first: (usize, u64)) -> Failure {
        if error.kind() != ErrorKind::InvalidArgument {
            return error.into();
        }
        match self.find_repeat() {
            Ok(Some(failure)) | Err(failure) => failure,
            Ok(None) => {
                let place = self.source.place(first.0, first.1);
                Failure::invalid(format!("among the rows from {place} on: {}", error.message()))
            }
        }
    }

    /// Writes what is left, and makes all visible.
    ///
    /// # Errors
    /// Coordinates that come twice where the array does not allow that; what the engine reports.
    pub(super) fn finish(mut self) -> Outcome<Written> {
        self.flush()?;
        if let Visible::AsItGoes(state) = self.visible {
            state.remove()?;
            return Ok(self.written);
        }
        if self.sealed.is_empty() {
            return Err(Failure::invalid("there are no rows to import"));
        }
        let schema = self.array.schema();
        if self.sealed.len() > 1
            && !schema.is_dense()
            && !schema.allows_dups
            && self.array.count_sealed(&self.sealed, None)? != self.written.row_count
        {
            return Err(self.find_repeat()?.unwrap_or_else(|| Failure::invalid(repeated("another row"))));
        }
        self.watched.check()?;
        self.written.timestamp = self.sealed.first().map_or(0, SealedFragment::timestamp);
        let fragments = published(self.array, std::mem::take(&mut self.sealed), self.watched.work)?;
        self.written.fragments = fragments.iter().map(|fragment| fragment.name().to_owned()).collect();
        Ok(self.written)
    }

    /// The first two rows of the same coordinates. The files are read once more, several times where there are more rows than the
    /// coordinates of which fit into memory.
    fn find_repeat(&self) -> Outcome<Option<Failure>> {
        let schema: &ArraySchema = &self.array.schema();
        let is_numbered = self.fields.iter().any(|field| matches!(field.origin, Origin::RowNumber));
        if schema.allows_dups || schema.is_dense() || is_numbered {
            return Ok(None);
        }
        let dimensions: Vec<(&str, CellShape)> = schema
            .dimensions
            .iter()
            .map(|dimension| {
                let (datatype, cell_val_num) = (dimension.datatype, dimension.cell_val_num);
                (dimension.name.as_str(), CellShape { datatype, cell_val_num, is_nullable: false })
            })
            .collect();
        const ROW_BYTE_LEN: u64 = 48;
        let part_count =
            (self.written.row_count * ROW_BYTE_LEN / (self.chunk_byte_len as u64).max(1) + 1).max(1);
        for part in 0..part_count {
            let mut seen: HashMap<u64, (usize, u64)> = HashMap::new();
            let mut repeat = None;
            self.source.stream(self.watched, &mut |rows: Rows| {
                if repeat.is_some() {
                    return Ok(());
                }
                let columns = dimensions.iter().map(|(name, shape)| {
                    let array =
                        rows.batch.column_by_name(name).ok_or_else(|| Failure::invalid("no coordinates"))?;
                    Ok((arrow_column(array, *shape)?, *shape))
                });
                let columns = columns.collect::<Outcome<Vec<(Column, CellShape)>>>()?;
                for row in 0..rows.batch.num_rows() {
                    let mut hasher = DefaultHasher::new();
                    for (column, shape) in &columns {
                        let cell = column.as_ref();
                        hasher.write(cell.cell(row, shape.cell_byte_len()));
                        hasher.write_u8(0);
                    }
                    let hash = hasher.finish();
                    if hash % part_count != part {
                        continue;
                    }
                    let place = (rows.file, rows.first_row + row as u64);
                    if let Some(first) = seen.insert(hash, place) {
                        repeat = Some((first, place));
                        break;
                    }
                }
                Ok(())
            })?;
            if let Some((first, second)) = repeat {
                let problem = repeated(&self.source.place(first.0, first.1));
                return Ok(Some(self.source.failure(second.0, second.1, &problem)));
            }
        }
        Ok(None)
    }
}

fn repeated(first: &str) -> String {
    format!(
        "the same coordinates as {first}; name more columns in --dims, allow that with --allow-dups, or number the rows with --index"
    )
}

/// Makes fragments visible together.
pub(super) fn published(
    array: &Array,
    sealed: Vec<SealedFragment>,
    work: &Progress,
) -> Outcome<Vec<WrittenFragment>> {
    work.enter(Phase::Publishing, Unit::Fragments, Some(sealed.len() as u64));
    let fragments = array.commit_together(sealed)?;
    work.complete(Phase::Publishing);
    Ok(fragments)
}

/// The next number of a row of an array whose rows are numbered.
pub(super) fn next_row_number(array: &Array) -> Outcome<u64> {
    let Some(extents) = array.non_empty_extents()? else { return Ok(0) };
    let dimension = array.schema().dimensions.iter().position(|dimension| dimension.name == ROW);
    match dimension.and_then(|idx| extents.get(idx)) {
        Some(smalti::Extent::Num { hi, .. }) => Ok(hi.saturating_add(1)),
        _ => Ok(0),
    }
}
