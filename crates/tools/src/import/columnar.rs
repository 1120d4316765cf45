//! Files that have a schema: Arrow IPC and Parquet, and NumPy files of columns.

use super::npy;
use super::options::Format;
use super::source::{InputFile, Rows, Visit, Watched, named, open};
use super::text::Naming;
use crate::failure::{Failure, Outcome};
use crate::formats::{arrow_schema, open_arrow, parquet_builder, parquet_rows};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::Field;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use smalti::Unit;
use std::fs::File;

/// The columns of a file; `naming` says which of them are wanted.
///
/// # Errors
/// Content that is none of the format.
pub(super) fn fields(file: &InputFile, naming: Naming<'_>) -> Outcome<Vec<Field>> {
    let schema = match file.format {
        Format::Parquet => parquet(file)?.schema().clone(),
        Format::Arrow => {
            open(&file.path)?;
            arrow_schema(&file.path, file.budget)
                .map_err(|failure| failure.at(file.path.display().to_string()))?
        }
        _ => return npy::columns(&file.path, file.format, naming),
    };
    Ok(schema.fields().iter().map(|field| field.as_ref().clone()).collect())
}

/// One reading of a file.
pub(super) struct BinaryReading<'a> {
    pub(super) file: &'a InputFile,
    pub(super) file_idx: usize,
    pub(super) naming: Naming<'a>,
    pub(super) watched: &'a Watched<'a>,
}

impl BinaryReading<'_> {
    /// Reads all rows.
    ///
    /// # Errors
    /// Name the file.
    pub(super) fn run(&self, visit: &mut Visit<'_>) -> Outcome {
        let path = &self.file.path;
        let in_file = |failure: Failure| failure.at(path.display().to_string());
        let mut first_row = 0;
        let mut hand_on = |batch: RecordBatch| -> Outcome {
            self.watched.check()?;
            let batch = named(&batch, self.naming)?;
            let row_count = batch.num_rows() as u64;
            visit(Rows { batch, file: self.file_idx, first_row })?;
            first_row += row_count;
            Ok(())
        };
        match self.file.format {
            Format::Parquet => {
                let builder = parquet(self.file)?;
                let row_count = u64::try_from(builder.metadata().file_metadata().num_rows()).ok();
                self.watched.begin(Unit::Cells, row_count);
                let kept = builder.schema().fields().iter().enumerate();
                let kept: Vec<usize> = kept
                    .filter(|(_, field)| (self.naming)(field.name()).is_some())
                    .map(|(idx, _)| idx)
                    .collect();
                let schema = builder.schema().clone();
                for batch in parquet_rows(path, self.file.budget, schema, &kept).map_err(in_file)? {
                    let batch = batch.map_err(in_file)?;
                    self.watched.advance(Unit::Cells, batch.num_rows() as u64);
                    hand_on(batch)?;
                }
                Ok(())
            }
            Format::Arrow => {
                open(path)?;
                let Watched { work, phase } = self.watched;
                for batch in open_arrow(Some(path), self.file.budget, work, *phase).map_err(in_file)? {
                    let batch = batch.map_err(in_file)?;
                    hand_on(batch)?;
                }
                Ok(())
            }
            _ => npy::rows(path, self.file.format, self.naming, self.watched, &mut hand_on),
        }
    }
}

fn parquet(file: &InputFile) -> Outcome<ParquetRecordBatchReaderBuilder<File>> {
    open(&file.path)?;
    parquet_builder(&file.path, file.budget).map_err(|failure| failure.at(file.path.display().to_string()))
}

/// The number of rows, and for each column the least and the greatest values of the row groups.
pub(super) type StatedBounds = (u64, Vec<(ArrayRef, ArrayRef)>);

/// What the statistics of a Parquet file say of columns: for each the least and the greatest values of the row groups; and the number of
/// rows. `None` unless they are there for all row groups, exact, and without nulls.
pub(super) fn bounds(file: &InputFile, columns: &[String]) -> Outcome<Option<StatedBounds>> {
    let builder = parquet(file)?;
    let groups = builder.metadata().row_groups();
    let row_count = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    let all = |flags: &BooleanArray| flags.null_count() == 0 && flags.true_count() == flags.len();
    let mut found = Vec::new();
    for column in columns {
        let Ok(converter) = StatisticsConverter::try_new(column, builder.schema(), builder.parquet_schema())
        else {
            return Ok(None);
        };
        let (Ok(least), Ok(greatest)) = (converter.row_group_mins(groups), converter.row_group_maxes(groups))
        else {
            return Ok(None);
        };
        let (Ok(is_least), Ok(is_greatest)) =
            (converter.row_group_is_min_value_exact(groups), converter.row_group_is_max_value_exact(groups))
        else {
            return Ok(None);
        };
        let Ok(nulls) = converter.row_group_null_counts(groups) else { return Ok(None) };
        let has_nulls = nulls.null_count() > 0 || nulls.values().iter().any(|count| *count > 0);
        let is_told =
            least.null_count() == 0 && greatest.null_count() == 0 && all(&is_least) && all(&is_greatest);
        if has_nulls || !is_told || groups.is_empty() {
            return Ok(None);
        }
        found.push((least, greatest));
    }
    Ok(Some((row_count, found)))
}
