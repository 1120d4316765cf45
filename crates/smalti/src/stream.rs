//! Reads for programs that wait for many things at once.

use crate::RecordBatches;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;
use smalti_query::Progress;
use smalti_types::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::thread::JoinHandle;

/// The record batches of a read as a [`Stream`], which needs no particular runtime: a thread of its own, which starts when it is first
/// polled, makes a batch ahead and wakes whoever waits for it.
///
/// Made by [`RecordBatches::into_stream`]. Dropped before its end it stops the work at once, by its [`Progress`], which says so from
/// then on.
#[derive(Debug)]
pub struct BatchStream {
    schema: SchemaRef,
    progress: Arc<Progress>,
    /// Until it is first polled.
    batches: Option<Box<RecordBatches>>,
    thread: Option<JoinHandle<()>>,
    handover: Arc<Handover>,
}

/// Where the thread leaves batches.
#[derive(Debug, Default)]
struct Handover {
    state: Mutex<State>,
    is_taken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: Option<Result<RecordBatch>>,
    /// No more will come.
    is_over: bool,
    is_dropped: bool,
    waker: Option<Waker>,
}

impl Handover {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a batch once the last one was taken; `false` when nobody wants it any more.
    fn put(&self, batch: Result<RecordBatch>) -> bool {
        let mut state = self.state();
        while state.ready.is_some() && !state.is_dropped {
            state = self.is_taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_dropped {
            return false;
        }
        state.ready = Some(batch);
        wake(state);
        true
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    // Whoever is woken may poll on this thread.
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Says that the thread ended, in whatever way.
struct End(Arc<Handover>);

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_over = true;
        wake(state);
    }
}

impl BatchStream {
    pub(crate) fn new(batches: RecordBatches) -> BatchStream {
        BatchStream {
            schema: batches.schema().clone(),
            progress: Arc::clone(batches.progress()),
            batches: Some(Box::new(batches)),
            thread: None,
            handover: Arc::default(),
        }
    }

    /// The Arrow schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What the read has done so far, and where it can be stopped.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    fn start(&mut self, batches: Box<RecordBatches>) -> Result<()> {
        let end = End(Arc::clone(&self.handover));
        let work = move || {
            let End(handover) = &end;
            for batch in *batches {
                if !handover.put(batch) {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("smalti-stream".into()).spawn(work);
        let refused =
            |error| Error::new(ErrorKind::Io, format!("a thread for the stream cannot be started: {error}"));
        self.thread = Some(thread.map_err(refused)?);
        Ok(())
    }
}

impl Stream for BatchStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        if let Some(batches) = self.batches.take()
            && let Err(error) = self.start(batches)
        {
            return Poll::Ready(Some(Err(error)));
        }
        let mut state = self.handover.state();
        if let Some(batch) = state.ready.take() {
            self.handover.is_taken.notify_one();
            return Poll::Ready(Some(batch));
        }
        if !state.is_over {
            state.waker = Some(task.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        // A panic of the thread goes on here, as it would in the loop of an iterator.
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        Poll::Ready(None)
    }
}

impl Drop for BatchStream {
    fn drop(&mut self) {
        let mut state = self.handover.state();
        state.is_dropped = true;
        if self.thread.is_some() && !state.is_over {
            self.progress.cancel();
        }
        self.handover.is_taken.notify_one();
    }
}
