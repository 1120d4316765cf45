//! A thread that helps others with work of less than a millisecond.
//!
//! Waking a thread takes half as long as such work does. So this one stays awake for a while behind what it did: one small read after
//! the other finds it ready. It is none of rayon's workers, whose sleep is rayon's business, and who keep to a processor each, which may be
//! the one of the thread that wants help.

use crate::processors::{self, ThreadId};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

/// Takes a step of some work, by its number.
pub type Step = Box<dyn Fn(usize) + Send + Sync>;

/// How often somebody gives way to other threads, and looks a few times in between, before falling asleep: some hundred microseconds together on an idle
/// processor.
const ROUNDS: usize = 350;

/// Steps that are taken by whoever comes first.
struct Steps {
    step: Step,
    count: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    /// Who waits until all are done.
    owner: Thread,
}

impl Steps {
    fn new(count: usize, step: Step) -> Arc<Steps> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Steps { step, count, next, done, owner: thread::current() })
    }

    /// Takes those that nobody has taken.
    fn take(&self) {
        /// Counts a step, also one that panics.
        struct Done<'s>(&'s Steps);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                if self.0.done.fetch_add(1, Ordering::AcqRel) + 1 == self.0.count {
                    self.0.owner.unpark();
                }
            }
        }
        loop {
            let idx = self.next.fetch_add(1, Ordering::Relaxed);
            if idx >= self.count {
                return;
            }
            let _done = Done(self);
            (self.step)(idx);
        }
    }

    fn are_done(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.count
    }

    /// Waits for those that somebody else took.
    fn wait(&self) {
        look_for(ROUNDS, || self.are_done());
        while !self.are_done() {
            thread::park();
        }
    }
}

/// The thread. It starts when it is wanted for the second time: a program of one small read needs none.
pub(crate) struct Helper {
    process_id: u32,
    inbox: Arc<Inbox>,
    was_wanted: AtomicBool,
    is_there: OnceLock<bool>,
}

/// What is wanted of the thread.
#[derive(Default)]
struct Inbox {
    state: Mutex<State>,
    /// Whether something changed, for one who looks often.
    is_changed: AtomicBool,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    steps: Option<Arc<Steps>>,
    /// The thread, while it sleeps.
    asleep: Option<ThreadId>,
    is_over: bool,
}

impl Helper {
    /// None yet, and for a process alone: threads do not follow a fork.
    pub(crate) fn of_process(process_id: u32) -> Helper {
        Helper {
            process_id,
            inbox: Arc::default(),
            was_wanted: AtomicBool::new(false),
            is_there: OnceLock::new(),
        }
    }

