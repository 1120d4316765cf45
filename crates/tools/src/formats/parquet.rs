//! Parquet files.

use super::arrow::{RecordBatches, arrow_failure, cut_batches, record_batch, schema_of};
use super::input::too_much;
use crate::cells::Field;
use crate::failure::{Failure, Outcome};
use crate::formats::boundary::{guarded, guarded_batches};
use crate::formats::pages::check_pages;
use crate::formats::{Budget, Sink, open_file};
use crate::human;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, LargeBinaryArray, LargeStringArray, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::SchemaDescriptor;
use smalti::Batch;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// What messages call such a file.
const FORMAT: &str = "Parquet";

/// Rows of a batch that is read.
const BATCH_ROW_COUNT: usize = 1 << 16;

/// Encoded bytes of a row group, which the writer holds in memory.
const ROW_GROUP_BYTE_LEN: usize = 64 << 20;

/// Opens a Parquet file, and tells how many rows it has; `None` is standard input, which is taken into memory, as the end of the
/// file tells where its parts are.
///
/// # Errors
/// Those of the system, and content that is no Parquet.
pub(crate) fn open_parquet(path: Option<&Path>, budget: Budget) -> Outcome<(RecordBatches, u64)> {
    match path {
        Some(path) => from_chunks(open_file(path)?, budget),
        None => from_chunks(Bytes::from(budget.read_whole(std::io::stdin())?), budget),
    }
}

fn from_chunks(file: impl ChunkReader + 'static, budget: Budget) -> Outcome<(RecordBatches, u64)> {
    let builder = builder_of(file, budget, all_as_views)?;
    let row_count = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    Ok((batches_of(builder, budget)?, row_count))
}

/// What reads a file, with its schema and its statistics.
///
/// # Errors
/// Those of the system, and content that is no Parquet.
pub(crate) fn parquet_builder(path: &Path, budget: Budget) -> Outcome<ParquetRecordBatchReaderBuilder<File>> {
    builder_of(open_file(path)?, budget, |_| None)
}

/// The rows of some columns of a file, which has the types of `schema`: that of a [builder](parquet_builder).
///
/// # Errors
/// Those of the system, and content that is no Parquet.
pub(crate) fn parquet_rows(
    path: &Path,
    budget: Budget,
    schema: SchemaRef,
    columns: &[usize],
) -> Outcome<RecordBatches> {
    let builder = builder_of(open_file(path)?, budget, as_views)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    let batches = batches_of(builder.with_projection(mask), budget)?;
    let written_out = move |batch: Outcome<RecordBatch>| {
        let (batch, schema) = (batch?, schema.clone());
        guarded(FORMAT, move || without_views(&batch, &schema))
    };
    Ok(Box::new(batches.map(written_out)))
}

/// What the reader makes of a type, if not that: of strings a view of each, as one of a dictionary would be written out for every row.
type Form = fn(&DataType) -> Option<DataType>;

fn as_views(datatype: &DataType) -> Option<DataType> {
    match datatype {
        DataType::Utf8 | DataType::LargeUtf8 => Some(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => Some(DataType::BinaryView),
        _ => None,
    }
}

fn all_as_views(datatype: &DataType) -> Option<DataType> {
    match datatype {
        DataType::Dictionary(_, values) => as_views(values),
        other => as_views(other),
    }
}

/// Views of strings as what the file says they are.
fn without_views(batch: &RecordBatch, schema: &SchemaRef) -> Outcome<RecordBatch> {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let own = schema.field_with_name(field.name()).map_err(arrow_failure)?;
        let is_view = matches!(array.data_type(), DataType::Utf8View | DataType::BinaryView);
        let column: ArrayRef = match own.data_type() {
            DataType::Utf8 if is_view => Arc::new(array.as_string_view().iter().collect::<StringArray>()),
            DataType::LargeUtf8 if is_view => {
                Arc::new(array.as_string_view().iter().collect::<LargeStringArray>())
            }
            DataType::Binary if is_view => Arc::new(array.as_binary_view().iter().collect::<BinaryArray>()),
            DataType::LargeBinary if is_view => {
                Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>())
            }
            _ => array.clone(),
        };
        columns.push(column);
        fields.push(own.clone());
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(arrow_failure)
}

fn builder_of<T: ChunkReader + 'static>(
    file: T,
    budget: Budget,
    form: Form,
) -> Outcome<ParquetRecordBatchReaderBuilder<T>> {
    guarded(FORMAT, move || {
        let mut metadata =
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(parquet_failure)?;
        check_pages(&file, metadata.metadata(), budget)?;
        let shown = |field: &FieldRef| match form(field.data_type()) {
            Some(datatype) => Arc::new(field.as_ref().clone().with_data_type(datatype)),
            None => field.clone(),
        };
        let fields: Vec<FieldRef> = metadata.schema().fields().iter().map(shown).collect();
        if fields.iter().ne(metadata.schema().fields().iter()) {
            let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
            let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
            metadata = ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
                .map_err(parquet_failure)?;
        }
        Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
    })
}

/// The record batches of a file, in pieces that fit the budget.
fn batches_of<T: ChunkReader + 'static>(
    builder: ParquetRecordBatchReaderBuilder<T>,
    budget: Budget,
) -> Outcome<RecordBatches> {
    let row_count = rows_at_once(builder.parquet_schema(), budget)?;
    let build = move || builder.with_batch_size(row_count).build().map_err(parquet_failure);
    let reader = guarded(FORMAT, build)?;
    let batches = guarded_batches(FORMAT, reader.map(|batch| batch.map_err(arrow_failure)));
    Ok(cut_batches(batches, budget.piece_byte_len()))
}

