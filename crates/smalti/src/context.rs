//! What a program has one of: threads, stores, clock and randomness.

use smalti_array::Resources;
use smalti_store::{Stores, system_env};
use smalti_types::{Env, Error, Result};
use std::sync::{Arc, LazyLock, OnceLock};

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
    threads: Option<Arc<Threads>>,
    resources: Arc<Resources>,
}

/// Threads that start when they are first needed.
#[derive(Debug)]
struct Threads {
    count: usize,
    pool: OnceLock<Option<rayon::ThreadPool>>,
}

impl Default for Context {
    /// The context of all who have none of their own: as many threads as there are cores, which start when they are first needed.
    fn default() -> Context {
        static SHARED: LazyLock<Context> = LazyLock::new(Context::new);
        SHARED.clone()
    }
}

impl Context {
    /// A context with stores of its own, the system's clock and randomness, and the threads of the default one.
    #[must_use]
    pub fn new() -> Context {
        Context { env: system_env(), stores: Stores::new(), threads: None, resources: Arc::default() }
    }

    /// The same context with so many threads of its own, which start when they are first needed; 0 for those of the default one.
    /// Where the system refuses to start them, those of the default one do the work.
    #[must_use]
    pub fn threads(self, count: usize) -> Context {
        let threads = (count > 0).then(|| Arc::new(Threads { count, pool: OnceLock::new() }));
        Context { threads, ..self }
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
    /// Batches and columns that were handed out are not counted, nor is what is known of open arrays.
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

    pub(crate) fn resources(&self) -> &Arc<Resources> {
        &self.resources
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

    /// Does work on the threads of the context; what it does with rayon is shared out among them.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.threads.as_ref().and_then(|threads| threads.pool()) {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Starts the threads now, to learn whether that is possible.
    ///
    /// # Errors
    /// `InvalidArgument` when the system does not start so many.
    pub fn start_threads(&self) -> Result<()> {
        match &self.threads {
            Some(threads) if threads.pool().is_none() => {
                Err(Error::invalid(format!("{} threads cannot be started; ask for fewer", threads.count)))
            }
            _ => Ok(()),
        }
    }
}

impl Threads {
    fn pool(&self) -> Option<&rayon::ThreadPool> {
        let named = rayon::ThreadPoolBuilder::new().thread_name(|idx| format!("smalti-{idx}"));
        let start = || named.num_threads(self.count).build().ok();
        self.pool.get_or_init(start).as_ref()
    }
}
