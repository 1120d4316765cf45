//! Reads as streams of Arrow record batches.

use crate::arrow::{ArrowForm, Dictionary, array_of, arrow_field};
use crate::{BatchStream, Context};
use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Schema as ArrowSchema, SchemaRef};
use smalti_array::Snapshot;
use smalti_query::{Batch, Batches, Progress, ResultField};
use smalti_types::{Error, Result};
use std::sync::Arc;

/// The record batches of a read, made as they are pulled: memory holds the cells that are decoded together, and small batches are slices of them,
/// which share their memory. An error ends the stream.
///
/// Made by [`ReadBuilder::batches`](crate::ReadBuilder::batches).
#[derive(Debug)]
pub struct RecordBatches {
    batches: Batches,
    output: Output,
    context: Context,
    /// Cells of a batch.
    cell_count: usize,
    /// What was decoded together with the last batch, and the first row of it that is not handed out.
    left: Option<(RecordBatch, usize)>,
}

/// How columns become arrays.
#[derive(Debug)]
struct Output {
    schema: SchemaRef,
    /// The labels of each field whose values are codes.
    dictionaries: Vec<Option<Dictionary>>,
    form: ArrowForm,
}

impl RecordBatches {
    /// # Errors
    /// What reading enumerations reports.
    pub(crate) fn new(
        mut batches: Batches,
        snapshot: &Snapshot,
        form: ArrowForm,
        context: Context,
    ) -> Result<Self> {
        let dictionary = |field: &ResultField| {
            let attribute = snapshot.schema().attribute(&field.name).map(|(_, attribute)| attribute);
            let name = attribute.and_then(|attribute| attribute.enumeration.as_ref());
            let name = name.filter(|_| form.has_dictionaries() && !field.is_dimension);
            name.map(|name| Dictionary::new(&*snapshot.enumeration(name)?, form)).transpose()
        };
        let dictionaries = batches.fields().iter().map(dictionary).collect::<Result<Vec<_>>>()?;
        let schema = arrow_schema(batches.fields(), &dictionaries, form);
        let cell_count = batches.leave_whole();
        let output = Output { schema, dictionaries, form };
        Ok(RecordBatches { batches, output, context, cell_count, left: None })
    }

    /// The Arrow schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.output.schema
    }

    /// Whether nothing was ever written where a dense array is read: all cells of the result have fill values. Never so of sparse
    /// arrays.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=99).tile(10)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://unwritten-docs", &schema)?;
    /// array.write().range("x", 0..=9).column("a", &[7; 10]).commit()?;
    /// assert!(!array.read().range("x", 5..=20).batches()?.is_unwritten());
    /// assert!(array.read().range("x", 10..=20).batches()?.is_unwritten());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn is_unwritten(&self) -> bool {
        self.batches.is_unwritten()
    }

    /// What the read has done so far, and where it can be stopped.
    pub fn progress(&self) -> &Arc<Progress> {
        self.batches.progress()
    }

    /// The stream for asynchronous programs, whatever runtime they use.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::futures_core::Stream;
    /// use std::pin::pin;
    /// use std::sync::Arc;
    /// use std::task::{Context, Poll, Wake};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://stream-docs", &schema)?;
    ///
    /// // What a runtime does.
    /// struct Thread(std::thread::Thread);
    /// impl Wake for Thread {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    /// let waker = Arc::new(Thread(std::thread::current())).into();
    /// let mut task = Context::from_waker(&waker);
    ///
    /// let mut stream = pin!(array.read().batches()?.into_stream());
    /// let batch = loop {
    ///     match stream.as_mut().poll_next(&mut task) {
    ///         Poll::Ready(batch) => break batch,
    ///         Poll::Pending => std::thread::park(),
    ///     }
    /// };
    /// assert_eq!(batch.unwrap()?.num_rows(), 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn into_stream(self) -> BatchStream {
        BatchStream::new(self)
    }

    /// Whether the next batch takes no time to speak of, because its cells were read with those of the last one: for those who would ask for it on
    /// another thread.
    pub fn is_ready(&self) -> bool {
        self.left.is_some() || self.batches.is_ready()
    }

    /// The stream as Arrow's own trait, for writers and engines that take any source of record batches.
    ///
    /// ```
    /// use smalti::arrow_array::RecordBatchReader;
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://reader-docs", &schema)?;
    /// let mut reader = array.read().batches()?.into_reader();
    /// assert_eq!(reader.schema().field(1).name(), "a");
    /// assert_eq!(reader.next().unwrap().unwrap().num_rows(), 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn into_reader(self) -> impl RecordBatchReader {
        Reader(self)
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Err(error) = self.context.check_process() {
            return Some(Err(error));
        }
        let (batch, start) = match self.left.take() {
            Some(left) => match self.batches.progress().check() {
                Ok(()) => left,
                Err(error) => return Some(Err(error)),
            },
            None => {
                let RecordBatches { batches, output, .. } = self;
                let next = batches.run_next(|batches| {
                    let batch = batches.next()?;
                    Some(batch.and_then(|batch| output.record_batch(batches, batch)))
                });
                match next? {
                    Ok(batch) => (batch, 0),
                    Err(error) => return Some(Err(error)),
                }
            }
        };
        let left = batch.num_rows() - start;
        if left <= self.cell_count {
            return Some(Ok(if start == 0 { batch } else { batch.slice(start, left) }));
        }
        let next = batch.slice(start, self.cell_count);
        self.left = Some((batch, start + self.cell_count));
        Some(Ok(next))
    }
}

impl RecordBatches {
    /// The cells of all batches that are left, in one.
    pub(crate) fn join(mut self) -> Result<RecordBatch> {
        self.context.check_process()?;
        let RecordBatches { batches, output, .. } = &mut self;
        batches.run(|batches| {
            let batch = batches.join()?;
            output.record_batch(batches, batch)
        })
    }
}

struct Reader(RecordBatches);

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.0.output.schema.clone()
    }
}

fn arrow_schema(fields: &[ResultField], dictionaries: &[Option<Dictionary>], form: ArrowForm) -> SchemaRef {
    let one = |(field, dictionary): (&ResultField, &Option<Dictionary>)| match dictionary {
        Some(dictionary) => dictionary.field(&field.name, field.shape, form),
        None => arrow_field(&field.name, field.shape, form),
    };
    Arc::new(ArrowSchema::new(fields.iter().zip(dictionaries).map(one).collect::<Vec<_>>()))
}

impl Output {
    fn record_batch(&self, batches: &Batches, batch: Batch) -> Result<RecordBatch> {
        let Batch { cell_count, columns, .. } = batch;
        let fields = batches.fields().iter().zip(&self.dictionaries);
        let progress = batches.progress();
        let check = || progress.check();
        let arrays = fields
            .zip(columns)
            .map(|((field, dictionary), column)| {
                check()?;
                match dictionary {
                    Some(dictionary) => dictionary.array(column, field.shape, &check),
                    None => array_of(column, field.shape, cell_count, self.form, &check),
                }
                .map_err(|error| error.context(format_args!("field {:?}", field.name)))
            })
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(cell_count));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|error| Error::corrupt(format!("the columns make no record batch: {error}")))
    }
}
