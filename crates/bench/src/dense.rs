//! Workloads D1 to D9: a dense array of one attribute.

use crate::query::{Outcome, boxes, extents, filters, numbers, text, to_write, wanted};
use serde_json::Value;
use smalti::{
    Aggregate, AggregateRequest, Array, Attribute, Column, ColumnRef, Datatype, Dimension, Duplicates,
    Function, Layout, ReadRequest, Schema, WriteRequest,
};

/// When the first of several writes took place, in milliseconds since 1970; each later one is a millisecond younger.
pub(crate) const FIRST_WRITE_MS: u64 = 1_700_000_000_000;

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
        to_write(query)?.write_raw(&WriteRequest {
            columns: vec![("a".into(), ColumnRef::fixed(&self.bytes[..byte_len]))],
            subarray: None,
            layout: Layout::RowMajor,
            at: None,
            duplicates: Duplicates::Refuse,
            progress: None,
        })?;
        Ok(())
    }

    /// Writes boxes over each other, each a plane's part with the number of the write added to it.
    pub(crate) fn write_boxes(&self, query: &Value) -> Outcome<()> {
        let cells: &[f32] = bytemuck::cast_slice(&self.bytes);
        let [_, row_len] = numbers(&query["shape"])[..] else { return Err("no plane".into()) };
        for (idx, sides) in boxes(&query["wboxes"]).iter().enumerate() {
            let [rows, cols] = sides[..] else { return Err("no box of a plane".into()) };
            let part: Vec<f32> = (rows.0..rows.1)
                .flat_map(|row| &cells[(row * row_len + cols.0) as usize..(row * row_len + cols.1) as usize])
                .map(|cell| cell + idx as f32)
                .collect();
            Array::open(text(query, "path")?)?.write_raw(&WriteRequest {
                columns: vec![("a".into(), ColumnRef::fixed(bytemuck::cast_slice(&part)))],
                subarray: Some(extents(sides)?),
                layout: Layout::RowMajor,
                at: Some(FIRST_WRITE_MS + idx as u64),
                duplicates: Duplicates::Refuse,
                progress: None,
            })?;
        }
        Ok(())
    }
}

fn datatype(query: &Value) -> Outcome<Datatype> {
    let name = text(query, "dtype")?;
    Datatype::from_name(name).ok_or_else(|| format!("no datatype {name}").into())
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
    let mut columns = Vec::new();
    for ranges in wanted(query)? {
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

/// Opens the array and adds up the aggregates of its boxes.
pub(crate) fn aggregate(query: &Value) -> Outcome<f64> {
    let array = Array::open(text(query, "path")?)?;
    let functions = [Function::Sum, Function::Min, Function::Max, Function::Mean];
    let mut sum = 0.0;
    for ranges in wanted(query)? {
        let found = array.aggregate_raw(&AggregateRequest {
            aggregates: functions.map(|function| Aggregate::new(function, "a")).into(),
            ranges,
            ..AggregateRequest::default()
        })?;
        sum += found.iter().flatten().filter_map(|value| Some(value.as_scalar()?.as_f64())).sum::<f64>();
    }
    Ok(sum)
}

pub(crate) fn checksum((datatype, column): &(Datatype, Column)) -> f64 {
    match datatype {
        Datatype::Float32 => column.data.values::<f32>().iter().map(|&value| f64::from(value)).sum(),
        Datatype::Int32 => column.data.values::<i32>().iter().map(|&value| f64::from(value)).sum(),
        _ => column.data.as_slice().iter().map(|&value| f64::from(value)).sum(),
    }
}
