//! The worker threads of a context, and the steps that are shared out among them.
//!
//! Every parallel step goes through here. On a worker it is shared out by rayon among the workers of the same pool; on any other thread
//! it is done right there, so that small work starts no thread, and rayon's process-wide pool is never used.

pub use crate::helper::Step;
use crate::helper::{Helper, look_for};
use crate::processors::Processors;
use crate::{Error, Result};
use rayon::iter::plumbing::{Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer};
use rayon::iter::{IndexedParallelIterator, MaxLen, ParallelIterator};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The threads of a context. They start with the first work that is worth it, and end with the last handle.
pub struct Workers {
    count: usize,
    process_id: u32,
    pool: OnceLock<Option<rayon::ThreadPool>>,
    helper: Helper,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("count", &self.count).finish_non_exhaustive()
    }
}

/// How often somebody who waits for the end of work gives way before falling asleep: for about as long as it takes to be woken.
const WAITING_ROUNDS: usize = 120;

thread_local! {
    // The workers that the work of this thread may call on; of the thread, because it is the call that belongs to a context.
    static STANDING_BY: RefCell<Option<Arc<Workers>>> = const { RefCell::new(None) };
}

impl Workers {
    /// So many threads, none of which runs yet. One thread is the caller's own.
    pub fn new(count: usize) -> Workers {
        Workers::of_process(count, std::process::id())
    }

    /// Those of a process; in any other one they do nothing.
    pub fn of_process(count: usize, process_id: u32) -> Workers {
        Workers { count, process_id, pool: OnceLock::new(), helper: Helper::of_process(process_id) }
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Refuses the work of a forked process: threads do not follow a fork, and locks of others may be held in it for good.
    ///
    /// # Errors
    /// `InvalidArgument` in another process than theirs.
    pub fn check_process(&self) -> Result<()> {
        let (made_in, here) = (self.process_id, std::process::id());
        if made_in == here {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the context was made in process {made_in}, and this is process {here}, forked from it: make a new context here, and \
             open arrays and groups with it"
        )))
    }

    /// Whether they run, or could be started now.
    pub fn can_start(&self) -> bool {
        self.count < 2 || self.pool().is_some()
    }

    /// Does work on a worker, while this thread waits; the steps in it are shared out. Where there is one thread, or the system starts
    /// none, it is done on this one; so it is on a worker of any pool, which would take up other work of its pool while it waits.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let Some(pool) = (!is_worker()).then(|| self.pool()).flatten() else { return work() };
        let (mut result, is_done) = (None, AtomicBool::new(false));
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                let _wakeful = Wakeful::new(self.count - 1);
                result = Some(work());
                is_done.store(true, Ordering::Release);
            });
            // Small work is done before this thread would be asleep, and awake again.
            look_for(WAITING_ROUNDS, || is_done.load(Ordering::Acquire));
        });
        // A panic of the work goes on where the scope ends.
        result.unwrap_or_else(|| unreachable!("the scope ends behind the work"))
    }

    /// Does work on this thread, with the workers at hand for what in it is [long](scope).
    pub fn stand_by<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Arc<Workers>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                let before = self.0.take();
                STANDING_BY.with(|here| *here.borrow_mut() = before);
            }
        }
        let _restore = Restore(STANDING_BY.with(|here| here.borrow_mut().replace(Arc::clone(self))));
        work()
    }

    /// Whether [`take_short`](Workers::take_short) may do something: not where there is one thread, and not on a worker.
    pub fn may_take_short(&self) -> bool {
        self.count > 1 && !is_worker()
    }

    /// Takes steps of work that is too short to wake workers for, on this thread and on one that stays awake between such calls, and returns when all
    /// are done. `false`, and none is taken, at the first call, while the other thread is busy, and where it [may not](Workers::may_take_short).
    pub fn take_short(&self, count: usize, step: Step) -> bool {
        self.may_take_short() && self.helper.take(count, step)
    }

    fn pool(&self) -> Option<&rayon::ThreadPool> {
        if self.count < 2 || self.process_id != std::process::id() {
            return None;
        }
        let start = || {
            let named = rayon::ThreadPoolBuilder::new().thread_name(|idx| format!("smalti-{idx}"));
            let processors = Processors::for_each_of(self.count);
            named.num_threads(self.count).start_handler(move |idx| processors.settle(idx)).build().ok()
        };
        self.pool.get_or_init(start).as_ref()
    }
}

/// Keeps some of the other workers of this one's pool awake between the steps of a piece of work, as long as it is there.
///
/// A worker that finds nothing to do falls asleep after a few microseconds, and the next step would have to wake it: on an idle
/// processor that takes longer than many a step of a small read.
struct Wakeful(Arc<AtomicBool>);

