//! Work of the engine, called from Python: without the interpreter's lock, interruptible, and watched.

use crate::errors::ForPython;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use smalti::{PhaseProgress, Progress};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often signals are looked for, and progress is told, while work goes on.
const TURN: Duration = Duration::from_millis(20);

/// Does work while other threads of Python run.
///
/// Python handles signals in its main thread only: called from there, the work is done by another thread while this one looks for
/// signals, so that Ctrl-C ends it through `progress` within a moment. `hook` is called as work goes on, with a list of the phases; an
/// exception of it ends the work too.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    progress: &Arc<Progress>,
    hook: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> smalti::Result<T> + Send,
) -> PyResult<T> {
    if hook.is_none() && !is_main_thread(py)? {
        return py.detach(work).for_python(py);
    }
    let mut raised = None;
    let done = std::thread::scope(|scope| {
        let (sender, mut receiver) = channel::<()>();
        let worker = scope.spawn(move || {
            let _ends = sender;
            work()
        });
        let mut turn = || -> PyResult<bool> {
            // Nothing is ever sent: the channel closes when the work ends, by a panic too.
            let receiver = &mut receiver;
            let is_done =
                py.detach(move || receiver.recv_timeout(TURN) == Err(RecvTimeoutError::Disconnected));
            if !is_done {
                py.check_signals()?;
                if let Some(hook) = hook {
                    hook.call1((told(progress),))?;
                }
            }
            Ok(is_done)
        };
        loop {
            match turn() {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => {
                    progress.cancel();
                    raised.get_or_insert(error);
                }
            }
        }
        py.detach(|| worker.join())
    });
    let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if let Some(hook) = hook
        && raised.is_none()
    {
        hook.call1((told(progress),))?;
    }
    match raised {
        // What was asked to stop is not waited for any further, whatever came of it.
        Some(error) => Err(error),
        None => done.for_python(py),
    }
}

/// Does work that takes no time worth interrupting, as work in memory does.
pub(crate) fn briefly<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> smalti::Result<T> + Send,
) -> PyResult<T> {
    py.detach(work).for_python(py)
}

/// What a hook is given: for each phase its name, unit, what is done of it, and of how much where that is known.
type Told = Vec<(&'static str, &'static str, u64, Option<u64>)>;

fn told(progress: &Progress) -> Told {
    let one = |phase: &PhaseProgress| (phase.phase.name(), phase.unit.name(), phase.done, phase.total);
    progress.phases().iter().map(one).collect()
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static MAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let current = CURRENT.import(py, "threading", "get_ident")?.call0()?;
    let main = MAIN.import(py, "threading", "main_thread")?.call0()?.getattr("ident")?;
    current.eq(main)
}

/// What the tools refuse is an argument that does not fit.
pub(crate) fn tool_error(failure: smalti_tools::Failure) -> smalti::Error {
    match failure {
        smalti_tools::Failure::Error(error) => error,
        other => smalti::Error::invalid(other.to_string()),
    }
}
