//! The boundary around the crates that read Arrow and Parquet: they panic on some damaged files. Here that becomes an error.
//!
//! Their work is done on a thread of its own, and the panic hook tells the one that waits for it what was wrong. Where panics unwind, that
//! thread ends with its panic. In a program that is built without unwinding, the process would end behind the hook: there the hook does
//! not return, and the thread stays with what its work held, until the program, which prints an error now, ends.

use super::RecordBatches;
use crate::failure::{Failure, Outcome};
use arrow_array::RecordBatch;
use smalti::Error;
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::panic;
use std::sync::Once;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread;

/// What the main thread of a program has on Linux: structures within structures are followed as deep as there.
const STACK_BYTE_LEN: usize = 8 << 20;

/// Small batches are read several at once, up to so many bytes: going to the other thread and back takes as long as reading one.
const READ_BYTE_LEN: usize = 64 << 10;

/// Work, with the way back for what comes of it.
type Task = Box<dyn FnOnce() + Send>;

thread_local! {
    /// The thread that does such work for this one, from its first work on.
    static READER: RefCell<Option<Reader>> = const { RefCell::new(None) };
    /// On that thread, while it works: who is told of a panic.
    static WITNESS: RefCell<Option<Box<dyn FnOnce(String)>>> = const { RefCell::new(None) };
}

/// Does work on content of a format that nobody has checked, such as opening a file, on a thread of its own.
///
/// # Errors
/// Those of the work; `Corrupt` when it panics.
pub(crate) fn guarded<T: Send + 'static>(
    format: &str,
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> Outcome<T> {
    watch_panics();
    let (done, outcome) = sync_channel(1);
    let panicked = done.clone();
    hand_over(Box::new(move || {
        WITNESS.set(Some(Box::new(move |problem| drop(panicked.send(Err(problem))))));
        let outcome = work();
        WITNESS.take();
        drop(done.send(Ok(outcome)));
    }))?;
    let outcome = outcome.recv().unwrap_or_else(|_| Err("its reader ended early".into()));
    outcome.unwrap_or_else(|problem| {
        // This one takes no more work.
        READER.take();
        Err(damaged(format, &problem))
    })
}

/// The record batches of a file that was opened inside of the boundary, read when they are asked for; the first error ends them. Small
/// ones in front of a panic, read together with what panicked, are lost.
pub(crate) fn guarded_batches(
    format: &'static str,
    batches: impl Iterator<Item = Outcome<RecordBatch>> + Send + 'static,
) -> RecordBatches {
    Box::new(Guarded { format, batches: Some(Box::new(batches)), read: VecDeque::new() })
}

/// A file that contradicts its format.
pub(crate) fn damaged(format: &str, problem: &str) -> Failure {
    Failure::Error(Error::corrupt(format!("the {format} file is damaged: {problem}")))
}

struct Guarded<I> {
    format: &'static str,
    /// Lent to the thread that reads; lost when that panics.
    batches: Option<Box<I>>,
    /// What was read at once.
    read: VecDeque<Outcome<RecordBatch>>,
}

impl<I: Iterator<Item = Outcome<RecordBatch>> + Send + 'static> Iterator for Guarded<I> {
    type Item = Outcome<RecordBatch>;

    fn next(&mut self) -> Option<Outcome<RecordBatch>> {
        if let Some(batch) = self.read.pop_front() {
            return Some(batch);
        }
        let mut batches = self.batches.take()?;
        let read = guarded(self.format, move || {
            let (mut read, mut byte_len) = (VecDeque::new(), 0);
            loop {
                match batches.next() {
                    Some(Ok(batch)) => {
                        byte_len += batch.get_array_memory_size();
                        read.push_back(Ok(batch));
                        if byte_len >= READ_BYTE_LEN {
                            return Ok((read, Some(batches)));
                        }
                    }
                    end => {
                        read.extend(end);
                        return Ok((read, None));
                    }
                }
            }
        });
        match read {
            Ok((read, batches)) => (self.read, self.batches) = (read, batches),
            Err(failure) => return Some(Err(failure)),
        }
        self.read.pop_front()
    }
}

