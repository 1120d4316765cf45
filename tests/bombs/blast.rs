//! Work and memory of what a bomb is used for.
//!
//! Work is counted by the allocator, so that it is the same on every machine: whatever reads, decodes or builds something asks it.
//! `cargo xtask timed` measures the time too.

use smalti::{Error, ErrorKind, Result};
use smalti_tests::counting::{asked, forget_peak, live_byte_len, peak_byte_len};
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest until an error, where time is measured.
pub const SOON: Duration = Duration::from_millis(50);

/// Set where time is measured.
const TIMED: &str = "SMALTI_TIMED";

/// The most bytes that the allocator may be asked for until an error, all calls together.
pub const MOST_ASKED_BYTES: usize = 32 << 20;

/// The most calls of the allocator until an error.
pub const MOST_CALLS: usize = 200_000;

/// The most bytes that may be live at once: the budget of the reads here, 16 MiB, and 64 MiB.
pub const MOST_BYTES: usize = 80 << 20;

/// The budget of reads.
pub const BUDGET: usize = 16 << 20;

/// How often something is tried that took too long: other processes may have had the processor.
const TRIALS: usize = 4;

/// Keeps others from allocating meanwhile.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Threads are started once, and are no part of any bomb.
    rayon::broadcast(|_| ());
    turn
}

/// Runs work with its memory measured. An error must come after little work ([`MOST_ASKED_BYTES`], [`MOST_CALLS`]), and [`SOON`] where time is measured.
pub fn light<T>(what: &str, mut work: impl FnMut() -> Result<T>) -> Result<T> {
    let is_timed = std::env::var_os(TIMED).is_some();
    let mut fastest = Duration::MAX;
    for _ in 0..if is_timed { TRIALS } else { 1 } {
        let (before, (bytes_before, calls_before)) = (live_byte_len(), asked());
        forget_peak();
        let start = Instant::now();
        let outcome = work();
        fastest = fastest.min(start.elapsed());
        let held = peak_byte_len().saturating_sub(before);
        assert!(held <= MOST_BYTES, "{what}: {} MiB were held", held >> 20);
        let (bytes, calls) = asked();
        let (bytes, calls) = (bytes - bytes_before, calls - calls_before);
        if outcome.is_err() {
            assert!(bytes <= MOST_ASKED_BYTES, "{what}: {} MiB were asked for until the error", bytes >> 20);
            assert!(calls <= MOST_CALLS, "{what}: the allocator was called {calls} times until the error");
        }
        if outcome.is_ok() || !is_timed || fastest <= SOON {
            return outcome;
        }
    }
    panic!("{what}: it took {fastest:?} until the error");
}

/// The error of a bomb, which says that what is there is damaged, cannot be had, or would take more than the budget.
pub fn refused<T: Debug>(what: &str, work: impl FnMut() -> Result<T>) -> Error {
    let error = match light(what, work) {
        Ok(value) => panic!("{what} is taken for {value:?}"),
        Err(error) => error,
    };
    let kind = error.kind();
    use ErrorKind::{Corrupt, InvalidArgument, OutOfMemory, Unsupported};
    assert!(
        matches!(kind, Corrupt | Unsupported | InvalidArgument | OutOfMemory),
        "{what}: {kind:?}: {error}"
    );
    assert!(!error.message().is_empty());
    error
}

/// The answer to something unusual, but legal.
pub fn answered<T>(what: &str, work: impl FnMut() -> Result<T>) -> T {
    light(what, work).unwrap_or_else(|error| panic!("{what}: {error}"))
}
