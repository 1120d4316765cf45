//! Rle: run lengths. Fixed-size cells and var-sized strings have different layouts.
//!
//! Cells (specification: `tile.md`, compression filters): a compressor in the frame of `compression.rs`. A run of more than
//! 65535 equal cells is continued in a new one.
//!
//! ```text
//! ┌ cell ┬ u16 big-endian run length ┬ cell ┬ run length ┬ ... ┐
//! ```
//!
//! Strings of var-sized ASCII and UTF-8 fields: the offsets become part of the data.
//!
//! ```text
//! metadata  ┌ frame of strings.rs ┬ u8 bytes of a run length ┬ u8 bytes of a string length ┐
//! data      ┌ run length ┬ string length ┬ string ┬ ... ┐   big-endian numbers of those widths
//! ```
//!
//! The widths are the least that hold the longest run and the longest string. libtiledb forgets the last run's string
//! when it looks for the longest, and cuts that length if it is the only one of its width: bytes differ only
//! there, where the reference's cannot be read back.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a run is not empty, and no longer than 16 bits count"
)]

use crate::context::{ChunkContext, MetadataReader, PartCodec, StringCodec};
use crate::parts::Parts;
use crate::strings::{StringFrame, byte_width, push_be, read_width, strings, take_be};
use smalti_types::{Error, Result};

/// The rle compressor; the context gives the length of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rle;

impl PartCodec for Rle {
    fn compress(&self, part: &[u8], out: &mut Vec<u8>, context: &ChunkContext) -> Result<()> {
        let cell_byte_len = context.cell_byte_len;
        if cell_byte_len == 0 || !part.len().is_multiple_of(cell_byte_len) {
            return Err(Error::invalid(format!(
                "filter rle: {} bytes are no whole number of cells of {cell_byte_len} bytes",
                part.len()
            )));
        }
        match cell_byte_len {
            1 => compress_arrays(part.as_chunks::<1>().0, out),
            2 => compress_arrays(part.as_chunks::<2>().0, out),
            4 => compress_arrays(part.as_chunks::<4>().0, out),
            8 => compress_arrays(part.as_chunks::<8>().0, out),
            _ => compress_cells(part, cell_byte_len, out),
        }
        Ok(())
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8], context: &ChunkContext) -> Result<()> {
        let out_byte_len = out.len();
        let filled = match context.cell_byte_len {
            1 => decompress_arrays(compressed, out.as_chunks_mut::<1>()),
            2 => decompress_arrays(compressed, out.as_chunks_mut::<2>()),
            4 => decompress_arrays(compressed, out.as_chunks_mut::<4>()),
            8 => decompress_arrays(compressed, out.as_chunks_mut::<8>()),
            cell_byte_len => decompress_cells(compressed, cell_byte_len, out),
        };
        filled.ok_or_else(|| {
            Error::corrupt(format!(
                "filter rle: {} bytes of runs of cells of {} bytes do not make {out_byte_len} bytes",
                compressed.len(),
                context.cell_byte_len
            ))
            .in_field("chunk", "data")
        })
    }
}

const MAX_RUN_LEN: usize = u16::MAX as usize;

fn compress_arrays<const WIDTH: usize>(cells: &[[u8; WIDTH]], out: &mut Vec<u8>) {
    for equal in cells.chunk_by(|before, cell| before == cell) {
        for run in equal.chunks(MAX_RUN_LEN) {
            out.extend_from_slice(&run[0]);
            out.extend_from_slice(&(run.len() as u16).to_be_bytes());
        }
    }
}

fn compress_cells(part: &[u8], cell_byte_len: usize, out: &mut Vec<u8>) {
    let mut rest = part;
    while let Some(cell) = rest.get(..cell_byte_len).filter(|cell| !cell.is_empty()) {
        let cells = rest.chunks_exact(cell_byte_len).take(MAX_RUN_LEN);
        let run_len = cells.take_while(|other| *other == cell).count();
        out.extend_from_slice(cell);
        out.extend_from_slice(&(run_len as u16).to_be_bytes());
        rest = &rest[run_len * cell_byte_len..];
    }
}

/// `None` when the runs do not fill `out`.
fn decompress_arrays<const WIDTH: usize>(
    compressed: &[u8],
    (mut out, tail): (&mut [[u8; WIDTH]], &mut [u8]),
) -> Option<()> {
    let runs = compressed.chunks_exact(WIDTH + 2);
    let whole = runs.remainder().is_empty() && tail.is_empty();
    for run in runs {
        let (cell, run_len) = run.split_first_chunk::<WIDTH>()?;
        let run_len = u16::from_be_bytes(*run_len.first_chunk()?);
        let (cells, rest) = out.split_at_mut_checked(usize::from(run_len))?;
        cells.fill(*cell);
        out = rest;
    }
    (whole && out.is_empty()).then_some(())
}

