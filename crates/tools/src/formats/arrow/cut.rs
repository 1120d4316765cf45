//! Record batches in pieces that fit the budget.

use super::RecordBatches;
use crate::failure::Outcome;
use arrow_array::RecordBatch;
use smalti::arrow::unpacked_byte_len;

/// The same rows in batches whose cells, with dictionaries, runs and views written out, take no more than `byte_len`, or are of one
/// row: such a batch has few bytes as it is read, and any number as it is used.
pub(crate) fn cut_batches(batches: RecordBatches, byte_len: u64) -> RecordBatches {
    Box::new(Cut { batches, byte_len, pieces: Vec::new() })
}

/// The bytes of the cells of a batch that is written out.
pub(crate) fn written_out_byte_len(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| unpacked_byte_len(column)).fold(0, u64::saturating_add)
}

struct Cut {
    batches: RecordBatches,
    byte_len: u64,
    /// Pieces of the last batch, the next one last.
    pieces: Vec<RecordBatch>,
}

impl Iterator for Cut {
    type Item = Outcome<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = match self.pieces.pop() {
            Some(piece) => piece,
            None => match self.batches.next()? {
                Ok(batch) => batch,
                failed => return Some(failed),
            },
        };
        while piece.num_rows() > 1 && written_out_byte_len(&piece) > self.byte_len {
            let half = piece.num_rows() / 2;
            self.pieces.push(piece.slice(half, piece.num_rows() - half));
            piece = piece.slice(0, half);
        }
        Some(Ok(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int8Type;
    use arrow_array::{ArrayRef, DictionaryArray};
    use std::sync::Arc;

    #[test]
    fn batches_are_cut_by_what_their_dictionaries_stand_for() {
        let texts = ["x".repeat(1000), "y".into()];
        let labels: DictionaryArray<Int8Type> =
            (0..100).map(|cell| texts[usize::from(cell >= 64)].as_str()).collect();
        let batch = RecordBatch::try_from_iter([("s", Arc::new(labels) as ArrayRef)]).unwrap();
        let whole = batch.clone();
        let pieces = cut_batches(Box::new(std::iter::once(Ok(batch))), 20_000);
        let pieces: Vec<RecordBatch> = pieces.collect::<Outcome<_>>().unwrap();
        let row_counts: Vec<usize> = pieces.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(row_counts, [12, 13, 12, 13, 50]);
        assert_eq!(pieces[1], whole.slice(12, 13));
        let rows = cut_batches(Box::new(std::iter::once(Ok(whole))), 1);
        assert_eq!(rows.count(), 100);
    }
}
