//! Arrow IPC files and streams.

use super::arrow_failure;
use crate::failure::Outcome;
use crate::formats::{Budget, open_file};
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

/// The record batches of a file, read as they are asked for.
pub(crate) type RecordBatches = Box<dyn Iterator<Item = Outcome<RecordBatch>>>;

/// How files start, and streams do not.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Opens an Arrow IPC file or stream; `None` is standard input. Of a file on standard input all is taken into memory, as its
/// end tells where its parts are.
///
/// # Errors
/// Those of the system, and content that is no Arrow IPC.
pub(crate) fn open_arrow(path: Option<&Path>, budget: Budget) -> Outcome<RecordBatches> {
    let Some(path) = path else { return from_pipe(std::io::stdin(), budget) };
    let mut file = open_file(path)?;
    let is_file = starts_like_a_file(&mut file)?.1;
    file.rewind()?;
    if is_file {
        boxed(FileReader::try_new_buffered(file, None))
    } else {
        boxed(StreamReader::try_new_buffered(file, None))
    }
}

fn from_pipe(mut input: impl Read + 'static, budget: Budget) -> Outcome<RecordBatches> {
    let (start, is_file) = starts_like_a_file(&mut input)?;
    if is_file {
        let content = budget.read_whole(Cursor::new(start).chain(input))?;
        return boxed(FileReader::try_new(Cursor::new(content), None));
    }
    boxed(StreamReader::try_new(BufReader::new(Cursor::new(start).chain(input)), None))
}

/// The first bytes, and whether they are those of a file.
fn starts_like_a_file(input: &mut impl Read) -> std::io::Result<(Vec<u8>, bool)> {
    let mut start = Vec::new();
    input.by_ref().take(FILE_MAGIC.len() as u64).read_to_end(&mut start)?;
    let is_file = start == FILE_MAGIC;
    Ok((start, is_file))
}

fn boxed<I>(reader: Result<I, ArrowError>) -> Outcome<RecordBatches>
where
    I: Iterator<Item = Result<RecordBatch, ArrowError>> + 'static,
{
    Ok(Box::new(reader.map_err(arrow_failure)?.map(|batch| batch.map_err(arrow_failure))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::test_field;
    use crate::formats::{ArrowSink, Sink};
    use smalti::{AlignedBuf, Batch, Column, Datatype};

    fn written(is_stream: bool) -> Vec<u8> {
        let field = test_field("a", Datatype::Int16, 1, false);
        let mut out = Vec::new();
        let mut sink = ArrowSink::new(&mut out, std::slice::from_ref(&field), is_stream).unwrap();
        for value in [1_i16, 2, 3] {
            let mut data = AlignedBuf::new();
            data.extend_from_slice(&value.to_le_bytes()).unwrap();
            sink.batch(Batch { cell_count: 1, columns: vec![Column { data, ..Column::default() }] }).unwrap();
        }
        sink.finish().unwrap();
        drop(sink);
        out
    }

    #[test]
    fn files_and_streams_are_told_apart() {
        for is_stream in [false, true] {
            let content = written(is_stream);
            assert_eq!(content.starts_with(FILE_MAGIC), !is_stream);
            let batches = from_pipe(Cursor::new(content), Budget::default())
                .unwrap()
                .collect::<Outcome<Vec<_>>>()
                .unwrap();
            assert_eq!(batches.len(), 3);
            assert_eq!(batches[2].schema().field(0).name(), "a");
        }
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        for is_stream in [false, true] {
            let content = written(is_stream);
            for byte_len in [3, 20, content.len() / 2] {
                let read = from_pipe(Cursor::new(content[..byte_len].to_vec()), Budget::default())
                    .and_then(|batches| batches.collect::<Outcome<Vec<_>>>());
                assert!(read.is_err(), "{byte_len} of {}", content.len());
            }
        }
    }
}
