//! SIGINT, as Ctrl-C sends it, and SIGTERM: the first stops long work, which cleans up; the second ends the program at once.

use crate::failure::{Failure, Outcome};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use smalti::{ErrorKind, FsckProgress, ReadProgress};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const SIGNALS: [(i32, &str); 2] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM")];

/// How often it is looked whether a signal came.
const TICK: Duration = Duration::from_millis(10);

/// How long a read may take to stop. It can be held up by a pipe that nobody reads from.
const GRACE: Duration = Duration::from_millis(300);

/// Work that can be told to stop; it ends with an error of kind `Cancelled` then.
pub(crate) trait Stoppable: Send + Sync + 'static {
    /// Tells it.
    fn stop(&self);
}

impl Stoppable for ReadProgress {
    fn stop(&self) {
        self.cancel();
    }
}

impl Stoppable for FsckProgress {
    fn stop(&self) {
        self.cancel();
    }
}

/// Watches for signals while work goes on.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The number of the signal that came; 0 for none.
    signal: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Watch {
    /// Watches work that reads until it is dropped. `partial` is the file under its temporary name that a read which is stopped
    /// leaves nothing of.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn start(work: &Arc<impl Stoppable>, partial: Option<PathBuf>) -> Outcome<Self> {
        Watch::with_grace(work, partial, Some(GRACE))
    }

    /// Watches work that writes: it is given all the time that it takes to remove what it wrote.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn over_writes(work: &Arc<impl Stoppable>) -> Outcome<Self> {
        Watch::with_grace(work, None, None)
    }

    fn with_grace(
        work: &Arc<impl Stoppable>,
        partial: Option<PathBuf>,
        grace: Option<Duration>,
    ) -> Outcome<Self> {
        let (signal, is_stopping) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for (number, _) in SIGNALS {
            // In this order: the first signal finds the flag unset.
            flag::register_conditional_shutdown(
                number,
                status_of(number as usize),
                Arc::clone(&is_stopping),
            )?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        for (number, _) in SIGNALS {
            flag::register(number, Arc::clone(&is_stopping))?;
        }
        let watch = Watch { signal: Arc::clone(&signal), is_over: Arc::default() };
        let (work, is_over) = (Arc::clone(work), Arc::clone(&watch.is_over));
        thread::Builder::new().name("signals".into()).spawn(move || {
            while signal.load(SeqCst) == 0 {
                if is_over.load(SeqCst) {
                    return;
                }
                thread::sleep(TICK);
            }
            work.stop();
            if let Some(path) = partial {
                let _ = std::fs::remove_file(path);
            }
            let start = Instant::now();
            while grace.is_none_or(|grace| start.elapsed() < grace) {
                if is_over.load(SeqCst) {
                    return;
                }
                thread::sleep(TICK);
            }
            let number = signal.load(SeqCst);
            Failure::Stopped(number).report();
            std::process::exit(status_of(number));
        })?;
        Ok(watch)
    }

    /// Ends the watch. Work that was stopped names the signal.
    pub(crate) fn end<T>(self, outcome: Outcome<T>) -> Outcome<T> {
        match (outcome, self.signal.load(SeqCst)) {
            (Err(Failure::Error(error)), number) if number > 0 && error.kind() == ErrorKind::Cancelled => {
                Err(Failure::Stopped(number))
            }
            (outcome, _) => outcome,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
    }
}

/// The exit status of a program that a signal ended, as shells tell it.
pub(crate) fn status_of(signal: usize) -> i32 {
    128 + signal as i32
}

/// A signal's name.
pub(crate) fn name_of(signal: usize) -> &'static str {
    SIGNALS.iter().find(|(number, _)| *number as usize == signal).map_or("a signal", |(_, name)| name)
}