impl Wakeful {
    /// So many workers at most: work that ends soon has few steps at a time, and long work wakes the others.
    const MOST: usize = 3;
    /// How often a worker looks for work in a row before it may fall asleep: for about 100 microseconds, a few times as long as
    /// it takes to wake it.
    const ROUNDS: usize = 300;

    fn new(count: usize) -> Wakeful {
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..count.min(Wakeful::MOST) {
            let is_over = Arc::clone(&is_over);
            rayon::spawn(move || Wakeful::look_for_work(&is_over));
        }
        Wakeful(is_over)
    }

    fn look_for_work(is_over: &AtomicBool) {
        let mut idle_rounds = 0;
        while idle_rounds < Wakeful::ROUNDS && !is_over.load(Ordering::Relaxed) {
            idle_rounds = match rayon::yield_now() {
                Some(rayon::Yield::Executed) => 0,
                _ => {
                    std::thread::yield_now();
                    idle_rounds + 1
                }
            };
        }
    }
}

impl Drop for Wakeful {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The workers that stand by for this thread; those of a worker are its own pool, and not told.
pub fn standing_by() -> Option<Arc<Workers>> {
    STANDING_BY.with(|here| here.borrow().clone())
}

/// How many threads a step of this thread may be shared out among.
pub fn thread_count() -> usize {
    match is_worker() {
        true => rayon::current_num_threads(),
        false => STANDING_BY.with(|here| here.borrow().as_ref().map_or(1, |workers| workers.count)),
    }
}

/// Does long work on this thread, which may give parts of it to workers; they are done when this returns. `None` where there are
/// no workers.
pub fn scope<'s, T>(work: impl FnOnce(Option<&rayon::Scope<'s>>) -> T) -> T {
    if is_worker() {
        return rayon::in_place_scope(|scope| work(Some(scope)));
    }
    let workers = standing_by();
    match workers.as_ref().and_then(|workers| workers.pool()) {
        Some(pool) => pool.in_place_scope(|scope| work(Some(scope))),
        None => work(None),
    }
}

/// Does two things, at the same time where this thread is a worker.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    match is_worker() {
        true => rayon::join(a, b),
        false => (a(), b()),
    }
}

/// Whether this thread is a worker of some pool.
pub fn is_worker() -> bool {
    rayon::current_thread_index().is_some()
}

/// Steps that are shared out among workers, if the thread that takes them is one, and otherwise taken one after the other.
///
/// It stands behind `zip`, `enumerate` and `chunks`, which would ask rayon's process-wide pool themselves.
pub trait Shareable: IndexedParallelIterator {
    /// These steps. A worker that is idle takes any single one that is left: they are as long as a tile takes, and in groups, which
    /// rayon makes by itself, the last ones of one thread would leave the others without work.
    fn shared(self) -> Shared<MaxLen<Self>> {
        Shared(self.with_max_len(1))
    }

    /// Takes a step for each, [shared](Shareable::shared) out, and gives what they return in the order of the steps. No step begins behind one that
    /// failed.
    ///
    /// rayon's own way, `map` and `collect`, makes a list of vectors with one element each.
    ///
    /// # Errors
    /// One of those that steps return.
    fn steps<T: Send>(self, step: impl Fn(Self::Item) -> Result<T> + Sync) -> Result<Vec<T>> {
        let has_failed = AtomicBool::new(false);
        let step = |item| {
            let done = (!has_failed.load(Ordering::Relaxed)).then(|| step(item))?;
            if done.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
            Some(done)
        };
        let mut done = Vec::new();
        self.shared().map(step).collect_into_vec(&mut done);
        done.into_iter().flatten().collect()
    }
}

impl<I: IndexedParallelIterator> Shareable for I {}

/// Steps that may be taken by workers; see [`Shareable`].
#[derive(Debug)]
pub struct Shared<I>(I);

impl<I: IndexedParallelIterator> ParallelIterator for Shared<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.drive(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Shared<I> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        match is_worker() {
            true => self.0.drive(consumer),
            false => self.0.with_producer(OneAfterTheOther(consumer)),
        }
    }

    fn with_producer<B: ProducerCallback<I::Item>>(self, callback: B) -> B::Output {
        self.0.with_producer(callback)
    }
}

struct OneAfterTheOther<C>(C);

impl<T, C: Consumer<T>> ProducerCallback<T> for OneAfterTheOther<C> {
    type Output = C::Result;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
        producer.fold_with(self.0.into_folder()).complete()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    fn doubled(count: usize) -> Vec<usize> {
        let numbers: Vec<usize> = (0..count).collect();
        let doubled: std::result::Result<Vec<usize>, usize> =
            numbers.par_iter().zip(&numbers).enumerate().shared().map(|(_, (a, b))| Ok(a + b)).collect();
        doubled.unwrap()
    }

