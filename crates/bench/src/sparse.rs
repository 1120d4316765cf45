//! Workloads S1 to S3, S5 to S9, S11 and S12: points on a plane with two attributes.

use crate::dense::FIRST_WRITE_MS;
use crate::npz;
use crate::query::{Outcome, copy_folder, scale, text, to_write, wanted};
use serde_json::Value;
use smalti::upkeep::{FragmentOptions, UpkeepOptions, VacuumOptions};
use smalti::{
    Array, Attribute, Batch, ColumnRef, Columns, Condition, Context, Dimension, Duplicates, Filter, Layout,
    Options, ReadRequest, Schema, WriteRequest, field,
};

const DOMAIN: i64 = 1_000_000;
const EXTENT: i64 = 10_000;
const CAPACITY: u64 = 100_000;
const FRAGMENTS: usize = 50;
/// Cells of a fragment at scale 1.
const FRAGMENT_CELLS: f64 = 40_000.0;
const BOUNDED_BATCH_CELLS: usize = 100_000;
const SMALL_FRAGMENT_CELLS: usize = 100;
/// Small fragments that are written; more are copies of them.
const SMALL_WRITES: u64 = 100;

/// The points, loaded once.
#[derive(Default)]
pub(crate) struct Input {
    folder: String,
    columns: Vec<(String, Vec<u8>)>,
}

impl Input {
    pub(crate) fn load(&mut self, query: &Value) -> Outcome<()> {
        let folder = text(query, "ind")?;
        if self.folder != folder {
            let path = format!("{folder}/pts.npz");
            self.columns = ["x", "y", "a", "b"]
                .into_iter()
                .map(|name| Ok((name.to_owned(), npz::array(&path, name)?)))
                .collect::<Outcome<_>>()?;
            self.folder = folder.to_owned();
        }
        Ok(())
    }

    pub(crate) fn write(&self, query: &Value) -> Outcome<()> {
        write(query, self.columns.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])), None)
    }

    /// Writes slices of the points one after the other. The first tenth of each has the places of the slice before.
    pub(crate) fn write_fragments(&self, query: &Value) -> Outcome<()> {
        let cell_count = (FRAGMENT_CELLS * scale()) as usize;
        for idx in 0..FRAGMENTS {
            let mut columns = Vec::with_capacity(self.columns.len());
            for (name, bytes) in &self.columns {
                let cell_byte_len = if name == "b" { size_of::<i32>() } else { size_of::<i64>() };
                let byte_len = cell_count * cell_byte_len;
                let mut part = bytes[idx * byte_len..(idx + 1) * byte_len].to_vec();
                if idx > 0 && matches!(name.as_str(), "x" | "y") {
                    let repeated = cell_count / 10 * cell_byte_len;
                    part[..repeated].copy_from_slice(&bytes[(idx - 1) * byte_len..][..repeated]);
                }
                columns.push((name.as_str(), part));
            }
            let columns = columns.iter().map(|(name, part)| (*name, &part[..]));
            write(query, columns, Some(FIRST_WRITE_MS + idx as u64))?;
        }
        Ok(())
    }

    /// Writes the points row by row of space tiles, two of them at a time.
    pub(crate) fn write_rows(&self, query: &Value) -> Outcome<()> {
        let x = self.columns.iter().find(|(name, _)| name == "x").ok_or("the points have no x")?;
        let fragment_of = |x: &[u8]| {
            let x = i64::from_le_bytes(x.try_into().unwrap_or_default());
            x / EXTENT * FRAGMENTS as i64 / (DOMAIN / EXTENT)
        };
        let fragments: Vec<i64> = x.1.chunks_exact(size_of::<i64>()).map(fragment_of).collect();
        for idx in 0..FRAGMENTS as i64 {
            let mut columns = Vec::with_capacity(self.columns.len());
            for (name, bytes) in &self.columns {
                let cells = bytes.chunks_exact(bytes.len() / fragments.len().max(1));
                let part = cells.zip(&fragments).filter(|(_, fragment)| **fragment == idx);
                columns.push((name.as_str(), part.flat_map(|(cell, _)| cell).copied().collect::<Vec<u8>>()));
            }
            let columns = columns.iter().map(|(name, part)| (*name, &part[..]));
            write(query, columns, Some(FIRST_WRITE_MS + idx as u64))?;
        }
        Ok(())
    }
}

