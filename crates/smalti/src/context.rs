//! What a program has one of: threads, stores, clock and randomness.

use crate::storage;
use smalti_array::Resources;
use smalti_object::ObjectStores;
use smalti_store::{Stores, system_env};
use smalti_types::parallel::Workers;
use smalti_types::{Env, Error, Result};
use std::num::NonZero;
use std::sync::{Arc, OnceLock};

/// What the arrays and groups of a program share: the threads that work for them, the stores that their URIs lead to, the clock and
/// the randomness of writes. Clones are the same context.
///
/// Programs that do not care use the [default one](Context::default) without knowing. Others make their own, and give it with the
/// [options](crate::Options::context) of what they open:
///
/// ```
/// use smalti::{Array, Context, Dimension, Options, prelude::*};
///
/// let context = Context::new().threads(2);
/// let options = Options::new().context(&context);
/// let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
/// let array = Array::create_with("mem://context-docs", &schema, &options)?;
/// array.write().column("a", &[1, 2]).commit()?;
/// // Stores in memory belong to a context.
/// assert!(Array::open("mem://context-docs").is_err());
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    env: Env,
    stores: Stores,
    workers: Arc<Workers>,
    resources: Arc<Resources>,
}

/// A context and the process that it was made in. What a forked process needs comes behind it.
struct OfProcess {
    context: Context,
    of_child: OnceLock<Box<OfProcess>>,
}

impl Default for Context {
    /// The context of all who have none of their own: as many threads as there are cores, which start when they are first needed. A forked
    /// process has another one.
    fn default() -> Context {
        // Of the process, as its name says; nothing else is.
        static FIRST: OnceLock<Box<OfProcess>> = OnceLock::new();
        let mut place = &FIRST;
        loop {
            let of_process = place
                .get_or_init(|| Box::new(OfProcess { context: Context::new(), of_child: OnceLock::new() }));
            if of_process.context.check_process().is_ok() {
                return of_process.context.clone();
            }
            place = &of_process.of_child;
        }
    }
}

impl Context {
    /// A context with stores and threads of its own, as many as there are cores, and the system's clock and randomness.
    #[must_use]
    pub fn new() -> Context {
        let workers = Arc::new(Workers::new(core_count()));
        let stores = Stores::new().with_remote(Arc::new(ObjectStores::from_env()));
        Context { env: system_env(), stores, workers, resources: Arc::default() }
    }

    /// The same context with object stores that are set up so, whatever the environment says; see [`storage`](crate::storage).
    #[must_use]
    pub fn storage(self, settings: storage::Settings) -> Context {
        let stores = self.stores.with_remote(Arc::new(ObjectStores::new(settings)));
        Context { stores, ..self }
    }

    /// The same context with so many threads of its own; 0 for as many as there are cores. They start with the first work that is
    /// large enough to be shared out, while the thread that asks waits, and end with the last handle on the context. Opening arrays of
    /// few fragments and reads of little are done on the thread that asks, and so is everything in a context of one thread. One thread more
    /// helps where such a read meets several filtered chunks of a tile, from the second such read on.
    /// Who calls from a worker of a rayon pool has the work done in that pool.
    #[must_use]
    pub fn threads(self, count: usize) -> Context {
        let count = if count == 0 { core_count() } else { count };
        Context { workers: Arc::new(Workers::new(count)), ..self }
    }

    /// The same context with another clock and randomness than the operating system's, for tests that replay.
    #[must_use]
    pub fn env(self, env: Env) -> Context {
        Context { env, ..self }
    }

    /// The same context with so many bytes of memory for all of its reads and writes, and for what it keeps, decoded tiles above all: an eighth of them, 64 MiB
    /// at most. Reads that do not say what [they may take](crate::ReadBuilder::memory) get half of what is left, and 512 MiB at most; work
    /// that finds too little left is refused with an error of kind `OutOfMemory`. Without a limit, 64 MiB are kept.
    ///
    /// Batches and columns that were handed out are not counted, nor is what is known of open arrays. What is let go of waits for the
    /// next results, a sixteenth of the memory at most, and 128 MiB without a limit.
    #[must_use]
    pub fn memory(self, byte_len: u64) -> Context {
        Context { resources: Arc::new(Resources::of(byte_len)), ..self }
    }

    /// The same context, which keeps no decoded tiles for later reads.
    #[must_use]
    pub fn without_cache(self) -> Context {
        Context { resources: Arc::new(self.resources.uncached()), ..self }
    }

    /// The bytes of decoded tiles that it keeps for later reads, and of metadata of distant stores.
    pub fn kept_byte_len(&self) -> u64 {
        self.resources.tiles().byte_len() + self.resources.metadata().byte_len()
    }

    /// The bytes that reads and writes under way have taken of its memory.
    pub fn taken_byte_len(&self) -> u64 {
        self.resources.taken_byte_len()
    }

    /// Lets go of the tiles that it keeps, and of the metadata of distant stores.
    pub fn forget_kept(&self) {
        self.resources.tiles().clear();
        self.resources.metadata().clear();
    }

    /// The bytes of memory that results gave back and that waits for the next.
    pub fn spare_byte_len(&self) -> u64 {
        self.resources.spares().byte_len()
    }

    /// Gives the memory that waits for results back to the system.
    pub fn trim(&self) {
        self.resources.spares().clear();
        self.resources.workspaces().clear();
    }

    pub(crate) fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    /// Files on any path of its stores: what programs keep beside their arrays.
    pub fn files(&self) -> storage::Files {
        storage::Files::new(&self.stores)
    }

    /// Drops the memory store of a name: `mem://name` is empty for whoever opens it next. Returns whether there was one.
    pub fn forget_memory_store(&self, name: &str) -> bool {
        self.stores.forget_memory(name)
    }

    pub(crate) fn env_of_writes(&self) -> &Env {
        &self.env
    }

    pub(crate) fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Does work on the threads of the context, which start if they have not; what it does with rayon is shared out among them. In a
    /// context of one thread, and in a forked process, which has none of the threads, it is done on this thread.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.workers.run(work)
    }

    /// Does work on this thread, and lets threads of the context help where there is much to do.
    pub(crate) fn stand_by<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_process()?;
        self.workers.stand_by(work)
    }

    /// Starts the threads now, to learn whether that is possible.
    ///
    /// # Errors
    /// `InvalidArgument` when the system does not start so many.
    pub fn start_threads(&self) -> Result<()> {
        self.check_process()?;
        match self.workers.can_start() {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "{} threads cannot be started; ask for fewer",
                self.workers.count()
            ))),
        }
    }

    /// Refuses the work of a forked process: threads do not follow a fork, and locks of others may be held in it for good.
    pub(crate) fn check_process(&self) -> Result<()> {
        self.workers.check_process()
    }
}

fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Array, Attribute, Dimension, ErrorKind, Options, Schema};

    #[test]
    fn a_context_of_another_process_is_refused_and_says_what_to_do() -> Result<()> {
        let context = Context::new();
        let forked = Context { workers: Arc::new(Workers::of_process(2, 0)), ..context.clone() };
        let schema =
            Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a"));
        Array::create_with("mem://forked", &schema.build()?, &Options::new().context(&context))?;
        let refused = Array::open_with("mem://forked", &Options::new().context(&forked)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert!(refused.to_string().contains("make a new context"), "{refused}");
        assert_eq!(forked.run(|| 1), 1, "nothing waits for threads that are not there");
        assert!(Context::default().check_process().is_ok());
        Ok(())
    }
}
