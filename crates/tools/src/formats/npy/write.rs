//! Cells to a NumPy file.

use super::header::{Header, descr};
use crate::cells::Field;
use crate::failure::{Failure, Outcome};
use crate::formats::Sink;
use smalti::Batch;
use std::io::Write;

/// Writes the values of one attribute.
pub struct NpySink<W> {
    out: W,
    cells_left: usize,
}

impl<W: Write> NpySink<W> {
    /// `shape` is that of the cells; `is_fortran` tells that they come with the first dimension fastest.
    ///
    /// # Errors
    /// When the fields are not one attribute of a fixed number of values without null.
    pub fn new(mut out: W, fields: &[Field], shape: &[usize], is_fortran: bool) -> Outcome<Self> {
        let [field] = fields else {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "npy holds one attribute, not {}; name one with --select",
                names.join(", ")
            )));
        };
        let count = field.cell_val_num.fixed().filter(|_| !field.nullable);
        let (Some(count), Some(descr)) = (count, descr(field.datatype)) else {
            let null = if field.nullable { "nullable " } else { "" };
            return Err(Failure::invalid(format!(
                "npy cannot hold the {null}field {:?} of type {}; use arrow or parquet",
                field.name, field.datatype
            )));
        };
        let cells_left = shape.iter().try_fold(1_usize, |product, &len| product.checked_mul(len));
        let cells_left = cells_left.ok_or_else(|| Failure::invalid("the ranges have too many cells"))?;
        let mut shape = shape.to_vec();
        if count > 1 {
            if is_fortran {
                return Err(Failure::invalid("npy holds cells of several values in row-major order only"));
            }
            shape.push(count);
        }
        out.write_all(&Header { descr, is_fortran, shape }.encode())?;
        Ok(NpySink { out, cells_left })
    }
}

impl<W: Write> Sink for NpySink<W> {
    fn batch(&mut self, batch: Batch) -> Outcome {
        self.cells_left = self.cells_left.saturating_sub(batch.cell_count);
        for column in &batch.columns {
            self.out.write_all(column.data.as_slice())?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome {
        if self.cells_left > 0 {
            return Err(Failure::invalid(format!("{} cells of the ranges did not come", self.cells_left)));
        }
        Ok(self.out.flush()?)
    }
}
