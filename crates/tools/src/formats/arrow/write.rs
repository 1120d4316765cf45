//! Cells to Arrow IPC.

use super::{arrow_failure, record_batch, schema_of};
use crate::cells::Field;
use crate::failure::Outcome;
use crate::formats::Sink;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;
use smalti::Batch;
use std::io::Write;

/// Writes a record batch for each batch.
pub struct ArrowSink<W: Write> {
    fields: Vec<Field>,
    schema: SchemaRef,
    form: Form<W>,
}

/// A file ends with where its batches are; a stream can be read from a pipe.
enum Form<W: Write> {
    File(FileWriter<W>),
    Stream(StreamWriter<W>),
}

impl<W: Write> ArrowSink<W> {
    /// Writes cells of these fields.
    pub fn new(out: W, fields: &[Field], is_stream: bool) -> Outcome<Self> {
        let schema = schema_of(fields);
        let form = if is_stream {
            Form::Stream(StreamWriter::try_new(out, &schema).map_err(arrow_failure)?)
        } else {
            Form::File(FileWriter::try_new(out, &schema).map_err(arrow_failure)?)
        };
        Ok(ArrowSink { fields: fields.to_vec(), schema, form })
    }
}

impl<W: Write> Sink for ArrowSink<W> {
    fn batch(&mut self, batch: Batch) -> Outcome {
        let batch = record_batch(&self.schema, &self.fields, batch)?;
        match &mut self.form {
            Form::File(writer) => writer.write(&batch),
            Form::Stream(writer) => writer.write(&batch),
        }
        .map_err(arrow_failure)
    }

    fn finish(&mut self) -> Outcome {
        match &mut self.form {
            Form::File(writer) => writer.finish().and_then(|()| writer.flush()),
            Form::Stream(writer) => writer.finish().and_then(|()| writer.flush()),
        }
        .map_err(arrow_failure)
    }
}