fn write<'a>(
    query: &Value,
    columns: impl Iterator<Item = (&'a str, &'a [u8])>,
    at: Option<u64>,
) -> Outcome<()> {
    to_write(query)?.write_raw(&WriteRequest {
        columns: columns.map(|(name, bytes)| (name.to_owned(), ColumnRef::fixed(bytes))).collect(),
        subarray: None,
        layout: Layout::Unordered,
        at,
        duplicates: Duplicates::Refuse,
        progress: None,
    })?;
    Ok(())
}

pub(crate) fn create(query: &Value) -> Outcome<()> {
    let zstd = || [Filter::Zstd { level: 3 }];
    let dimension = |name: &str| Dimension::new(name, 0..=DOMAIN - 1).tile(EXTENT).filters(zstd());
    let mut schema = Schema::sparse()
        .dimension(dimension("x"))
        .dimension(dimension("y"))
        .attribute(Attribute::of::<f64>("a").filters(zstd()))
        .attribute(Attribute::of::<i32>("b").filters(zstd()))
        .capacity(CAPACITY)
        .allow_duplicates(query["v"] == "dups");
    if query["v"] == "hilbert" {
        schema = schema.hilbert();
    }
    Array::create(text(query, "path")?, &schema.build()?)?;
    Ok(())
}

/// Writes many fragments of a hundred cells. Beyond a hundred they are copies under other names, as a fragment does not hold
/// its own name.
pub(crate) fn write_small_fragments(query: &Value) -> Outcome<()> {
    let fragment_count = query["n"].as_u64().ok_or("n is missing")?;
    create(query)?;
    let mut state = 3_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % (DOMAIN as u64 * 1000)) as i64
    };
    for idx in 0..fragment_count.min(SMALL_WRITES) {
        let cells: std::collections::BTreeSet<i64> = (0..SMALL_FRAGMENT_CELLS).map(|_| next()).collect();
        let column =
            |value: fn(i64) -> [u8; 8]| cells.iter().flat_map(|cell| value(*cell)).collect::<Vec<u8>>();
        let x = column(|cell| (cell / 1000).to_le_bytes());
        let y = column(|cell| (cell % 1000 * 1000).to_le_bytes());
        let a = column(|cell| (cell as f64).to_le_bytes());
        let b: Vec<u8> = cells.iter().flat_map(|cell| (*cell as i32).to_le_bytes()).collect();
        let columns = [("x", &x[..]), ("y", &y), ("a", &a), ("b", &b)];
        write(query, columns.into_iter(), Some(FIRST_WRITE_MS + idx))?;
    }
    let array = std::path::Path::new(text(query, "path")?);
    let (fragments, commits) = (array.join("__fragments"), array.join("__commits"));
    let mut names = std::fs::read_dir(&fragments)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Outcome<Vec<String>>>()?;
    names.sort();
    for idx in SMALL_WRITES..fragment_count {
        let at = FIRST_WRITE_MS + idx;
        let copy = format!("__{at}_{at}_{idx:032x}_22");
        copy_folder(&fragments.join(&names[(idx % SMALL_WRITES) as usize]), &fragments.join(&copy))?;
        std::fs::write(commits.join(format!("{copy}.wrt")), [])?;
    }
    if query["v"] == "cons" {
        let (array, options) = (Array::open(text(query, "path")?)?, UpkeepOptions::default());
        array.consolidate_fragment_meta(&options)?;
        array.consolidate_commits(&options)?;
        array.vacuum_commits(&options)?;
    }
    Ok(())
}

