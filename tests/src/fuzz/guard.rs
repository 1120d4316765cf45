//! One case at a time: panics are caught, memory and time are bounded.

use super::Target;
use crate::counting;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest that a case of a campaign may take.
pub const MAX_CASE_TIME: Duration = Duration::from_secs(10);

/// After this time a case is taken for one that never ends, however busy the machine is.
pub const NEVER_ENDS: Duration = Duration::from_secs(600);

/// Bytes that may be live in the process before a case is ended from outside; `SMALTI_FUZZ_CEILING_MIB` sets it lower,
/// so that a debugger finds the thread that asks.
const CEILING_BYTE_LEN: usize = 2 << 30;

/// The most bytes that a case may have live at once, for an input of a length: 64 MiB and 64 times the input.
pub fn memory_bound(input_byte_len: usize) -> usize {
    (64 << 20) + 64 * input_byte_len
}

/// What is wrong with a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It panicked, with this message and place.
    Panic(String),
    /// It had this many bytes live at once.
    Memory(usize),
    /// It took this long.
    Time(Duration),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Panic(message) => write!(f, "panic: {message}"),
            Fault::Memory(byte_len) => write!(f, "{} MiB were live", byte_len >> 20),
            Fault::Time(time) => write!(f, "it took {:.1} s", time.as_secs_f64()),
        }
    }
}

#[derive(Default)]
struct Running {
    target: &'static str,
    since: Option<Instant>,
    input: Vec<u8>,
}

/// Runs cases. The process must have [`counting::Counting`] for its allocator and one guard at most.
pub struct Guard {
    max_case_time: Duration,
    running: Arc<Mutex<Running>>,
    panicked: Arc<Mutex<Option<String>>>,
}

impl Guard {
    /// Silences panics, remembering them, and starts a watch on cases that never end. `stuck` hears of such a case, by
    /// target and input, on a thread of the watch, and ends the process.
    pub fn new(max_case_time: Duration, stuck: impl Fn(&str, &[u8], Fault) + Send + 'static) -> Guard {
        let panicked = Arc::new(Mutex::new(None));
        let heard = Arc::clone(&panicked);
        std::panic::set_hook(Box::new(move |info| {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.to_string());
        }));
        let running = Arc::new(Mutex::new(Running::default()));
        let watched = Arc::clone(&running);
        let ceiling =
            std::env::var("SMALTI_FUZZ_CEILING_MIB").ok().and_then(|text| text.parse::<usize>().ok());
        counting::set_ceiling(ceiling.map_or(CEILING_BYTE_LEN, |mib| mib << 20));
        std::thread::spawn(move || watch(&watched, max_case_time, stuck));
        Guard { max_case_time, running, panicked }
    }

    /// Runs one case.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn run(&self, target: Target, input: &[u8]) -> Result<(), Fault> {
        {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.target = target.0;
            running.input.clear();
            running.input.extend_from_slice(input);
            running.since = Some(Instant::now());
        }
        let live_before = counting::live_byte_len();
        counting::forget_peak();
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.1)(input)));
        let time = start.elapsed();
        let used = counting::peak_byte_len().saturating_sub(live_before);
        self.running.lock().unwrap_or_else(PoisonError::into_inner).since = None;
        if outcome.is_err() {
            let message = self.panicked.lock().unwrap_or_else(PoisonError::into_inner).take();
            return Err(Fault::Panic(message.unwrap_or_default()));
        }
        match () {
            () if used > memory_bound(input.len()) => Err(Fault::Memory(used)),
            () if time > self.max_case_time => Err(Fault::Time(time)),
            () => Ok(()),
        }
    }
}

fn watch(running: &Mutex<Running>, max_case_time: Duration, stuck: impl Fn(&str, &[u8], Fault)) {
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(since) = running.since else { continue };
        if counting::is_blocked() {
            stuck(running.target, &running.input, Fault::Memory(counting::peak_byte_len()));
        } else if since.elapsed() > 2 * max_case_time {
            stuck(running.target, &running.input, Fault::Time(since.elapsed()));
        }
    }
}
