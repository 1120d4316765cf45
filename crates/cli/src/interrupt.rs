//! SIGINT, as Ctrl-C sends it, and SIGTERM: the first stops long work, which cleans up; the second ends the program at once.

use crate::failure::{Failure, Outcome};
use crate::progress::Bar;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use smalti::{ErrorKind, Phase, Progress};
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

/// When work that does not stop is left where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Always,
    WhileReading,
    Never,
}

/// Watches for signals while work goes on.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The number of the signal that came; 0 for none.
    signal: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    work: Arc<Progress>,
}

impl Watch {
    /// Watches work that reads until it is dropped. `partial` is the file under its temporary name that a read which is stopped
    /// leaves nothing of.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn start(work: &Arc<Progress>, partial: Option<PathBuf>) -> Outcome<Self> {
        Watch::over(work, partial, Cut::Always)
    }

    /// Watches work that writes: it is given all the time that it takes to remove what it wrote. Only while it is in the phase of
    /// reading its input, which may be a pipe that nothing comes from, it is treated as work that reads.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn over_writes(work: &Arc<Progress>) -> Outcome<Self> {
        Watch::over(work, None, Cut::WhileReading)
    }

    /// As [`over_writes`](Watch::over_writes), for work whose input is files: reading them ends soon.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn over_imports(work: &Arc<Progress>) -> Outcome<Self> {
        Watch::over(work, None, Cut::Never)
    }

    fn over(work: &Arc<Progress>, partial: Option<PathBuf>, cut: Cut) -> Outcome<Self> {
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
        let watch = Watch { signal: Arc::clone(&signal), is_over: Arc::default(), work: Arc::clone(work) };
        let (work, is_over) = (Arc::clone(work), Arc::clone(&watch.is_over));
        thread::Builder::new().name("signals".into()).spawn(move || {
            while signal.load(SeqCst) == 0 {
                if is_over.load(SeqCst) {
                    return;
                }
                thread::sleep(TICK);
            }
            work.cancel();
            if let Some(path) = partial {
                let _ = std::fs::remove_file(path);
            }
            let start = Instant::now();
            let is_reading = || work.phase().is_some_and(|phase| phase.phase == Phase::Reading);
            let may_be_cut = || cut == Cut::Always || cut == Cut::WhileReading && is_reading();
            while start.elapsed() < GRACE || !may_be_cut() {
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

    /// Does the work that is watched, with a bar that shows how far it is, and ends the watch.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) fn run<T>(self, work: impl FnOnce() -> smalti::Result<T>) -> Outcome<T> {
        let bar = Bar::of(&self.work);
        let outcome = work().map_err(Failure::from);
        drop(bar);
        self.end(outcome)
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
