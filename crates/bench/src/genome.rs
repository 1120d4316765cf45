//! Workload S4: calls of a genome by chromosome, position and sample.

use crate::npz;
use crate::query::{Outcome, text};
use serde_json::Value;
use smalti::{
    Array, Attribute, Batch, ColumnRef, Dimension, Duplicates, Extent, Filter, Layout, ReadRequest, Scalar,
    Schema, WriteRequest,
};

const CAPACITY: u64 = 10_000;
/// The whole domain but one, the most that leaves room for a last tile.
const POSITION_EXTENT: u32 = u32::MAX - 1;

/// Creates the array and writes it.
pub(crate) fn build(query: &Value) -> Outcome<()> {
    create(query)?;
    let path = format!("{}/gen.npz", text(query, "ind")?);
    let mut chromosomes: Vec<String> = (1..=22).map(|number| number.to_string()).collect();
    chromosomes.extend(["X".to_owned(), "Y".to_owned()]);
    let mut chromosomes: Vec<String> = chromosomes.into_iter().map(|name| format!("chr{name}")).collect();
    chromosomes.sort();
    let chromosome_idxs = npz::array(&path, "ch")?;
    let chromosomes = Strings::of(chromosome_idxs.iter().map(|&idx| chromosomes[usize::from(idx)].as_str()));
    let samples: Vec<String> = (0..1000).map(|number| format!("S{number:04}")).collect();
    let sample_idxs = npz::array(&path, "sm")?;
    let sample_idxs = sample_idxs.chunks_exact(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let samples = Strings::of(sample_idxs.map(|idx| samples[usize::from(idx)].as_str()));
    let numbers = ["pos", "dp", "qual"]
        .map(|name| Ok::<_, Box<dyn std::error::Error>>((name, npz::array(&path, name)?)));
    let numbers = numbers.into_iter().collect::<Outcome<Vec<_>>>()?;
    let mut columns =
        vec![("chrom".to_owned(), chromosomes.column()), ("sample".to_owned(), samples.column())];
    columns.extend(numbers.iter().map(|(name, bytes)| ((*name).to_owned(), ColumnRef::fixed(bytes))));
    Array::open(text(query, "path")?)?.write_raw(&WriteRequest {
        columns,
        subarray: None,
        layout: Layout::Unordered,
        at: None,
        duplicates: Duplicates::Refuse,
        progress: None,
    })?;
    Ok(())
}

/// Strings back to back.
struct Strings {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
}

impl Strings {
    fn of<'a>(strings: impl Iterator<Item = &'a str>) -> Strings {
        let mut all = Strings { bytes: Vec::new(), offsets: vec![0] };
        for string in strings {
            all.bytes.extend(string.as_bytes());
            all.offsets.push(all.bytes.len() as u64);
        }
        all
    }

    fn column(&self) -> ColumnRef<'_> {
        ColumnRef::var(&self.bytes, &self.offsets)
    }
}

fn create(query: &Value) -> Outcome<()> {
    let zstd = || Filter::Zstd { level: 3 };
    let double_delta = Filter::DoubleDelta { level: -1, reinterpret: None };
    let schema = Schema::sparse()
        .dimension(Dimension::string("chrom").filters([Filter::rle()]))
        .dimension(
            Dimension::new("pos", 0..=POSITION_EXTENT - 1)
                .tile(POSITION_EXTENT)
                .filters([double_delta, zstd()]),
        )
        .dimension(Dimension::string("sample").filters([Filter::dictionary(), zstd()]))
        .attribute(Attribute::of::<i32>("dp").filters([zstd()]))
        .attribute(Attribute::of::<f32>("qual").filters([zstd()]))
        .capacity(CAPACITY);
    Array::create(text(query, "path")?, &schema.build()?)?;
    Ok(())
}

/// Opens the array and reads region after region, of all samples or of some.
pub(crate) fn read(query: &Value) -> Outcome<Vec<Batch>> {
    let array = Array::open(text(query, "path")?)?;
    let of_some = query["o"] != "region";
    let mut batches = Vec::new();
    for region in query["qs"].as_array().into_iter().flatten() {
        let (Some(chromosome), Some(lo), Some(hi)) =
            (region[0].as_str(), region[1].as_u64(), region[2].as_u64())
        else {
            return Err("no region".into());
        };
        let only = |name: &str| Extent::between_strings(name.as_bytes(), name.as_bytes());
        let samples = region[3].as_array().into_iter().flatten().filter_map(Value::as_str);
        let samples = if of_some { samples.map(only).collect::<Result<_, _>>()? } else { Vec::new() };
        let positions = Extent::between(Scalar::U32(u32::try_from(lo)?), Scalar::U32(u32::try_from(hi)?))?;
        let request = ReadRequest {
            ranges: vec![vec![only(chromosome)?], vec![positions], samples],
            layout: Some(Layout::Unordered),
            batch_cell_count: Some(usize::MAX),
            ..ReadRequest::default()
        };
        for batch in array.read_raw(&request)? {
            batches.push(batch?);
        }
    }
    Ok(batches)
}

pub(crate) fn checksum(batch: &Batch) -> f64 {
    let [_, _, _, depth, _] = &batch.columns[..] else { return f64::NAN };
    depth.data.values::<i32>().iter().map(|&value| f64::from(value)).sum()
}
