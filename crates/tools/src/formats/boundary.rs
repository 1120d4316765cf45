//! The boundary around the crates that read Arrow and Parquet: they panic on some damaged files. Here that becomes an error.

use super::RecordBatches;
use crate::failure::{Failure, Outcome};
use arrow_array::RecordBatch;
use smalti::Error;
use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside of the boundary, where a panic prints nothing.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Does work on content of a format that nobody has checked, such as opening a file. What the work leaves behind when it panics is
/// dropped: it must own what it changes.
///
/// # Errors
/// Those of the work; `Corrupt` when it panics.
pub(crate) fn guarded<T>(format: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_INSIDE.try_with(Cell::get).unwrap_or(false) {
                usual(panic);
            }
        }));
    });
    let was_inside = IS_INSIDE.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_INSIDE.set(was_inside);
    outcome.unwrap_or_else(|panic| Err(damaged(format, &message_of(&*panic))))
}

/// The record batches of a file that was opened inside of the boundary; the first error ends them.
pub(crate) fn guarded_batches(format: &'static str, batches: RecordBatches) -> RecordBatches {
    Box::new(Guarded { format, batches: Some(batches) })
}

/// A file that contradicts its format.
pub(crate) fn damaged(format: &str, problem: &str) -> Failure {
    Failure::Error(Error::corrupt(format!("the {format} file is damaged: {problem}")))
}

struct Guarded {
    format: &'static str,
    batches: Option<RecordBatches>,
}

impl Iterator for Guarded {
    type Item = Outcome<RecordBatch>;

    fn next(&mut self) -> Option<Outcome<RecordBatch>> {
        let mut batches = self.batches.take()?;
        let next = guarded(self.format, || match batches.next() {
            None => Ok(None),
            Some(batch) => Ok(Some((batch?, batches))),
        });
        match next {
            Ok(None) => None,
            Ok(Some((batch, batches))) => {
                self.batches = Some(batches);
                Some(Ok(batch))
            }
            Err(failure) => Some(Err(failure)),
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("its parts contradict each other").to_string()
}

/// A few hundred damaged copies of a file, the same ones every time: bytes that are other ones, pieces that are all ones, and ends
/// that are missing.
#[cfg(test)]
pub(crate) fn damages(whole: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    const COUNT: usize = 400;
    (0..COUNT).map(move |idx| {
        // Spread over the file by steps of the golden ratio, more of them over its end, which tells where everything is.
        let part = if idx % 2 == 0 { whole.len() } else { whole.len().min(1500) };
        let at = whole.len() - 1 - (idx * 40_503 % 65_536) * part / 65_536;
        let mut content = whole.to_vec();
        match idx % 8 {
            7 => content.truncate(at),
            6 => {
                let end = (at + 4).min(content.len());
                content[at..end].fill(0xff);
            }
            5 => content[at] = 0x7f,
            4 => content[at] = 0,
            _ => content[at] ^= 1 << (idx / 8 % 8),
        }
        content
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_ends_the_batches() {
        let opened = guarded("Parquet", || -> Outcome<()> { panic!("count {} is wrong", 7) });
        let failure = opened.unwrap_err().to_string();
        assert_eq!(failure, "corrupt: the Parquet file is damaged: count 7 is wrong");
        let mut batches = guarded_batches("Arrow", Box::new(std::iter::from_fn(|| panic!("no batch"))));
        assert!(batches.next().unwrap().unwrap_err().to_string().contains("no batch"));
        assert!(batches.next().is_none());
        assert_eq!(guarded("Arrow", || Ok(5)).unwrap(), 5);
    }
}
