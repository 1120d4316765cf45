//! Which filters a field gets: those that make least of the first rows of its column.
//!
//! Everything gets zstd. Of numbers whose high bytes are alike, which is most integers, it makes much less, and is undone in less time, where the
//! first bytes of all cells stand together, then the second ones: so byteshuffle comes before it where the sample says so. Only filters are tried that
//! can hold whatever the column holds further on.

use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use serde_json::{Value, json};
use smalti::{CellShape, CellValNum, Filter, FilterPipeline};

/// Rows that are looked at.
const SAMPLE_ROWS: usize = 1 << 14;

/// Of fewer rows nothing is concluded.
const LEAST_ROWS: usize = 1 << 10;

/// Another pipeline has to make less than so many hundredths of what zstd alone makes.
const WORTH_PERCENT: u64 = 95;

const ZSTD_LEVEL: i32 = -1;

/// The first rows of a table.
#[derive(Debug, Default)]
pub(super) struct Sample {
    batches: Vec<RecordBatch>,
    row_count: usize,
}

/// The filters of a field.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    /// Those before zstd.
    before: Vec<Filter>,
    /// Why, where a sample says so.
    reason: Option<String>,
}

impl Sample {
    /// Whether more rows would tell nothing more.
    pub(super) fn is_full(&self) -> bool {
        self.row_count >= SAMPLE_ROWS
    }

    /// Takes rows, as long as it wants some.
    pub(super) fn take(&mut self, rows: &RecordBatch) {
        let count = rows.num_rows().min(SAMPLE_ROWS - self.row_count.min(SAMPLE_ROWS));
        if count == 0 {
            return;
        }
        let part = rows.slice(0, count);
        // A copy: the sample does not keep the memory of whole batches.
        if let Ok(own) = concat_batches(&part.schema(), [&part]) {
            self.row_count += count;
            self.batches.push(own);
        }
    }

    /// The filters for a column that becomes a field of a shape.
    pub(super) fn choose(&self, column: &str, shape: CellShape) -> Chosen {
        let alone = Chosen::default();
        if shape.cell_val_num != CellValNum::ONE || self.row_count < LEAST_ROWS {
            return alone;
        }
        let byte_len = shape.datatype.byte_len();
        let mut cells = Vec::new();
        for batch in &self.batches {
            let bytes = batch.column_by_name(column).and_then(|array| values(array, byte_len));
            // A column whose type is not yet that of the field.
            let Some(bytes) = bytes else { return alone };
            cells.extend_from_slice(&bytes);
        }
        let len = |before: &[Filter]| {
            smalti::filtered_byte_len(shape.datatype, &pipeline(before), &cells).unwrap_or(u64::MAX)
        };
        let (plain, shuffled) = (len(&[]), len(&[Filter::Byteshuffle]));
        if shuffled.saturating_mul(100) >= plain.saturating_mul(WORTH_PERCENT) {
            return alone;
        }
        let percent = shuffled.saturating_mul(100).div_ceil(plain.max(1));
        let reason = format!(
            "byteshuffle before zstd: that makes {percent} % of what zstd alone makes of the first {} values",
            self.row_count
        );
        Chosen { before: vec![Filter::Byteshuffle], reason: Some(reason) }
    }
}

fn pipeline(before: &[Filter]) -> FilterPipeline {
    let mut filters = before.to_vec();
    filters.push(Filter::Zstd { level: ZSTD_LEVEL });
    FilterPipeline::new(filters)
}

impl Chosen {
    /// Those for numbers that rise by little: of rows, and offsets of values of any length.
    pub(super) fn of_numbers() -> Chosen {
        Chosen { before: vec![Filter::Byteshuffle], reason: None }
    }

    /// Whether they are zstd alone.
    pub(super) fn is_zstd(&self) -> bool {
        self.before.is_empty()
    }

    /// Whether a sample says so.
    pub(super) fn is_by_sample(&self) -> bool {
        self.reason.is_some()
    }

    /// Why, to follow other words.
    pub(super) fn told(&self) -> String {
        self.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default()
    }

    /// As schemas write them.
    pub(super) fn json(&self) -> Value {
        let before = self.before.iter().map(|filter| json!({"filter": filter.name()}));
        before.chain([json!({"filter": "zstd", "level": ZSTD_LEVEL})]).collect()
    }
}

/// The values of a column of numbers or times as they are stored, if they are stored as they are; those of nulls are arbitrary.
fn values(array: &ArrayRef, byte_len: usize) -> Option<Vec<u8>> {
    let is_stored_so = match array.data_type() {
        DataType::Int16
        | DataType::UInt16
        | DataType::Int32
        | DataType::UInt32
        | DataType::Float32
        | DataType::Int64
        | DataType::UInt64
        | DataType::Float64
        | DataType::Date64
        | DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Time64(_) => array.data_type().primitive_width() == Some(byte_len),
        _ => false,
    };
    let data = array.to_data();
    let (start, end) = (data.offset() * byte_len, (data.offset() + data.len()) * byte_len);
    let bytes = data.buffers().first().filter(|_| is_stored_so)?.get(start..end)?;
    Some(bytes.to_vec())
}