/// `None` when the runs do not fill `out`.
fn decompress_cells(compressed: &[u8], cell_byte_len: usize, mut out: &mut [u8]) -> Option<()> {
    let runs = compressed.chunks_exact(cell_byte_len.checked_add(2)?);
    let whole = cell_byte_len > 0 && runs.remainder().is_empty();
    for run in runs {
        let (cell, run_len) = run.split_at_checked(cell_byte_len)?;
        let run_len = usize::from(u16::from_be_bytes(*run_len.first_chunk()?));
        let (cells, rest) = out.split_at_mut_checked(run_len.checked_mul(cell_byte_len)?)?;
        cells.chunks_exact_mut(cell_byte_len.max(1)).for_each(|copy| copy.copy_from_slice(cell));
        out = rest;
    }
    (whole && out.is_empty()).then_some(())
}

impl StringCodec for Rle {
    fn encode_strings(&self, data: &[u8], offsets: &[u64], output: &mut Parts) -> Result<()> {
        let mut runs: Vec<(&[u8], u64)> = Vec::new();
        for string in strings(data, offsets) {
            match runs.last_mut() {
                Some((before, run_len)) if *before == string => *run_len += 1,
                _ => runs.push((string, 1)),
            }
        }
        let run_width = byte_width(runs.iter().map(|(_, run_len)| *run_len).max().unwrap_or(0));
        let len_width = byte_width(runs.iter().map(|(string, _)| string.len() as u64).max().unwrap_or(0));
        let encoded_byte_len = output.data.push_with(|out| {
            let start = out.len();
            for (string, run_len) in runs {
                push_be(out, run_len, run_width);
                push_be(out, string.len() as u64, len_width);
                out.extend_from_slice(string);
            }
            out.len() - start
        });
        output.metadata.push_with(|own| {
            StringFrame { strings_byte_len: data.len(), encoded_byte_len, string_count: offsets.len() }
                .write(own)?;
            own.extend_from_slice(&[run_width, len_width]);
            Ok(())
        })
    }

    fn decoded_string_lens(&self, mut metadata: MetadataReader<'_>, data: &[u8]) -> Result<(usize, usize)> {
        let (frame, runs) = read_runs(&mut metadata, data)?;
        let (mut byte_len, mut count) = (0u64, 0u64);
        for run in runs {
            let (run_len, string) = run.ok_or_else(|| cut_run(&metadata))?;
            byte_len = byte_len.saturating_add(run_len.saturating_mul(string.len() as u64));
            count = count.saturating_add(run_len);
        }
        if byte_len != frame.strings_byte_len as u64 || count != frame.string_count as u64 {
            return Err(metadata.corrupt(
                "strings_byte_len",
                format!(
                    "{count} strings of {byte_len} bytes in the data, {} of {} bytes in the metadata",
                    frame.string_count, frame.strings_byte_len
                ),
            ));
        }
        Ok((frame.strings_byte_len, frame.string_count))
    }

    fn decode_strings(
        &self,
        metadata: &mut MetadataReader<'_>,
        data: &[u8],
        data_out: &mut [u8],
        offsets_out: &mut [u64],
    ) -> Result<()> {
        let (_, runs) = read_runs(metadata, data)?;
        let overflow =
            |metadata: &MetadataReader<'_>| metadata.corrupt("data", "runs hold more than the metadata says");
        let (mut out, mut offsets) = (data_out, offsets_out);
        let mut offset = 0;
        for run in runs {
            let (run_len, string) = run.ok_or_else(|| cut_run(metadata))?;
            let run_len = usize::try_from(run_len).map_err(|_| overflow(metadata))?;
            let (room, offsets_room) = (std::mem::take(&mut out), std::mem::take(&mut offsets));
            let byte_len = string.len().checked_mul(run_len);
            let (Some((copies, out_rest)), Some((starts, offsets_rest))) = (
                byte_len.and_then(|byte_len| room.split_at_mut_checked(byte_len)),
                offsets_room.split_at_mut_checked(run_len),
            ) else {
                return Err(overflow(metadata));
            };
            if !string.is_empty() {
                copies.chunks_exact_mut(string.len()).for_each(|copy| copy.copy_from_slice(string));
            }
            for start in starts {
                *start = offset;
                offset += string.len() as u64;
            }
            (out, offsets) = (out_rest, offsets_rest);
        }
        if !out.is_empty() || !offsets.is_empty() {
            return Err(metadata.corrupt("data", "runs hold less than the metadata says"));
        }
        Ok(())
    }
}

