//! Reads as streams of Arrow record batches.

use crate::arrow::{ArrowForm, arrow_array, arrow_field};
use crate::options::Pool;
use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Schema as ArrowSchema, SchemaRef};
use smalti_query::{Batch, Batches, ResultField};
use smalti_types::{Error, Result};
use std::sync::Arc;

/// The record batches of a read, made as they are pulled: memory holds one batch at a time. An error ends the stream.
///
/// Made by [`ReadBuilder::batches`](crate::ReadBuilder::batches).
#[derive(Debug)]
pub struct RecordBatches<'a> {
    batches: Batches<'a>,
    schema: SchemaRef,
    form: ArrowForm,
    pool: &'a Pool,
}

impl<'a> RecordBatches<'a> {
    pub(crate) fn new(batches: Batches<'a>, form: ArrowForm, pool: &'a Pool) -> Self {
        let schema = arrow_schema(batches.fields(), form);
        RecordBatches { batches, schema, form, pool }
    }

    /// The Arrow schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The stream as Arrow's own trait, for writers and engines that take any source of record batches.
    ///
    /// ```
    /// use arrow_array::RecordBatchReader;
    /// # use smalti::prelude::*;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://reader-docs", &schema)?;
    /// let mut reader = array.read().batches()?.into_reader();
    /// assert_eq!(reader.schema().field(1).name(), "a");
    /// assert_eq!(reader.next().unwrap().unwrap().num_rows(), 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn into_reader(self) -> impl RecordBatchReader + use<'a> {
        Reader(self)
    }
}

impl Iterator for RecordBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let RecordBatches { batches, schema, form, pool } = self;
        let batch = pool.run(|| batches.next())?;
        Some(batch.and_then(|batch| record_batch(batch, self.batches.fields(), schema, *form)))
    }
}

struct Reader<'a>(RecordBatches<'a>);

impl Iterator for Reader<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Reader<'_> {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }
}

pub(crate) fn arrow_schema(fields: &[ResultField], form: ArrowForm) -> SchemaRef {
    let fields: Vec<_> = fields.iter().map(|field| arrow_field(&field.name, field.shape, form)).collect();
    Arc::new(ArrowSchema::new(fields))
}

fn record_batch(
    batch: Batch,
    fields: &[ResultField],
    schema: &SchemaRef,
    form: ArrowForm,
) -> Result<RecordBatch> {
    let Batch { cell_count, columns, .. } = batch;
    let arrays = fields
        .iter()
        .zip(columns)
        .map(|(field, column)| {
            arrow_array(column, field.shape, cell_count, form)
                .map_err(|error| error.context(format_args!("field {:?}", field.name)))
        })
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(cell_count));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
        .map_err(|error| Error::corrupt(format!("the columns make no record batch: {error}")))
}