    /// Takes steps on this thread and on the other one, and returns when all are done; `false` if there is no other thread to help: then none was taken.
    pub(crate) fn take(&self, count: usize, step: Step) -> bool {
        if self.process_id != std::process::id() || !self.was_wanted.swap(true, Ordering::Relaxed) {
            return false;
        }
        let start = || {
            let (inbox, named) =
                (Arc::clone(&self.inbox), thread::Builder::new().name("smalti-helper".to_owned()));
            named.spawn(move || inbox.help()).is_ok()
        };
        if !*self.is_there.get_or_init(start) {
            return false;
        }
        let steps = Steps::new(count, step);
        if !self.inbox.offer(&steps) {
            return false;
        }
        steps.take();
        self.inbox.withdraw(&steps);
        steps.wait();
        true
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // The lock may be held for good in a forked process.
        if self.process_id == std::process::id() {
            let mut state = self.inbox.state();
            state.is_over = true;
            self.inbox.tell(&state);
        }
    }
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who sleeps looked for a change with the lock in hand, so whoever tells of one holds it.
    fn tell(&self, _: &MutexGuard<'_, State>) {
        self.is_changed.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Lets the thread take steps; `false` if it has others in front of them.
    fn offer(&self, steps: &Arc<Steps>) -> bool {
        let mut state = self.state();
        if state.steps.is_some() {
            return false;
        }
        state.steps = Some(Arc::clone(steps));
        if let Some(id) = state.asleep.take() {
            processors::keep_from_here(id);
        }
        self.tell(&state);
        true
    }

    /// Takes an offer back, if the thread has not seen it.
    fn withdraw(&self, steps: &Arc<Steps>) {
        let mut state = self.state();
        if state.steps.as_ref().is_some_and(|offered| Arc::ptr_eq(offered, steps)) {
            state.steps = None;
        }
    }

    /// The thread's work.
    fn help(&self) {
        let id = processors::thread_id();
        loop {
            look_for(ROUNDS, || self.is_changed.load(Ordering::Acquire));
            let mut state = self.state();
            while !self.is_changed.swap(false, Ordering::Relaxed) {
                state.asleep = Some(id);
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.asleep = None;
            if state.is_over {
                return;
            }
            let steps = state.steps.take();
            drop(state);
            steps.iter().for_each(|steps| steps.take());
        }
    }
}

/// Looks for something often, and gives way to other threads so many times in between, before it gives up.
pub(crate) fn look_for(rounds: usize, is_there: impl Fn() -> bool) {
    for _ in 0..rounds {
        for _ in 0..8 {
            if is_there() {
                return;
            }
            for _ in 0..8 {
                std::hint::spin_loop();
            }
        }
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn helper() -> Helper {
        let helper = Helper::of_process(std::process::id());
        assert!(!helper.take(1, Box::new(|_| panic!("no thread is there for what may be the only work"))));
        helper
    }

    #[test]
    fn two_threads_take_the_steps_and_each_of_them_once() {
        let helper = helper();
        for round in 0..20 {
            let taken: Arc<Vec<AtomicUsize>> =
                Arc::new((0..2 + round % 5).map(|_| AtomicUsize::new(0)).collect());
            let (counts, meeting) = (Arc::clone(&taken), Barrier::new(2));
            // The first two steps are both begun before one of them ends.
            let step = move |idx: usize| {
                if idx < 2 {
                    meeting.wait();
                }
                counts[idx].fetch_add(1, Ordering::Relaxed);
            };
            assert!(helper.take(taken.len(), Box::new(step)));
            assert!(taken.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{taken:?}");
        }
    }

    #[test]
    fn a_thread_that_fell_asleep_is_woken() {
        let helper = helper();
        for _ in 0..3 {
            let meeting = Barrier::new(2);
            assert!(helper.take(2, Box::new(move |_| _ = meeting.wait())));
            while helper.inbox.state().asleep.is_none() {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn who_finds_the_thread_at_other_work_is_not_kept_waiting() {
        let helper = helper();
        let (begun, go_on) = (Arc::new(Barrier::new(3)), Arc::new(Barrier::new(3)));
        thread::scope(|scope| {
            let (here, there) = (Arc::clone(&begun), Arc::clone(&go_on));
            // Both threads are in these steps until the test lets them go.
            let step = move |_| {
                here.wait();
                there.wait();
            };
            scope.spawn(|| assert!(helper.take(2, Box::new(step))));
            begun.wait();
            // What waits in front of it is taken by its owner alone, and leaves nothing behind.
            let taken = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&taken);
            assert!(helper.take(3, Box::new(move |_| _ = counted.fetch_add(1, Ordering::Relaxed))));
            assert_eq!((taken.load(Ordering::Relaxed), Arc::strong_count(&taken)), (3, 1));
            // Nothing is taken where something waits.
            let waiting = Steps::new(1, Box::new(|_| ()));
            assert!(helper.inbox.offer(&waiting));
            assert!(!helper.take(1, Box::new(|_| panic!("an offer that waits is not replaced"))));
            helper.inbox.withdraw(&waiting);
            go_on.wait();
        });
    }

    #[test]
    fn the_thread_ends_with_its_owner() {
        let helper = helper();
        assert!(helper.take(1, Box::new(|_| ())));
        let inbox = Arc::clone(&helper.inbox);
        drop(helper);
        while Arc::strong_count(&inbox) > 1 {
            thread::yield_now();
        }
    }

    #[test]
    fn another_process_has_no_thread() {
        let helper = Helper::of_process(0);
        for _ in 0..3 {
            assert!(!helper.take(1, Box::new(|_| panic!("nothing is taken"))));
        }
        assert!(helper.is_there.get().is_none());
    }
}
