//! What the operating system knows of this process.

use rustix::time::{ClockId, clock_gettime};

/// Processor seconds of all threads so far.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Resident memory in MiB.
pub(crate) struct Memory {
    /// The most that there was.
    pub(crate) peak: f64,
    /// What there is.
    pub(crate) now: f64,
    /// The part of it that is pages of mapped files: the program's own code, which the page cache holds anyway.
    pub(crate) mapped: f64,
}

/// The memory of this process.
pub(crate) fn memory() -> Memory {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mib = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    };
    Memory { peak: mib("VmHWM:"), now: mib("VmRSS:"), mapped: mib("RssFile:") }
}

/// Starts the peak anew.
pub(crate) fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
