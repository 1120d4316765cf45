//! What the machine itself takes for the work that a workload cannot do without: the bytes copied, read, written and synced, filtered and
//! unfiltered, and small files opened, on as many threads as the peers have, and without an engine.
//!
//! `limit` names the work; `threads` share its pieces.

use crate::npz;
use crate::query::{Outcome, filters, text};
use serde_json::Value;
use smalti::{Datatype, FilterPipeline};
use smalti_codecs::{Codec, CodecRules, FieldKind, Scratch};
use smalti_types::CellValNum;
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Bytes of a piece that a thread takes: a tile of the dense workloads.
const PIECE_BYTE_LEN: usize = 1 << 20;
/// Files of a page each that are synced one after the other.
const SYNCED_FILES: u32 = 10;

/// What the last work with filters was about, kept for the next: the harness asks for the same one again and again, between the turns of engines.
#[derive(Default)]
pub(crate) struct Filtered {
    query: Value,
    tiles: Vec<Tile>,
    steps: Option<Steps>,
}

/// Pieces that are not wanted together: those of a step when all before it are there.
struct Steps {
    /// Has the filtered pieces one behind the other.
    file: File,
    /// Where each begins in the file.
    starts: Vec<u64>,
    /// The first piece of the step of each.
    firsts: Vec<usize>,
}

/// A piece of some values, as it is and as its filters leave it.
struct Tile {
    codec: Arc<Codec>,
    values: Vec<u8>,
    filtered: Vec<u8>,
}

/// Seconds that the work takes; its inputs are read, and its buffers touched, before.
pub(crate) fn measure(query: &Value, filtered: &mut Filtered) -> Outcome<f64> {
    let threads = query["threads"].as_u64().unwrap_or(1) as usize;
    match text(query, "limit")? {
        "memcpy" => memcpy(query, threads),
        "pread" => pread(query, threads),
        "pwrite" => pwrite(query),
        "fsync" => fsync(query),
        "opens" => opens(query, threads),
        "encode" => run_filters(filtered.of(query)?, threads, false),
        "decode" => run_filters(filtered.of(query)?, threads, true),
        "boxes" => step_by_step(filtered, query, threads),
        other => Err(format!("unsupported: limit {other}").into()),
    }
}

