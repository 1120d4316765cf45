//! Rows that are kept between the two passes over files.

use super::held::Held;
use super::source::{Rows, Source};
use super::types;
use arrow_array::{Array as _, RecordBatch};
use std::sync::Arc;

/// Rows of the first pass that need not be read again.
pub(super) struct Retained {
    held: Held,
    limit: usize,
    rows: Option<Vec<Rows>>,
}

impl Retained {
    /// Room for the rows of a source that does not keep them itself.
    pub(super) fn of(source: &Source<'_>, limit: usize) -> Retained {
        let rows = (!source.is_stream()).then(Vec::new);
        Retained { held: Held::default(), limit, rows }
    }

    /// Takes rows, until there are too many.
    pub(super) fn take(&mut self, rows: Rows) {
        let Some(all) = &mut self.rows else { return };
        rows.batch.columns().iter().for_each(|array| self.held.add(&**array, 0));
        if self.held.byte_len() > self.limit {
            self.rows = None;
        } else {
            all.push(rows);
        }
    }

    /// Lets go of all of them.
    pub(super) fn clear(&mut self) {
        self.rows = None;
    }

    /// All rows, in the types that their columns have become; `None` when the files have to be read again.
    pub(super) fn all(self, source: &Source<'_>) -> Option<Vec<Rows>> {
        let fields = source.fields.borrow();
        let rows = self.rows.filter(|rows| !rows.is_empty())?;
        rows.into_iter().map(|rows| widened(&fields, rows)).collect()
    }
}

/// Rows in the types that their columns have become; `None` where only the file tells them, as text that was read as numbers.
fn widened(fields: &[arrow_schema::Field], rows: Rows) -> Option<Rows> {
    let mut columns = Vec::new();
    let mut own = Vec::new();
    for (field, array) in rows.batch.schema().fields().iter().zip(rows.batch.columns()) {
        let wanted = fields.iter().find(|wanted| wanted.name() == field.name())?.data_type();
        let is_text = matches!(wanted, arrow_schema::DataType::Utf8) && field.data_type() != wanted;
        if is_text && array.null_count() < array.len() {
            return None;
        }
        let array = types::cast(array, wanted).ok()?;
        own.push(field.as_ref().clone().with_data_type(array.data_type().clone()));
        columns.push(array);
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.batch.num_rows()));
    let schema = Arc::new(arrow_schema::Schema::new(own));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options).ok()?;
    Some(Rows { batch, ..rows })
}
