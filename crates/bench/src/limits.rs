//! What the machine itself takes for the work that a workload cannot do without: the bytes copied, read, written and synced, filtered and
//! unfiltered, and small files opened, on as many threads as the peers have, and without an engine.
//!
//! `limit` names the work; `threads` share its pieces.

use crate::{Outcome, boxes, filters, npz, numbers, text};
use serde_json::Value;
use smalti::{Datatype, FilterPipeline};
use smalti_codecs::{Codec, CodecRules, FieldKind, Scratch};
use smalti_types::CellValNum;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

/// Bytes of a piece that a thread takes: a tile of the dense workloads.
const PIECE_BYTE_LEN: usize = 1 << 20;
/// Files of a page each that are synced one after the other.
const SYNCED_FILES: u32 = 10;

/// Seconds that the work takes; its inputs are read, and its buffers touched, before.
pub(crate) fn measure(query: &Value) -> Outcome<f64> {
    let threads = query["threads"].as_u64().unwrap_or(1) as usize;
    match text(query, "limit")? {
        "memcpy" => memcpy(query, threads),
        "pread" => pread(query, threads),
        "rows" => rows(query, threads),
        "pwrite" => pwrite(query),
        "fsync" => fsync(query),
        "opens" => opens(query, threads),
        "encode" => codec(query, threads, false),
        "decode" => codec(query, threads, true),
        other => Err(format!("unsupported: limit {other}").into()),
    }
}

