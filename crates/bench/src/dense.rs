//! Workloads D1 to D7: a dense array of one attribute.

use crate::{Outcome, boxes, numbers, text};
use serde_json::Value;
use smalti::{
    Array, Attribute, Column, ColumnRef, Datatype, Dimension, Duplicates, Extent, Filter, Layout,
    ReadRequest, Scalar, Schema, WriteRequest,
};

/// The cells to write, loaded once.
#[derive(Default)]
pub(crate) struct Input {
    path: String,
    bytes: Vec<u8>,
}

impl Input {
    pub(crate) fn load(&mut self, query: &Value) -> Outcome<()> {
        let path = text(query, "input")?;
        if self.path != path {
            self.bytes = std::fs::read(path)?;
            self.path = path.to_owned();
        }
        Ok(())
    }

    pub(crate) fn write(&self, query: &Value) -> Outcome<()> {
        let cells: u64 = numbers(&query["shape"]).iter().product();
        let byte_len = cells as usize * datatype(query)?.byte_len();
        Array::open(text(query, "path")?)?.write_raw(&WriteRequest {
            columns: vec![("a".into(), ColumnRef::fixed(&self.bytes[..byte_len]))],
            subarray: None,
            layout: Layout::RowMajor,
            at: None,
            duplicates: Duplicates::Refuse,
        })?;
        Ok(())
    }
}

fn datatype(query: &Value) -> Outcome<Datatype> {
    let name = text(query, "dtype")?;
    Datatype::from_name(name).ok_or_else(|| format!("no datatype {name}").into())
}

fn filters(query: &Value) -> Outcome<Vec<Filter>> {
    Ok(match text(query, "v")? {
        "none" => vec![],
        "zstd3" => vec![Filter::Zstd { level: 3 }],
        "bslz4" => vec![Filter::Byteshuffle, Filter::Lz4 { level: -1 }],
        "bwz" => vec![Filter::BitWidthReduction { max_window: 256 }, Filter::Zstd { level: 3 }],
        "dd" => vec![Filter::DoubleDelta { level: -1, reinterpret: None }],
        other => return Err(format!("unsupported: filters {other}").into()),
    })
}

pub(crate) fn create(query: &Value) -> Outcome<()> {
    let mut schema = Schema::dense();
    for (idx, (len, tile)) in numbers(&query["shape"]).into_iter().zip(numbers(&query["tile"])).enumerate() {
        schema = schema.dimension(Dimension::new(format!("d{idx}"), 0..=len as i64 - 1).tile(tile as i64));
    }
    let attribute = Attribute::of_datatype("a", datatype(query)?).filters(filters(query)?);
    Array::create(text(query, "path")?, &schema.attribute(attribute).build()?)?;
    Ok(())
}

/// Opens the array and reads it all, or box by box.
pub(crate) fn read(query: &Value, by_column: bool) -> Outcome<Vec<(Datatype, Column)>> {
    let array = Array::open(text(query, "path")?)?;
    let datatype = datatype(query)?;
    let mut boxes = boxes(query);
    if boxes.is_empty() {
        boxes.push(Vec::new());
    }
    let mut columns = Vec::with_capacity(boxes.len());
    for sides in boxes {
        let ranges = sides
            .into_iter()
            .map(|(lo, hi)| Ok(vec![Extent::between(Scalar::I64(lo), Scalar::I64(hi))?]))
            .collect::<Outcome<Vec<_>>>()?;
        let request = ReadRequest {
            fields: vec!["a".into()],
            ranges,
            layout: Some(if by_column { Layout::ColMajor } else { Layout::RowMajor }),
            batch_cell_count: Some(usize::MAX),
            ..ReadRequest::default()
        };
        for batch in array.read_raw(&request)? {
            columns.extend(batch?.columns.into_iter().map(|column| (datatype, column)));
        }
    }
    Ok(columns)
}

pub(crate) fn checksum((datatype, column): &(Datatype, Column)) -> f64 {
    match datatype {
        Datatype::Float32 => column.data.values::<f32>().iter().map(|&value| f64::from(value)).sum(),
        Datatype::Int32 => column.data.values::<i32>().iter().map(|&value| f64::from(value)).sum(),
        _ => column.data.as_slice().iter().map(|&value| f64::from(value)).sum(),
    }
}
