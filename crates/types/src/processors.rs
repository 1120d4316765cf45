//! Which processor a worker, or a helper, runs on.

/// The processors that workers settle on, one each. None where there are not exactly as many of both: then the system decides.
///
/// In virtual machines a processor that sleeps passes for one that is taken away, so that Linux puts a thread that is woken up behind
/// the one that woke it, and leaves both on one processor for longer than what they are to share takes: reads of some milliseconds took twice as
/// long as on two. Threads that are not workers are left alone.
#[derive(Debug, Default)]
pub(crate) struct Processors(Vec<usize>);

#[cfg(target_os = "linux")]
impl Processors {
    /// One processor for each of so many workers, of those that this thread may run on.
    pub(crate) fn for_each_of(count: usize) -> Self {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return Processors::default() };
        let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
        if numbers.len() == count { Processors(numbers) } else { Processors::default() }
    }

    /// Keeps this thread, a worker, on its processor.
    pub(crate) fn settle(&self, worker_idx: usize) {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let Some(&number) = self.0.get(worker_idx) else { return };
        let mut own = CpuSet::new();
        own.set(number);
        // Where that is refused the system decides.
        let _ = sched_setaffinity(None, &own);
    }
}

/// The name that the system has for a thread, where it matters.
#[cfg(target_os = "linux")]
pub(crate) type ThreadId = rustix::thread::Pid;
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadId;

/// The name of this thread.
#[cfg(target_os = "linux")]
pub(crate) fn thread_id() -> ThreadId {
    rustix::thread::gettid()
}

/// Keeps another thread, which is asleep, from the processor that this one runs on, if this one may run on others: it would be put there
/// when this one wakes it.
#[cfg(target_os = "linux")]
pub(crate) fn keep_from_here(id: ThreadId) {
    use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};
    let Ok(mut allowed) = sched_getaffinity(None) else { return };
    allowed.unset(sched_getcpu());
    if allowed.count() > 0 {
        // Where that is refused the system decides.
        let _ = sched_setaffinity(Some(id), &allowed);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_id() -> ThreadId {
    ThreadId
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn keep_from_here(_: ThreadId) {}

#[cfg(not(target_os = "linux"))]
impl Processors {
    pub(crate) fn for_each_of(_: usize) -> Self {
        Processors::default()
    }

    pub(crate) fn settle(&self, _: usize) {}
}