/// Writes one fragment of many tiles, of two cells each, in pieces.
pub(crate) fn write_small_tiles(query: &Value) -> Outcome<()> {
    const PIECE_CELLS: i64 = 1 << 20;
    let cell_count = 2 * query["n"].as_i64().ok_or("n is missing")?;
    let dimension = |name: &str| Dimension::new(name, 0..=i64::from(u32::MAX));
    let schema = Schema::sparse()
        .dimension(dimension("x"))
        .dimension(dimension("y"))
        .attribute(Attribute::of::<f64>("a"))
        .attribute(Attribute::of::<i32>("b"))
        .capacity(2)
        .build()?;
    let array = Array::create(text(query, "path")?, &schema)?;
    let mut writer = array.global_writer().start()?;
    let mut start = 0;
    while start < cell_count {
        let cells = start..(start + PIECE_CELLS).min(cell_count);
        let x: Vec<i64> = cells.clone().collect();
        let y: Vec<i64> = x.iter().map(|cell| cell * 7 % 1_000_000).collect();
        let a: Vec<f64> = x.iter().map(|&cell| cell as f64).collect();
        let b: Vec<i32> = x.iter().map(|&cell| cell as i32).collect();
        writer.submit(Columns::new().column("x", &x).column("y", &y).column("a", &a).column("b", &b))?;
        start = cells.end;
    }
    writer.commit()?;
    Ok(())
}

fn opened(query: &Value, context: &Context) -> Outcome<Array> {
    Ok(Array::open_with(text(query, "path")?, &Options::new().context(context))?)
}

/// Opens the array and asks for its non-empty domain.
pub(crate) fn open(query: &Value, context: &Context) -> Outcome<()> {
    opened(query, context)?.non_empty_domain()?.ok_or("the array is empty")?;
    Ok(())
}

/// Opens the array and reads it all in an order, or box by box, or the cells below a limit.
pub(crate) fn read(query: &Value, context: &Context) -> Outcome<Vec<Batch>> {
    let array = opened(query, context)?;
    let layout = match query["o"].as_str() {
        Some("global") => Layout::GlobalOrder,
        Some("row") => Layout::RowMajor,
        _ => Layout::Unordered,
    };
    let mut batches = Vec::new();
    for ranges in wanted(query)? {
        let request = ReadRequest {
            ranges,
            layout: Some(layout),
            batch_cell_count: Some(usize::MAX),
            condition: below_limit(query),
            ..ReadRequest::default()
        };
        for batch in array.read_raw(&request)? {
            batches.push(batch?);
        }
    }
    Ok(batches)
}

/// Opens the array and reads it all in batches of a bounded size, each dropped before the next.
pub(crate) fn count_in_batches(query: &Value) -> Outcome<usize> {
    let array = Array::open(text(query, "path")?)?;
    let request = ReadRequest {
        layout: Some(Layout::Unordered),
        batch_cell_count: Some(BOUNDED_BATCH_CELLS),
        ..ReadRequest::default()
    };
    let mut cell_count = 0;
    for batch in array.read_raw(&request)? {
        cell_count += batch?.cell_count;
    }
    Ok(cell_count)
}

/// Opens the array and deletes the cells below a limit.
pub(crate) fn delete(query: &Value) -> Outcome<()> {
    let condition = below_limit(query).ok_or("lim is missing")?;
    Array::open(text(query, "path")?)?.delete(condition).commit()?;
    Ok(())
}

/// Merges all fragments and removes them.
pub(crate) fn consolidate(query: &Value) -> Outcome<()> {
    let mut array = Array::open(text(query, "path")?)?;
    let done = array.consolidate(&FragmentOptions::default())?;
    let removed = array.vacuum(&VacuumOptions::default())?;
    match (&done.merges[..], removed.fragments.len()) {
        ([merge], FRAGMENTS) if merge.outputs.len() == 1 => Ok(()),
        _ => {
            Err(format!("{} merges, {} fragments removed", done.merges.len(), removed.fragments.len()).into())
        }
    }
}

fn below_limit(query: &Value) -> Option<Condition> {
    Some(field("b").lt(query["lim"].as_i64()?))
}

pub(crate) fn checksum(batch: &Batch) -> f64 {
    let [x, y, a, b] = &batch.columns[..] else { return f64::NAN };
    let longs = |values: &[i64]| values.iter().map(|&value| value as f64).sum::<f64>();
    longs(x.data.values())
        + longs(y.data.values())
        + a.data.values::<f64>().iter().sum::<f64>()
        + b.data.values::<i32>().iter().map(|&value| f64::from(value)).sum::<f64>()
}
