//! Schemas and places of random arrays, and their cells as plain values.

use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, Version, default_fill_value,
};
use smalti_query::{
    Aggregate, AggregateRequest, AggregateValue, Batch, Duplicates, Function, ReadRequest, ResultField,
    WriteRequest, aggregate,
};
use smalti_store::{Coalescing, DistantStore, ManualClock, MemoryStore, SeededEntropy, Store};
use smalti_types::{
    ArrayType, CellValNum, Datatype, Env, Extent, Filter, FilterPipeline, Layout, Scalar, TimeRange,
};
use std::sync::Arc;

/// The value of a cell: the number, the text or null, and the coordinates beside it.
pub type Row = (u32, Option<Vec<u8>>);

pub fn place(seed: u64) -> ArrayPlace {
    let env = Env::new(ManualClock::new(1), SeededEntropy::new(seed));
    // Every other array is far away: what is asked for before it is needed gives the same cells. Of every fourth nothing is asked for that may turn
    // out not to be needed, as if waiting cost nothing.
    let far = |coalescing| DistantStore::new(Arc::new(MemoryStore::new())).with_coalescing(coalescing);
    let store: Arc<dyn Store> = match (seed % 2, seed % 8 < 4) {
        (0, _) => Arc::new(MemoryStore::new()),
        (_, true) => Arc::new(far(Coalescing::default())),
        (_, false) => Arc::new(far(Coalescing { max_gap_byte_len: 0, ..Coalescing::default() })),
    };
    let place = ArrayPlace::in_store(store, "array".into(), None, env);
    // And every other two hold no section of their fragments' metadata as a whole.
    if seed % 4 < 2 { place } else { place.with_whole_sections(0) }
}

pub fn dimension(name: &str, domain: Option<(Scalar, Scalar)>, tile_extent: Option<Scalar>) -> Dimension {
    let datatype = match domain {
        Some((Scalar::I32(_), _)) => Datatype::Int32,
        Some((Scalar::U8(_), _)) => Datatype::UInt8,
        Some((Scalar::U64(_), _)) => Datatype::UInt64,
        Some((Scalar::F64(_), _)) => Datatype::Float64,
        _ => Datatype::StringAscii,
    };
    let cell_val_num = if datatype == Datatype::StringAscii { CellValNum::Var } else { CellValNum::ONE };
    Dimension {
        name: name.into(),
        datatype,
        cell_val_num,
        filters: FilterPipeline::default(),
        domain,
        tile_extent,
    }
}

/// A schema with a number `n` and a nullable text `s`.
pub fn schema(array_type: ArrayType, dimensions: Vec<Dimension>, orders: (Layout, Layout)) -> ArraySchema {
    let attribute = |name: &str, datatype, cell_val_num, nullable, filters| Attribute {
        name: name.into(),
        datatype,
        cell_val_num,
        filters,
        fill_value: default_fill_value(datatype, cell_val_num),
        nullable,
        fill_valid: false,
        order: DataOrder::Unordered,
        enumeration: None,
    };
    let zstd = FilterPipeline::new([Filter::Zstd { level: -1 }]);
    ArraySchema {
        version: Version::DEFAULT,
        allows_dups: false,
        array_type,
        tile_order: orders.0,
        cell_order: orders.1,
        capacity: 5,
        coords_filters: zstd.clone(),
        offsets_filters: zstd.clone(),
        validity_filters: FilterPipeline::new([Filter::Rle { level: -1 }]),
        dimensions,
        attributes: vec![
            attribute("n", Datatype::UInt32, CellValNum::ONE, false, FilterPipeline::default()),
            attribute("s", Datatype::StringAscii, CellValNum::Var, true, zstd),
        ],
        dimension_labels: Vec::new(),
        enumerations: Vec::new(),
        current_domain: CurrentDomain::Empty,
    }
}

pub fn open(place: &ArrayPlace, time: TimeRange) -> Snapshot {
    Snapshot::open(place.clone(), time).unwrap()
}

/// The columns `n` and `s` of rows, ready to write.
pub struct Columns {
    pub numbers: Vec<u32>,
    pub text: Vec<u8>,
    pub offsets: Vec<u64>,
    pub validity: Vec<u8>,
}

