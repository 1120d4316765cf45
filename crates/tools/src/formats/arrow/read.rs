//! Arrow IPC files and streams.

use super::arrow_failure;
use super::check::{CheckedStream, check_file};
use super::cut::cut_batches;
use crate::counted::Counted;
use crate::failure::Outcome;
use crate::formats::boundary::{guarded, guarded_batches};
use crate::formats::{Budget, open_file};
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use smalti::{Phase, Progress};
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::Arc;

/// The record batches of a file, read as they are asked for.
pub(crate) type RecordBatches = Box<dyn Iterator<Item = Outcome<RecordBatch>>>;

/// What messages call such a file.
const FORMAT: &str = "Arrow";

/// How files start, and streams do not.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Opens an Arrow IPC file or stream; `None` is standard input. Of a file on standard input all is taken into memory, as its
/// end tells where its parts are. `work` is told how many bytes were read.
///
/// # Errors
/// Those of the system, and content that is no Arrow IPC.
pub(crate) fn open_arrow(
    path: Option<&Path>,
    budget: Budget,
    work: &Arc<Progress>,
    phase: Phase,
) -> Outcome<RecordBatches> {
    let Some(path) = path else {
        return from_pipe(Counted::in_phase(std::io::stdin(), None, work, phase), budget);
    };
    let mut file = open_file(path)?;
    let is_file = starts_like_a_file(&mut file)?.1;
    file.rewind()?;
    let byte_len = file.metadata().ok().map(|metadata| metadata.len());
    let file = BufReader::new(Counted::in_phase(file, byte_len, work, phase));
    if is_file { from_file(file, budget) } else { from_stream(file, budget) }
}

/// The schema of such a file.
///
/// # Errors
/// As [`open_arrow`].
pub(crate) fn arrow_schema(path: &Path, budget: Budget) -> Outcome<SchemaRef> {
    let mut file = open_file(path)?;
    let is_file = starts_like_a_file(&mut file)?.1;
    file.rewind()?;
    let mut file = BufReader::new(file);
    guarded(FORMAT, move || match is_file {
        true => {
            check_file(&mut file, budget)?;
            Ok(FileReader::try_new(file, None).map_err(arrow_failure)?.schema())
        }
        false => {
            let reader = StreamReader::try_new(CheckedStream::new(file, budget), None);
            Ok(reader.map_err(arrow_failure)?.schema())
        }
    })
}

fn from_pipe(mut input: impl Read + Send + 'static, budget: Budget) -> Outcome<RecordBatches> {
    let (start, is_file) = starts_like_a_file(&mut input)?;
    let input = Cursor::new(start).chain(input);
    if is_file {
        return from_file(Cursor::new(budget.read_whole(input)?), budget);
    }
    from_stream(BufReader::new(input), budget)
}

fn from_file(mut file: impl Read + Seek + Send + 'static, budget: Budget) -> Outcome<RecordBatches> {
    boxed(budget, move || {
        check_file(&mut file, budget)?;
        FileReader::try_new(file, None).map_err(arrow_failure)
    })
}

fn from_stream(input: impl Read + Send + 'static, budget: Budget) -> Outcome<RecordBatches> {
    boxed(budget, move || {
        StreamReader::try_new(CheckedStream::new(input, budget), None).map_err(arrow_failure)
    })
}

/// The first bytes, and whether they are those of a file.
fn starts_like_a_file(input: &mut impl Read) -> std::io::Result<(Vec<u8>, bool)> {
    let mut start = Vec::new();
    input.by_ref().take(FILE_MAGIC.len() as u64).read_to_end(&mut start)?;
    let is_file = start == FILE_MAGIC;
    Ok((start, is_file))
}

fn boxed<I>(budget: Budget, open: impl FnOnce() -> Outcome<I> + Send + 'static) -> Outcome<RecordBatches>
where
    I: Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
{
    let reader = guarded(FORMAT, open)?;
    let batches = guarded_batches(FORMAT, reader.map(|batch| batch.map_err(arrow_failure)));
    Ok(cut_batches(batches, budget.piece_byte_len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::test_field;
    use crate::formats::boundary::damages;
    use crate::formats::room::untaken;
    use crate::formats::{ArrowSink, Room, Sink, gather};
    use arrow_array::types::{Int8Type, Int32Type};
    use arrow_array::{ArrayRef, DictionaryArray, ListArray, StringArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    use smalti::{AlignedBuf, Batch, Column, Datatype};
    use std::sync::Arc;

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
    /// A file or stream with strings, a dictionary and lists, compressed.
    fn packed(is_stream: bool, compression: Option<CompressionType>) -> Vec<u8> {
        let texts: Vec<String> = (0..40).map(|idx| format!("text {}", idx % 5)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let lists = (0..40).map(|idx| (idx % 4 != 0).then(|| vec![Some(idx), Some(-idx)]));
        let batch = RecordBatch::try_from_iter([
            ("text", Arc::new(StringArray::from(texts.clone())) as ArrayRef),
            ("label", Arc::new(texts.into_iter().collect::<DictionaryArray<Int8Type>>())),
            ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ])
        .unwrap();
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let (mut out, schema) = (Vec::new(), batch.schema());
        if is_stream {
            let mut writer = StreamWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            writer.write(&batch).and_then(|()| writer.write(&batch)).and_then(|()| writer.finish()).unwrap();
        } else {
            let mut writer = FileWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            writer.write(&batch).and_then(|()| writer.write(&batch)).and_then(|()| writer.finish()).unwrap();
        }
        out
    }

    #[test]
    fn damaged_files_are_errors_or_other_cells_and_never_panic() {
        let fields = [
            test_field("text", Datatype::StringUtf8, 0, true),
            test_field("label", Datatype::StringUtf8, 0, true),
            test_field("list", Datatype::Int32, 0, true),
        ];
        let read = |content: Vec<u8>| {
            from_pipe(Cursor::new(content), Budget::default())
                .and_then(|batches| gather(batches, &fields, &Room::default(), &mut untaken))
        };
        let forms = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
        for (is_stream, compression) in
            [false, true].into_iter().flat_map(|form| forms.map(|one| (form, one)))
        {
            let whole = packed(is_stream, compression);
            assert_eq!(read(whole.clone()).unwrap().len(), 3);
            let failed = damages(&whole).filter(|content| read(content.clone()).is_err());
            assert!(failed.count() > 100, "{is_stream} {compression:?}");
        }
    }

    #[test]
    fn a_buffer_that_says_it_unpacks_to_more_than_memory_is_an_error() {
        for is_stream in [false, true] {
            let mut whole = packed(is_stream, Some(CompressionType::ZSTD));
            // The length before compression in front of a frame of Zstandard.
            let frame = whole.windows(4).position(|bytes| bytes == [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
            whole[frame - 3] = 0x40;
            let opened = from_pipe(Cursor::new(whole), Budget::default());
            let failure = opened.and_then(|batches| batches.collect::<Outcome<Vec<_>>>()).unwrap_err();
            assert!(
                failure.to_string().contains("corrupt: the Arrow file is damaged: a batch of "),
                "{failure}"
            );
        }
    }
}