/// A thread that works for another one, and ends with it.
struct Reader {
    process_id: u32,
    tasks: Sender<Task>,
}

impl Reader {
    fn start() -> io::Result<Self> {
        let (tasks, given) = channel::<Task>();
        let thread = thread::Builder::new().name("smalti-formats".into()).stack_size(STACK_BYTE_LEN);
        thread.spawn(move || given.into_iter().for_each(|task| task()))?;
        Ok(Reader { process_id: std::process::id(), tasks })
    }
}

/// Gives a task to the thread that works for this one.
fn hand_over(task: Task) -> io::Result<()> {
    READER.with_borrow_mut(|reader| {
        // Threads do not follow a fork, and their locks may be held there for good.
        if let Some(gone) = reader.take_if(|reader| reader.process_id != std::process::id()) {
            std::mem::forget(gone);
        }
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(Reader::start()?),
        };
        // A task that nobody takes is seen where its outcome is waited for.
        drop(reader.tasks.send(task));
        Ok(())
    })
}

/// Has panics of readers told to those who wait for them, and nothing printed; other panics go to the hook that was there.
fn watch_panics() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let Some(tell) = WITNESS.try_with(RefCell::take).ok().flatten() else { return usual(panic) };
            tell(message_of(panic.payload()));
            while cfg!(panic = "abort") {
                thread::park();
            }
        }));
    });
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
    use arrow_array::{ArrayRef, Int8Array};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn a_panic_becomes_an_error_and_ends_the_batches() {
        let opened = guarded("Parquet", || -> Outcome<()> { panic!("count {} is wrong", 7) });
        let failure = opened.unwrap_err().to_string();
        assert_eq!(failure, "corrupt: the Parquet file is damaged: count 7 is wrong");
        let mut batches = guarded_batches("Arrow", std::iter::from_fn(|| panic!("no batch")));
        assert!(batches.next().unwrap().unwrap_err().to_string().contains("no batch"));
        assert!(batches.next().is_none());
        assert_eq!(guarded("Arrow", || Ok(5)).unwrap(), 5);
    }

    #[test]
    fn an_error_ends_the_batches_behind_those_before_it() {
        for row_count in [1, READ_BYTE_LEN] {
            let array: ArrayRef = Arc::new(Int8Array::from(vec![1; row_count]));
            let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
            let whole = (0..3).map(move |_| Ok(batch.clone()));
            assert_eq!(guarded_batches("Arrow", whole.clone()).map(Result::unwrap).count(), 3);
            let mut batches =
                guarded_batches("Arrow", whole.chain(std::iter::repeat_with(|| Err(Failure::ReaderGone))));
            assert_eq!(batches.by_ref().take(3).map(Result::unwrap).count(), 3);
            assert!(matches!(batches.next(), Some(Err(Failure::ReaderGone))));
            assert!(batches.next().is_none());
        }
    }

    #[test]
    fn one_thread_does_all_work_of_another_and_ends_with_it() {
        /// Goes with the thread whose it is.
        struct Mark(Arc<AtomicBool>);
        impl Drop for Mark {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        thread_local! {
            static MARK: RefCell<Option<Mark>> = const { RefCell::new(None) };
        }
        let is_gone = Arc::new(AtomicBool::new(false));
        let mark = Mark(Arc::clone(&is_gone));
        let asking = thread::spawn(move || {
            let here = thread::current().id();
            let set = move || {
                MARK.set(Some(mark));
                Ok(thread::current().id())
            };
            let first = guarded("Arrow", set).unwrap();
            let second = guarded("Arrow", || Ok(thread::current().id())).unwrap();
            assert!(first == second && first != here);
        });
        asking.join().unwrap();
        for _ in 0..1000 {
            if is_gone.load(Ordering::Acquire) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the thread goes on");
    }

    #[test]
    fn work_within_work_has_a_witness_of_its_own() {
        let outer = guarded("Arrow", || {
            let inner = guarded("Parquet", || -> Outcome<()> { panic!("inside") });
            assert!(inner.unwrap_err().to_string().contains("inside"));
            Ok(guarded("Parquet", || Ok(1))? + 1)
        });
        assert_eq!(outer.unwrap(), 2);
    }
}
