//! The thread that waits for the network, so that no worker does.

use crate::room::{Room, Taken};
use smalti_types::{Error, ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// A thread for requests, which starts with the first one, and the number of requests that go side by side. Clones share them.
#[derive(Clone)]
pub(crate) struct Io {
    thread: Arc<Thread>,
    /// How many requests may be under way.
    requests: Arc<Semaphore>,
    /// For parts of files on their way.
    room: Room,
}

#[derive(Default)]
struct Thread {
    runtime: OnceLock<Option<Runtime>>,
}

/// The result of something that was begun; what is not waited for is stopped.
pub(crate) struct Begun<T> {
    result: Receiver<Result<T>>,
    task: Option<AbortHandle>,
}

impl Io {
    pub(crate) fn new(request_count: usize) -> Io {
        Io {
            thread: Arc::default(),
            requests: Arc::new(Semaphore::new(request_count.max(1))),
            room: Room::default(),
        }
    }

    /// Waits until there is room for a part of a file to be on its way.
    pub(crate) fn room(&self, byte_len: usize) -> Taken {
        self.room.take(byte_len)
    }

    /// Begins a request.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Begun<T> {
        let (sender, result) = channel();
        let Some(runtime) = self.thread.runtime() else {
            let why = "the system starts no thread for the network; allow this program more threads";
            // The receiver is right here.
            let _ = sender.send(Err(Error::new(ErrorKind::Io, why)));
            return Begun { result, task: None };
        };
        let requests = Arc::clone(&self.requests);
        let task = runtime.spawn(async move {
            let _one = requests.acquire_owned().await;
            // Nobody may wait for it any more.
            let _ = sender.send(request.await);
        });
        Begun { result, task: Some(task.abort_handle()) }
    }

    /// Makes a request, and waits for it.
    ///
    /// # Errors
    /// What it reports.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.begin(request).wait()
    }

    /// Makes requests side by side, and waits for all of them. The results have their order.
    pub(crate) fn wait_all<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        &self,
        requests: impl IntoIterator<Item = F>,
    ) -> Vec<Result<T>> {
        let begun: Vec<_> = requests.into_iter().map(|request| self.begin(request)).collect();
        begun.into_iter().map(Begun::wait).collect()
    }
}

impl<T> Begun<T> {
    /// Waits for the result.
    ///
    /// # Errors
    /// What the request reports.
    pub(crate) fn wait(mut self) -> Result<T> {
        let result = self.result.recv();
        self.task = None;
        result.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "a request was broken off by a panic")))
    }
}

impl<T> Drop for Begun<T> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Thread {
    fn runtime(&self) -> Option<&Runtime> {
        let start = || {
            let mut builder = Builder::new_multi_thread();
            builder
                .worker_threads(1)
                .max_blocking_threads(4)
                .thread_name("smalti-io")
                .enable_all()
                .build()
                .ok()
        };
        self.runtime.get_or_init(start).as_ref()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Io")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_starts_before_the_first_request_and_no_more_requests_go_than_allowed() {
        let io = Io::new(2);
        assert!(io.thread.runtime.get().is_none());
        let requests = Arc::clone(&io.requests);
        let seen = (0..10).map(|at| {
            let requests = Arc::clone(&requests);
            async move {
                tokio::task::yield_now().await;
                Ok((at, requests.available_permits() < 2))
            }
        });
        let seen: Vec<(usize, bool)> = io.wait_all(seen).into_iter().collect::<Result<_>>().unwrap();
        assert_eq!(seen, (0..10).map(|at| (at, true)).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_of_a_request_is_an_error() {
        let error = Io::new(1).wait(async { if true { panic!("on purpose") } else { Ok(()) } }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}