/// Reads the metadata; the runs come as run length and string, or `None` once where one is cut.
fn read_runs<'a>(
    metadata: &mut MetadataReader<'_>,
    data: &'a [u8],
) -> Result<(StringFrame, impl Iterator<Item = Option<(u64, &'a [u8])>> + use<'a>)> {
    let (frame, mut rest) = StringFrame::read(metadata, data)?;
    let run_width = read_width(metadata, "run_length_width")?;
    let len_width = read_width(metadata, "string_length_width")?;
    let mut next = move || {
        let run_len = take_be(&mut rest, run_width)?;
        let byte_len = usize::try_from(take_be(&mut rest, len_width)?).ok()?;
        let (string, behind) = rest.split_at_checked(byte_len)?;
        rest = behind;
        Some((run_len, string, rest.is_empty()))
    };
    let mut at_end = frame.encoded_byte_len == 0;
    let runs = std::iter::from_fn(move || {
        if at_end {
            return None;
        }
        let run = next();
        at_end = run.is_none_or(|(_, _, last)| last);
        Some(run.map(|(run_len, string, _)| (run_len, string)))
    });
    Ok((frame, runs))
}

fn cut_run(metadata: &MetadataReader<'_>) -> Error {
    metadata.corrupt("data", "a run of strings is cut")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;
    use smalti_types::Datatype;

    fn context(cell_byte_len: usize) -> ChunkContext {
        ChunkContext { datatype: Datatype::UInt8, cell_byte_len }
    }

    #[test]
    fn runs_are_cells_with_big_endian_lengths() {
        let mut out = Vec::new();
        let part = [[1, 2, 3]; 258].into_iter().chain([[4, 5, 6]]).flatten().collect::<Vec<u8>>();
        Rle.compress(&part, &mut out, &context(3)).unwrap();
        assert_eq!(out, [1, 2, 3, 1, 2, 4, 5, 6, 0, 1]);
        assert!(Rle.compress(&part, &mut out, &context(2)).is_err());
    }

    #[test]
    fn a_run_is_at_most_65535_cells_long() {
        for cell_byte_len in [1, 3] {
            let mut out = Vec::new();
            Rle.compress(&vec![7; 65537 * cell_byte_len], &mut out, &context(cell_byte_len)).unwrap();
            assert_eq!(out[cell_byte_len..cell_byte_len + 2], [0xFF, 0xFF]);
            assert_eq!(out[2 * cell_byte_len + 2..], [0, 2]);
        }
    }

    #[test]
    fn a_long_last_string_keeps_its_length() {
        let long = "b".repeat(300);
        let data = format!("a{long}");
        let mut output = Parts::default();
        Rle.encode_strings(data.as_bytes(), &[0, 1], &mut output).unwrap();
        let mut reader = MetadataReader::new("rle", output.metadata.bytes());
        assert_eq!(Rle.decoded_string_lens(reader.clone(), output.data.bytes()).unwrap(), (301, 2));
        let (mut out, mut offsets) = (vec![0; 301], vec![0; 2]);
        Rle.decode_strings(&mut reader, output.data.bytes(), &mut out, &mut offsets).unwrap();
        assert_eq!((out, offsets), (data.into_bytes(), vec![0, 1]));
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_part_codec("rle", || Rle);
        golden::check_string_codec("rle_strings", &Rle);
    }

    #[test]
    fn damaged_parts_are_errors() {
        golden::check_part_damage(&Rle);
    }

    proptest! {
        #[test]
        fn cells_of_every_length_return(
            runs in proptest::collection::vec((any::<u8>(), 1..700usize), 0..9), cell_byte_len in 1..10usize,
        ) {
            let part: Vec<u8> = runs.iter().flat_map(|(byte, len)| vec![*byte; len * cell_byte_len]).collect();
            let mut out = Vec::new();
            Rle.compress(&part, &mut out, &context(cell_byte_len)).unwrap();
            let mut back = vec![0xAA; part.len()];
            Rle.decompress(&out, &mut back, &context(cell_byte_len)).unwrap();
            prop_assert_eq!(back, part);
        }
    }
}