/// Hands pieces of work to threads in turn, and waits for all of them. Seconds from the first to the last.
fn share<P: Send>(
    pieces: Vec<P>,
    threads: usize,
    work: impl Fn(Vec<P>) -> Outcome<()> + Sync,
) -> Outcome<f64> {
    let mut shares: Vec<Vec<P>> = (0..threads).map(|_| Vec::new()).collect();
    for (idx, piece) in pieces.into_iter().enumerate() {
        shares[idx % threads].push(piece);
    }
    let started = Instant::now();
    std::thread::scope(|scope| {
        let work = &work;
        let start = |share| scope.spawn(move || work(share).map_err(|error| error.to_string()));
        let running: Vec<_> = shares.into_iter().map(start).collect();
        running
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    Ok(started.elapsed().as_secs_f64())
}

/// Copies the input to memory that was touched before, or, where `cold`, that the kernel has yet to hand out.
fn memcpy(query: &Value, threads: usize) -> Outcome<f64> {
    let source = std::fs::read(text(query, "input")?)?;
    let is_cold = query["cold"] == true;
    let mut target = vec![0_u8; source.len()];
    if !is_cold {
        target.fill(1);
    }
    share(pieces(&source, &mut target), threads, |share| {
        share.into_iter().for_each(|(source, target)| target.copy_from_slice(source));
        Ok(())
    })
}

fn pieces<'a>(source: &'a [u8], target: &'a mut [u8]) -> Vec<(&'a [u8], &'a mut [u8])> {
    source.chunks(PIECE_BYTE_LEN).zip(target.chunks_mut(PIECE_BYTE_LEN)).collect()
}

/// Reads the input from the page cache to memory that was touched before.
fn pread(query: &Value, threads: usize) -> Outcome<f64> {
    let file = File::open(text(query, "input")?)?;
    let mut target = vec![1_u8; file.metadata()?.len() as usize];
    let pieces = target.chunks_mut(PIECE_BYTE_LEN).enumerate().collect();
    share(pieces, threads, |share: Vec<(usize, &mut [u8])>| {
        share
            .into_iter()
            .try_for_each(|(idx, piece)| Ok(file.read_exact_at(piece, (idx * PIECE_BYTE_LEN) as u64)?))
    })
}

/// Reads the rows of boxes from a file that holds the whole array row by row, four bytes a cell. Rows that follow each other are one read.
fn rows(query: &Value, threads: usize) -> Outcome<f64> {
    let file = File::open(text(query, "input")?)?;
    let shape = numbers(&query["shape"]);
    let mut reads = Vec::new();
    for sides in boxes(&query["boxes"]) {
        // The last dimension of which a box has only a part: behind it all is in one piece.
        let cut = (0..shape.len()).rev().find(|&dim| sides[dim].1 - sides[dim].0 < shape[dim]).unwrap_or(0);
        let cells_behind = |dim: usize| shape[dim + 1..].iter().product::<u64>();
        let run = (sides[cut].1 - sides[cut].0) * cells_behind(cut) * 4;
        let mut starts = vec![sides[cut].0 * cells_behind(cut)];
        for dim in (0..cut).rev() {
            starts = starts
                .iter()
                .flat_map(|start| (sides[dim].0..sides[dim].1).map(move |at| start + at * cells_behind(dim)))
                .collect();
        }
        reads.extend(starts.into_iter().map(|start| (start * 4, vec![1_u8; run as usize])));
    }
    share(reads, threads, |share| {
        share.into_iter().try_for_each(|(start, mut piece)| Ok(file.read_exact_at(&mut piece, start)?))
    })
}

/// Writes the input to a new file, and syncs it where `fsync`.
fn pwrite(query: &Value) -> Outcome<f64> {
    let source = std::fs::read(text(query, "input")?)?;
    let path = text(query, "path")?;
    let started = Instant::now();
    let mut file = File::create(path)?;
    file.write_all(&source)?;
    if query["fsync"] == true {
        file.sync_all()?;
    }
    let taken = started.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    Ok(taken)
}

/// Makes a file of a page and syncs it: the mean of some.
fn fsync(query: &Value) -> Outcome<f64> {
    let folder = Path::new(text(query, "path")?);
    let started = Instant::now();
    for idx in 0..SYNCED_FILES {
        let mut file = File::create(folder.join(format!("synced-{idx}")))?;
        file.write_all(&[1; 4096])?;
        file.sync_all()?;
    }
    let taken = started.elapsed().as_secs_f64();
    (0..SYNCED_FILES).try_for_each(|idx| std::fs::remove_file(folder.join(format!("synced-{idx}"))))?;
    Ok(taken / f64::from(SYNCED_FILES))
}

/// Opens `n` small files and reads each to its end.
fn opens(query: &Value, threads: usize) -> Outcome<f64> {
    let folder = Path::new(text(query, "path")?);
    std::fs::create_dir_all(folder)?;
    let file_count = query["n"].as_u64().ok_or("n is missing")?;
    let paths: Vec<_> = (0..file_count).map(|idx| folder.join(format!("small-{idx}"))).collect();
    for path in paths.iter().filter(|path| !path.exists()) {
        std::fs::write(path, [1; 3000])?;
    }
    share(paths, threads, |share| {
        let mut content = Vec::with_capacity(PIECE_BYTE_LEN);
        share.into_iter().try_for_each(|path| {
            content.clear();
            File::open(path)?.read_to_end(&mut content)?;
            Ok(())
        })
    })
}

/// Runs the filters over all values of a file, or of the columns of an `.npz` file, tile by tile.
fn codec(query: &Value, threads: usize, decodes: bool) -> Outcome<f64> {
    let input = text(query, "input")?;
    let columns: Vec<(Vec<u8>, Datatype)> = match query["columns"].as_object() {
        Some(columns) => columns
            .iter()
            .map(|(name, datatype)| {
                Ok((npz::array(input, name)?, named(datatype.as_str().unwrap_or_default())?))
            })
            .collect::<Outcome<_>>()?,
        None => vec![(std::fs::read(input)?, named(text(query, "dtype")?)?)],
    };
    let pipeline = FilterPipeline::new(filters(query)?);
    let mut tiles = Vec::new();
    for (values, datatype) in &columns {
        let field = FieldKind::data(*datatype, CellValNum::ONE);
        let codec = std::sync::Arc::new(Codec::new(&pipeline, field, CodecRules::NEWEST, None)?);
        for tile in values.chunks(PIECE_BYTE_LEN) {
            let mut filtered = Vec::with_capacity(2 * PIECE_BYTE_LEN);
            codec.encode(tile, &mut filtered, &mut Scratch::new())?;
            tiles.push((codec.clone(), tile, filtered));
        }
    }
    share(tiles, threads, |share| {
        let (mut scratch, mut out, mut room) =
            (Scratch::new(), Vec::with_capacity(2 * PIECE_BYTE_LEN), vec![1; PIECE_BYTE_LEN]);
        for (codec, tile, filtered) in share {
            if decodes {
                codec.decode_into(&filtered, &mut room[..tile.len()], &mut scratch)?;
            } else {
                out.clear();
                codec.encode(tile, &mut out, &mut scratch)?;
            }
        }
        Ok(())
    })
}

fn named(datatype: &str) -> Outcome<Datatype> {
    Datatype::from_name(datatype).ok_or_else(|| format!("no datatype {datatype}").into())
}