    #[test]
    fn steps_give_the_same_on_workers_and_beside_them() {
        let expected: Vec<usize> = (0..1000).map(|number| 2 * number).collect();
        let workers = Arc::new(Workers::new(2));
        assert_eq!(doubled(1000), expected);
        assert_eq!(workers.stand_by(|| doubled(1000)), expected);
        assert!(workers.pool.get().is_none(), "what stands by does not run");
        assert_eq!(workers.run(|| doubled(1000)), expected);
        assert_eq!(workers.run(|| (is_worker(), thread_count())), (true, 2));
        assert_eq!((is_worker(), thread_count()), (false, 1));
    }

    #[test]
    fn results_of_steps_come_in_their_order_and_none_begins_behind_an_error() {
        let doubled = || (0..1000_usize).into_par_iter().steps(|number| Ok(2 * number));
        let expected: Vec<usize> = (0..1000).map(|number| 2 * number).collect();
        let workers = Workers::new(2);
        assert_eq!(doubled().unwrap(), expected);
        assert_eq!(workers.run(doubled).unwrap(), expected);

        let taken = AtomicUsize::new(0);
        let failing = || {
            (0..1000_usize).into_par_iter().steps(|number| {
                taken.fetch_add(1, Ordering::Relaxed);
                if number < 7 { Ok(number) } else { Err(Error::invalid(format!("step {number}"))) }
            })
        };
        assert_eq!(failing().unwrap_err().message(), "step 7");
        assert_eq!(taken.swap(0, Ordering::Relaxed), 8);
        // Each worker may have begun one more.
        assert!(workers.run(failing).is_err());
        assert!(taken.into_inner() < 1000, "steps behind an error are left");
    }

    #[test]
    fn steps_without_workers_are_taken_on_the_thread_that_asks() {
        let here = std::thread::current().id();
        let ids: Vec<_> =
            (0..100_usize).into_par_iter().shared().map(|_| std::thread::current().id()).collect();
        assert!(ids.iter().all(|id| *id == here));
        let first = (0..100_usize)
            .into_par_iter()
            .shared()
            .try_for_each(|step| if step < 7 { Ok(()) } else { Err(step) });
        assert_eq!(first, Err(7), "nothing behind an error is done");
        assert_eq!(Workers::new(1).run(|| std::thread::current().id()), here, "one thread is the caller's");
        scope(|scope| assert!(scope.is_none()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn workers_settle_on_processors_where_there_is_one_for_each_and_others_are_left_alone() {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let allowed = || {
            let allowed = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect::<Vec<_>>()
        };
        let here = allowed();
        for count in [here.len(), here.len() + 1].into_iter().filter(|&count| count > 1) {
            let (workers, all_are_there) = (Workers::new(count), Barrier::new(count));
            let mut seen: Vec<Vec<usize>> = workers.run(|| {
                rayon::broadcast(|_| {
                    all_are_there.wait();
                    allowed()
                })
            });
            seen.sort();
            match count == here.len() {
                true => assert_eq!(seen, here.iter().map(|&number| vec![number]).collect::<Vec<_>>()),
                false => assert!(seen.iter().all(|allowed| *allowed == here)),
            }
            assert_eq!(allowed(), here);
        }
    }

    #[test]
    fn workers_look_for_work_as_long_as_there_may_be_some() {
        let workers = Workers::new(2);
        let flag = workers.run(|| {
            let wakeful = Wakeful::new(1);
            // Whoever looks does what it finds.
            assert_eq!(doubled(1000), (0..1000).map(|number| 2 * number).collect::<Vec<_>>());
            Arc::clone(&wakeful.0)
        });
        assert!(flag.load(Ordering::Relaxed), "work that is done has no workers kept awake for it");
        while Arc::strong_count(&flag) > 1 {
            std::thread::yield_now();
        }
        // While the other worker is held, nobody else does what one finds; and where nothing is left it ends by itself.
        let (is_done, is_over) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        let meeting = Barrier::new(2);
        let seen = workers.run(|| {
            rayon::broadcast(|worker| {
                meeting.wait();
                if worker.index() == 0 {
                    let is_done = Arc::clone(&is_done);
                    rayon::spawn(move || is_done.store(true, Ordering::Relaxed));
                    Wakeful::look_for_work(&is_over);
                }
                let seen = is_done.load(Ordering::Relaxed);
                meeting.wait();
                seen
            })
        });
        assert!(seen[0]);
    }

    #[test]
    fn a_panic_on_a_worker_goes_on_where_the_work_was_asked_for() {
        let workers = Workers::new(2);
        let asked = || workers.run(|| -> u32 { panic!("of the work") });
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(asked)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"of the work"));
        assert_eq!(workers.run(|| (7, is_worker())), (7, true));
    }

    #[test]
    fn another_process_uses_none_of_the_threads() {
        let workers = Workers::of_process(2, 0);
        assert!(!workers.run(is_worker));
    }
}
