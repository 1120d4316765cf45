//! Workload T: what a program pays for each call where there is next to nothing to read.

use crate::query::{Outcome, text};
use serde_json::Value;
use smalti::{Array, Context, Extent, Layout, Options, ReadRequest, Scalar};

/// Side of the cube that is read: a corner of one tile.
const SIDE: i64 = 4;

/// The array that stays open between runs.
#[derive(Default)]
pub(crate) struct Opened(Option<(String, Array)>);

impl Opened {
    /// Does the same small thing `n` times: reads a corner of a tile through an array that is open, opens the array, or makes a context
    /// and opens the array in it. The sum of all cells that were read.
    pub(crate) fn run(&mut self, query: &Value) -> Outcome<f64> {
        let path = text(query, "path")?;
        let rounds = query["n"].as_u64().ok_or("n is missing")?;
        match text(query, "o")? {
            "query" => {
                let array = self.array(path)?;
                (0..rounds).map(|_| corner(array)).sum()
            }
            "open" => (0..rounds).try_fold(0.0, |sum, _| {
                drop(Array::open(path)?);
                Ok(sum)
            }),
            "context" => (0..rounds).try_fold(0.0, |sum, _| {
                drop(Array::open_with(path, &Options::new().context(&Context::new()))?);
                Ok(sum)
            }),
            other => Err(format!("unsupported: {other}").into()),
        }
    }

    fn array(&mut self, path: &str) -> Outcome<&Array> {
        if self.0.as_ref().is_none_or(|(opened, _)| opened != path) {
            self.0 = Some((path.to_owned(), Array::open(path)?));
        }
        self.0.as_ref().map(|(_, array)| array).ok_or_else(|| "nothing is open".into())
    }
}

fn corner(array: &Array) -> Outcome<f64> {
    let side = vec![Extent::between(Scalar::I64(0), Scalar::I64(SIDE - 1))?];
    let request = ReadRequest {
        fields: vec!["a".into()],
        ranges: vec![side; 3],
        layout: Some(Layout::RowMajor),
        batch_cell_count: Some(usize::MAX),
        ..ReadRequest::default()
    };
    let mut sum = 0.0;
    for batch in array.read_raw(&request)? {
        let columns = batch?.columns;
        sum += columns
            .iter()
            .flat_map(|column| column.data.values::<f32>())
            .map(|&cell| f64::from(cell))
            .sum::<f64>();
    }
    Ok(sum)
}