/// Rows of a batch that is read: cells of a fixed length have that in every row, whatever the file has of them.
fn rows_at_once(schema: &SchemaDescriptor, budget: Budget) -> Outcome<usize> {
    let columns = schema.columns().iter();
    let fixed = columns.filter(|column| column.physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY);
    let row_byte_len = fixed.map(|column| u64::try_from(column.type_length()).unwrap_or(0)).sum::<u64>();
    if row_byte_len > budget.byte_len() {
        let wanted = row_byte_len.saturating_mul(8).div_ceil(1 << 20);
        return Err(too_much(format!(
            "a row of the Parquet file has cells of {}; --memory {wanted}MiB would do",
            human::bytes(row_byte_len)
        )));
    }
    let row_count = budget.piece_byte_len() / row_byte_len.max(1);
    Ok(usize::try_from(row_count).unwrap_or(usize::MAX).clamp(1, BATCH_ROW_COUNT))
}

pub(super) fn parquet_failure(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => (*error).into(),
            Err(error) => Failure::invalid(error.to_string()),
        },
        error => Failure::invalid(error.to_string()),
    }
}

/// Writes row groups, compressed with Zstandard; the Arrow schema is kept with them, so that every datatype comes back.
pub struct ParquetSink<W: Write + Send> {
    fields: Vec<Field>,
    schema: SchemaRef,
    /// Taken by the end of the file.
    writer: Option<ArrowWriter<W>>,
}

impl<W: Write + Send> ParquetSink<W> {
    /// Writes cells of these fields.
    pub fn new(out: W, fields: &[Field]) -> Outcome<Self> {
        let schema = schema_of(fields);
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(parquet_failure)?;
        Ok(ParquetSink { fields: fields.to_vec(), schema, writer: Some(writer) })
    }
}

impl<W: Write + Send> Sink for ParquetSink<W> {
    fn batch(&mut self, batch: Batch) -> Outcome {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.write(&record_batch(&self.schema, &self.fields, batch)?).map_err(parquet_failure)?;
        if writer.in_progress_size() > ROW_GROUP_BYTE_LEN {
            writer.flush().map_err(parquet_failure)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        Ok(writer.into_inner().map_err(parquet_failure)?.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::test_field;
    use crate::formats::room::untaken;
    use crate::formats::{Room, gather};
    use smalti::{AlignedBuf, Column, Datatype};

    #[test]
    fn cells_come_back_and_cut_files_are_errors() {
        let field = test_field("a", Datatype::UInt64, 1, true);
        let fields = std::slice::from_ref(&field);
        let mut out = Vec::new();
        let mut sink = ParquetSink::new(&mut out, fields).unwrap();
        let aligned = |bytes: &[u8]| {
            let mut buf = AlignedBuf::new();
            buf.extend_from_slice(bytes).map(|()| buf).unwrap()
        };
        let data = aligned(&[u64::MAX.to_le_bytes(), [0; 8]].concat());
        let column = Column { data, offsets: None, validity: Some(aligned(&[1, 0])) };
        sink.batch(Batch { cell_count: 2, columns: vec![column] }).unwrap();
        sink.finish().unwrap();
        drop(sink);
        let (batches, row_count) = from_chunks(Bytes::from(out.clone()), Budget::default()).unwrap();
        assert_eq!(row_count, 2);
        let columns = gather(batches, fields, &Room::default(), &mut untaken).unwrap();
        let cells = columns[0].1.as_ref();
        assert_eq!((cells.cell(0, 8), cells.validity.unwrap()), (&[255; 8][..], &[1, 0][..]));
        assert!(from_chunks(Bytes::copy_from_slice(&out[..out.len() - 1]), Budget::default()).is_err());
        assert!(from_chunks(Bytes::from_static(b"PAR"), Budget::default()).is_err());
    }
    /// A file of strings, some in a dictionary, numbers and nulls, in several pages and row groups.
    fn small_file() -> Vec<u8> {
        use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, types::Int32Type};
        let texts = (0..60).map(|idx| (idx % 7 != 0).then(|| format!("text {}", idx % 5)));
        let lists = (0..60).map(|idx| (idx % 4 != 0).then(|| vec![Some(idx), Some(-idx)]));
        let batch = RecordBatch::try_from_iter([
            ("text", std::sync::Arc::new(StringArray::from_iter(texts)) as ArrayRef),
            ("number", std::sync::Arc::new(Int64Array::from_iter_values((0..60).map(|idx| idx * 1_000_003)))),
            ("list", std::sync::Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ])
        .unwrap();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_data_page_row_count_limit(20)
            .set_write_batch_size(10)
            .set_max_row_group_row_count(Some(30))
            .build();
        let mut out = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        out
    }

    #[test]
    fn damaged_files_are_errors_or_other_cells_and_never_panic() {
        let fields = [
            test_field("text", Datatype::StringUtf8, 0, true),
            test_field("number", Datatype::Int64, 1, false),
            test_field("list", Datatype::Int32, 0, true),
        ];
        let read = |content: Vec<u8>| {
            from_chunks(Bytes::from(content), Budget::default())
                .and_then(|(batches, _)| gather(batches, &fields, &Room::default(), &mut untaken))
        };
        let whole = small_file();
        assert_eq!(read(whole.clone()).unwrap().len(), 3);
        let failed =
            crate::formats::boundary::damages(&whole).filter(|content| read(content.clone()).is_err());
        assert!(failed.count() > 100);
    }
}