/// Lets threads take pieces of work one after the other until there are none. Seconds from the first to the last.
fn share<P: Send>(
    pieces: Vec<P>,
    threads: usize,
    work: impl Fn(&mut dyn Iterator<Item = P>) -> Outcome<()> + Sync,
) -> Outcome<f64> {
    let left = Mutex::new(pieces.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let one = || work(&mut std::iter::from_fn(next)).map_err(|error| error.to_string());
    let started = Instant::now();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
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
        for (source, target) in share {
            target.copy_from_slice(source);
        }
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
    let pieces: Vec<(usize, &mut [u8])> = target.chunks_mut(PIECE_BYTE_LEN).enumerate().collect();
    share(pieces, threads, |share| {
        for (idx, piece) in share {
            file.read_exact_at(piece, (idx * PIECE_BYTE_LEN) as u64)?;
        }
        Ok(())
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
        for path in share {
            content.clear();
            File::open(path)?.read_to_end(&mut content)?;
        }
        Ok(())
    })
}

impl Filtered {
    /// The values of a file, or of the columns of an `.npz` file, piece by piece.
    fn of(&mut self, query: &Value) -> Outcome<&[Tile]> {
        let mut query = query.clone();
        query.as_object_mut().map(|query| query.remove("limit"));
        if self.query != query {
            self.tiles = filtered(&query)?;
            self.steps = None;
            self.query = query;
        }
        Ok(&self.tiles)
    }
}

impl Steps {
    /// Puts pieces into a file.
    fn new(query: &Value, tiles: &[Tile]) -> Outcome<Steps> {
        let path = text(query, "path")?;
        let (mut file, mut starts, mut end) = (File::create(path)?, Vec::new(), 0);
        for tile in tiles {
            file.write_all(&tile.filtered)?;
            starts.push(end);
            end += tile.filtered.len() as u64;
        }
        let counts = integers(text(query, "input")?, "steps")?;
        let firsts = counts.iter().scan(0, |next, &count| {
            let first = std::mem::replace(next, *next + count);
            Some(std::iter::repeat_n(first, count))
        });
        Ok(Steps { file: File::open(path)?, starts, firsts: firsts.flatten().collect() })
    }
}

/// Reads pieces out of the page cache and undoes their filters, those of a step when all before it are there.
fn step_by_step(filtered: &mut Filtered, query: &Value, threads: usize) -> Outcome<f64> {
    filtered.of(query)?;
    let steps = match filtered.steps.take() {
        Some(steps) => steps,
        None => Steps::new(query, &filtered.tiles)?,
    };
    let Steps { file, starts, firsts } = filtered.steps.insert(steps);
    let done = AtomicUsize::new(0);
    let pieces = filtered.tiles.iter().zip(starts).zip(firsts).collect();
    share(pieces, threads, |share| {
        let (mut scratch, mut bytes, mut room) =
            (Scratch::new(), vec![1; 2 * PIECE_BYTE_LEN], vec![1; PIECE_BYTE_LEN]);
        for ((Tile { codec, values, filtered }, start), first) in share {
            while done.load(Ordering::Acquire) < *first {
                std::hint::spin_loop();
            }
            let bytes = &mut bytes[..filtered.len()];
            let read = file.read_exact_at(bytes, *start);
            let decoded = codec.decode_into(bytes, &mut room[..values.len()], &mut scratch);
            // Nobody waits for what failed.
            done.fetch_add(1, Ordering::Release);
            read?;
            decoded?;
        }
        Ok(())
    })
}

/// The whole numbers of an array of an `.npz` file.
fn integers(input: &str, name: &str) -> Outcome<Vec<usize>> {
    let bytes = npz::array(input, name)?;
    let (numbers, _) = bytes.as_chunks();
    Ok(numbers.iter().map(|number| u64::from_le_bytes(*number) as usize).collect())
}

/// The pieces of columns, in the order in which they are wanted: of each its column and its length.
fn wanted_pieces(input: &str, columns: &[(Vec<u8>, Datatype)]) -> Outcome<Vec<(usize, Range<usize>)>> {
    let mut ends = vec![0; columns.len()];
    let of_column = integers(input, "of_column")?.into_iter();
    let pieces = of_column.zip(integers(input, "byte_lens")?).map(|(column, byte_len)| {
        let end = ends.get_mut(column).ok_or("no such column")?;
        let start = std::mem::replace(end, *end + byte_len);
        Ok((column, start..start + byte_len))
    });
    pieces.collect()
}

fn filtered(query: &Value) -> Outcome<Vec<Tile>> {
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
    let codecs = columns.iter().map(|(_, datatype)| {
        let field = FieldKind::data(*datatype, CellValNum::ONE);
        Ok(Arc::new(Codec::new(&pipeline, field, CodecRules::NEWEST, None)?))
    });
    let codecs = codecs.collect::<Outcome<Vec<_>>>()?;
    let pieces = match query["path"].as_str().filter(|path| !path.is_empty()) {
        Some(_) => wanted_pieces(input, &columns)?,
        None => {
            let of_column = |(idx, (values, _)): (usize, &(Vec<u8>, Datatype))| {
                let byte_len = values.len();
                let starts = (0..byte_len).step_by(PIECE_BYTE_LEN);
                starts.map(|start| (idx, start..byte_len.min(start + PIECE_BYTE_LEN))).collect::<Vec<_>>()
            };
            columns.iter().enumerate().flat_map(of_column).collect()
        }
    };
    let mut tiles = Vec::with_capacity(pieces.len());
    for (column, place) in pieces {
        let (codec, values) = (&codecs[column], columns[column].0.get(place).ok_or("a piece of no values")?);
        let mut filtered = Vec::with_capacity(2 * PIECE_BYTE_LEN);
        codec.encode(values, &mut filtered, &mut Scratch::new())?;
        filtered.shrink_to_fit();
        tiles.push(Tile { codec: codec.clone(), values: values.to_vec(), filtered });
    }
    Ok(tiles)
}

/// Runs the filters over all pieces, one way or the other.
fn run_filters(tiles: &[Tile], threads: usize, decodes: bool) -> Outcome<f64> {
    share(tiles.iter().collect(), threads, |share| {
        let (mut scratch, mut out, mut room) =
            (Scratch::new(), Vec::with_capacity(2 * PIECE_BYTE_LEN), vec![1; PIECE_BYTE_LEN]);
        for Tile { codec, values, filtered } in share {
            if decodes {
                codec.decode_into(filtered, &mut room[..values.len()], &mut scratch)?;
            } else {
                out.clear();
                codec.encode(values, &mut out, &mut scratch)?;
            }
        }
        Ok(())
    })
}

fn named(datatype: &str) -> Outcome<Datatype> {
    Datatype::from_name(datatype).ok_or_else(|| format!("no datatype {datatype}").into())
}