impl Columns {
    pub fn of<'r>(rows: impl Iterator<Item = &'r Row>) -> Columns {
        let mut columns =
            Columns { numbers: Vec::new(), text: Vec::new(), offsets: vec![0], validity: Vec::new() };
        for (number, text) in rows {
            columns.numbers.push(*number);
            columns.text.extend(text.as_deref().unwrap_or_default());
            columns.offsets.push(columns.text.len() as u64);
            columns.validity.push(u8::from(text.is_some()));
        }
        columns
    }

    pub fn refs(&self) -> Vec<(String, smalti_tile::ColumnRef<'_>)> {
        let number = smalti_tile::ColumnRef::fixed(bytemuck::cast_slice(&self.numbers));
        let text = smalti_tile::ColumnRef::var(&self.text, &self.offsets).with_validity(&self.validity);
        vec![("n".into(), number), ("s".into(), text)]
    }

    /// A write of all of them; for a sparse array coordinates are to be added.
    pub fn request(&self, layout: Layout, subarray: Option<Vec<Extent>>) -> WriteRequest<'_> {
        WriteRequest {
            columns: self.refs(),
            subarray,
            layout,
            at: None,
            duplicates: Duplicates::Refuse,
            progress: None,
        }
    }
}

/// The row of a cell that nobody wrote.
pub fn fill() -> Row {
    (u32::MAX, None)
}

/// Rows `(n, s)` of batches whose last two fields these are, with the bytes of the fields before them.
pub fn rows(fields: &[ResultField], batches: &[Batch]) -> Vec<(Vec<Vec<u8>>, Row)> {
    let mut rows = Vec::new();
    for batch in batches {
        for cell in 0..batch.cell_count {
            let value = |field: usize| {
                batch.columns[field].as_ref().cell(cell, fields[field].shape.cell_byte_len()).to_vec()
            };
            let last = fields.len() - 1;
            let number = u32::from_le_bytes(value(last - 1).try_into().unwrap());
            let text = batch.columns[last].as_ref().is_valid(cell).then(|| value(last));
            rows.push(((0..last - 1).map(value).collect(), (number, text)));
        }
    }
    rows
}

/// Compares the aggregates of what a read selects with those of the rows that it should give.
pub fn check_aggregates<'r>(
    snapshot: &Snapshot,
    read: &ReadRequest,
    rows: impl Iterator<Item = &'r Row> + Clone,
    what: &str,
) {
    let functions = [Function::Sum, Function::Min, Function::Max, Function::Mean];
    let mut aggregates = vec![Aggregate::count()];
    aggregates.extend(functions.map(|function| Aggregate::new(function, "n")));
    aggregates.extend(
        [Function::Count, Function::NullCount, Function::Min, Function::Max]
            .map(|function| Aggregate::new(function, "s")),
    );
    let request = AggregateRequest {
        aggregates,
        ranges: read.ranges.clone(),
        condition: read.condition.clone(),
        memory_byte_len: read.memory_byte_len,
        ..AggregateRequest::default()
    };
    let number = |scalar| AggregateValue::Number(scalar);
    let count = number(Scalar::U64(rows.clone().count() as u64));
    let numbers = rows.clone().map(|(n, _)| *n);
    let sum: u64 = numbers.clone().map(u64::from).sum();
    let mean = sum as f64 / rows.clone().count().max(1) as f64;
    let of_number =
        |value: Option<u32>| value.map_or(AggregateValue::Nothing, |value| number(Scalar::U32(value)));
    let texts = rows.clone().filter_map(|(_, text)| text.clone());
    let of_text = |value: Option<Vec<u8>>| value.map_or(AggregateValue::Nothing, AggregateValue::Text);
    // Of cells that nobody ever wrote fill values say nothing.
    let is_unwritten =
        smalti_query::read(snapshot, &ReadRequest { ranges: read.ranges.clone(), ..ReadRequest::default() })
            .unwrap()
            .is_unwritten();
    let is_written = |_: &u32| !is_unwritten;
    let is_empty = is_unwritten || rows.clone().next().is_none();
    let wanted = vec![
        count.clone(),
        number(Scalar::U64(if is_unwritten { 0 } else { sum })),
        of_number(numbers.clone().min().filter(is_written)),
        of_number(numbers.max().filter(is_written)),
        if is_empty { AggregateValue::Nothing } else { number(Scalar::F64(mean)) },
        count,
        number(Scalar::U64(rows.filter(|(_, text)| text.is_none()).count() as u64)),
        of_text(texts.clone().min()),
        of_text(texts.max()),
    ];
    assert_eq!(aggregate(snapshot, &request).unwrap(), wanted, "{what}");
    let only_count = AggregateRequest { aggregates: vec![Aggregate::count()], ..request };
    assert_eq!(aggregate(snapshot, &only_count).unwrap(), wanted[..1], "{what}");
}
