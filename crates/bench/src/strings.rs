//! Workload S10: a dense line of strings, numbers that may be null, and codes of an enumeration.

use crate::npz;
use crate::query::{Outcome, text, to_write};
use serde_json::Value;
use smalti::{
    Array, Attribute, Batch, ColumnRef, Dimension, Duplicates, Enumeration, Filter, Layout, ReadRequest,
    Schema, WriteRequest,
};

const EXTENT: i64 = 100_000;

/// The cells to write, loaded once.
#[derive(Default)]
pub(crate) struct Input {
    folder: String,
    text: Vec<u8>,
    offsets: Vec<u64>,
    numbers: Vec<u8>,
    validity: Vec<u8>,
    codes: Vec<u8>,
}

impl Input {
    pub(crate) fn load(&mut self, query: &Value) -> Outcome<()> {
        let folder = text(query, "ind")?;
        if self.folder != folder {
            let array = |name| npz::array(&format!("{folder}/str.npz"), name);
            self.text = array("data")?;
            self.offsets = bytemuck::pod_collect_to_vec(&array("off")?);
            self.offsets.push(self.text.len() as u64);
            (self.numbers, self.validity, self.codes) = (array("num")?, array("val")?, array("cat")?);
            self.folder = folder.to_owned();
        }
        Ok(())
    }

    pub(crate) fn create(&self, query: &Value) -> Outcome<()> {
        let zstd = || [Filter::Zstd { level: 3 }];
        let labels: Vec<String> = (0..30).map(|code| format!("category_{code}")).collect();
        let schema = Schema::dense()
            .dimension(Dimension::new("i", 0..=self.codes.len() as i64 - 1).tile(EXTENT))
            .attribute(Attribute::ascii("s").filters(zstd()))
            .attribute(Attribute::of::<i32>("n").nullable().filters(zstd()))
            .attribute(Attribute::of::<u8>("c").enumeration("en").filters(zstd()))
            .enumeration(Enumeration::new("en", labels));
        Array::create(text(query, "path")?, &schema.build()?)?;
        Ok(())
    }

    pub(crate) fn write(&self, query: &Value) -> Outcome<()> {
        to_write(query)?.write_raw(&WriteRequest {
            columns: vec![
                ("s".into(), ColumnRef::var(&self.text, &self.offsets)),
                ("n".into(), ColumnRef::fixed(&self.numbers).with_validity(&self.validity)),
                ("c".into(), ColumnRef::fixed(&self.codes)),
            ],
            subarray: None,
            layout: Layout::RowMajor,
            at: None,
            duplicates: Duplicates::Refuse,
            progress: None,
        })?;
        Ok(())
    }
}

/// Opens the array and reads it all.
pub(crate) fn read(query: &Value) -> Outcome<Vec<Batch>> {
    let array = Array::open(text(query, "path")?)?;
    let request = ReadRequest {
        fields: ["s", "n", "c"].map(str::to_owned).into(),
        layout: Some(Layout::RowMajor),
        batch_cell_count: Some(usize::MAX),
        ..ReadRequest::default()
    };
    Ok(array.read_raw(&request)?.collect::<Result<_, _>>()?)
}

/// The sum of the numbers that are not null, and the number of codes.
pub(crate) fn checksum(batch: &Batch) -> f64 {
    let [_, numbers, codes] = &batch.columns[..] else { return f64::NAN };
    let Some(validity) = &numbers.validity else { return f64::NAN };
    let cells = numbers.data.values::<i32>().iter().zip(validity.as_slice());
    cells.map(|(&number, &is_valid)| if is_valid == 0 { 0.0 } else { f64::from(number) }).sum::<f64>()
        + codes.data.as_slice().len() as f64
}
