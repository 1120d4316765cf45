//! Record batches that come once and are read twice: kept in memory while there is room, and beyond that in a temporary file.

use super::source::{Rows, Visit, Watched, named};
use super::text::Naming;
use crate::failure::{Failure, Outcome};
use crate::formats::{Budget, arrow_failure, cut_batches};
use arrow_array::{Array as _, RecordBatch, RecordBatchReader};
use arrow_data::ArrayData;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::SchemaRef;
use smalti::Unit;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// A stream of record batches.
pub(super) struct Stream {
    schema: SchemaRef,
    batches: RefCell<Batches>,
    /// Bytes that are kept in memory.
    limit: usize,
    budget: Budget,
    /// Where the temporary file is made.
    folder: Option<PathBuf>,
}

/// Where the batches are.
enum Batches {
    Unread(Box<dyn RecordBatchReader + Send>),
    /// They are being read, or were not read to their end.
    Gone,
    Kept(Kept),
}

/// Batches that were read.
struct Kept {
    in_memory: Vec<RecordBatch>,
    /// What holds all of them, where there is no room in memory.
    file: Option<File>,
    row_count: u64,
}

impl Stream {
    pub(super) fn new(
        reader: Box<dyn RecordBatchReader + Send>,
        limit: usize,
        budget: Budget,
        folder: Option<&Path>,
    ) -> Stream {
        let schema = reader.schema();
        let folder = folder.map(Path::to_path_buf);
        Stream { schema, batches: RefCell::new(Batches::Unread(reader)), limit, budget, folder }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads all rows, under the names of the array.
    ///
    /// # Errors
    /// Those of the stream; batches that have other columns than it says; those of the system on the temporary file.
    pub(super) fn read(
        &self,
        idx: usize,
        naming: Naming<'_>,
        watched: &Watched<'_>,
        visit: &mut Visit<'_>,
    ) -> Outcome {
        let mut first_row = 0;
        let mut hand_on = |batch: &RecordBatch| -> Outcome {
            watched.check()?;
            let batch = named(batch, naming)?;
            let row_count = batch.num_rows() as u64;
            watched.advance(Unit::Cells, row_count);
            visit(Rows { batch, file: idx, first_row })?;
            first_row += row_count;
            Ok(())
        };
        // What visits may read again itself.
        let (in_memory, file) = match self.batches.replace(Batches::Gone) {
            Batches::Unread(reader) => {
                watched.begin(Unit::Cells, None);
                let kept = self.first_pass(reader, &mut hand_on)?;
                self.batches.replace(Batches::Kept(kept));
                return Ok(());
            }
            Batches::Gone => return Err(Failure::invalid("the record batches are gone: they come once")),
            Batches::Kept(kept) => {
                watched.begin(Unit::Cells, Some(kept.row_count));
                let parts = (kept.in_memory.clone(), kept.file.as_ref().map(File::try_clone).transpose()?);
                self.batches.replace(Batches::Kept(kept));
                parts
            }
        };
        in_memory.iter().try_for_each(&mut hand_on)?;
        let Some(mut file) = file else { return Ok(()) };
        file.rewind()?;
        let reader = StreamReader::try_new(BufReader::new(file), None).map_err(arrow_failure)?;
        for batch in reader {
            hand_on(&batch.map_err(arrow_failure)?)?;
        }
        Ok(())
    }

    fn first_pass(
        &self,
        reader: Box<dyn RecordBatchReader + Send>,
        hand_on: &mut dyn FnMut(&RecordBatch) -> Outcome,
    ) -> Outcome<Kept> {
        let batches = Box::new(reader.map(|batch| batch.map_err(arrow_failure)));
        let mut keeper =
            Keeper { stream: self, in_memory: Vec::new(), buffers: HashSet::new(), byte_len: 0, file: None };
        let mut row_count = 0;
        for batch in cut_batches(batches, self.budget.piece_byte_len()) {
            let batch = batch?;
            self.check(&batch)?;
            row_count += batch.num_rows() as u64;
            hand_on(&batch)?;
            keeper.take(batch)?;
        }
        keeper.finish(row_count)
    }

    /// Checks that a batch has the columns of the stream.
    fn check(&self, batch: &RecordBatch) -> Outcome {
        let schema = batch.schema();
        let columns = || schema.fields().iter().map(|field| (field.name(), field.data_type()));
        match columns().eq(self.schema.fields().iter().map(|field| (field.name(), field.data_type()))) {
            true => Ok(()),
            false => Err(Failure::invalid("a record batch has other columns than its stream says")),
        }
    }
}

/// Keeps batches as they come.
struct Keeper<'a> {
    stream: &'a Stream,
    in_memory: Vec<RecordBatch>,
    /// The buffers of those in memory, by where they are: batches share them.
    buffers: HashSet<usize>,
    byte_len: usize,
    file: Option<StreamWriter<BufWriter<File>>>,
}

impl Keeper<'_> {
    fn take(&mut self, batch: RecordBatch) -> Outcome {
        if let Some(file) = &mut self.file {
            return file.write(&batch).map_err(arrow_failure);
        }
        for column in batch.columns() {
            self.count(&column.to_data());
        }
        self.in_memory.push(batch);
        if self.byte_len <= self.stream.limit {
            return Ok(());
        }
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME));
        let options = options.map_err(arrow_failure)?;
        let file = BufWriter::new(match &self.stream.folder {
            Some(folder) => tempfile::tempfile_in(folder)?,
            None => tempfile::tempfile()?,
        });
        let writer = StreamWriter::try_new_with_options(file, &self.stream.schema, options);
        let mut writer = writer.map_err(arrow_failure)?;
        for batch in self.in_memory.drain(..) {
            writer.write(&batch).map_err(arrow_failure)?;
        }
        self.buffers = HashSet::new();
        self.file = Some(writer);
        Ok(())
    }

    /// Counts the buffers of a column that no batch before it has.
    fn count(&mut self, data: &ArrayData) {
        let validity = data.nulls().map(|nulls| nulls.buffer());
        for buffer in data.buffers().iter().chain(validity) {
            if self.buffers.insert(buffer.data_ptr().as_ptr() as usize) {
                self.byte_len = self.byte_len.saturating_add(buffer.capacity());
            }
        }
        for child in data.child_data() {
            self.count(child);
        }
    }

    fn finish(self, row_count: u64) -> Outcome<Kept> {
        let file = match self.file {
            Some(writer) => {
                let mut buffered = writer.into_inner().map_err(arrow_failure)?;
                buffered.flush()?;
                Some(buffered.into_inner().map_err(|error| error.into_error())?)
            }
            None => None,
        };
        Ok(Kept { in_memory: self.in_memory, file, row_count })
    }
}
