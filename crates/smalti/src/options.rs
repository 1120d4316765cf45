//! How arrays and groups are opened.

use crate::IntoTimestamp;
use smalti_array::ArrayPlace;
use smalti_store::{SyncLevel, system_env};
use smalti_types::{EncryptionKey, Env, Error, Result, TimeRange};
use std::sync::Arc;

/// How an array or group is created or opened: time, key, durability, and injected surroundings.
///
/// ```
/// use smalti::{EncryptionKey, Options, SyncLevel};
///
/// let key = EncryptionKey::new(b"0123456789abcdef0123456789abcdef")?;
/// let options = Options::new().at(1_700_000_000_000).key(key).sync(SyncLevel::File).threads(2);
/// # let _ = options;
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Options {
    at: Option<u64>,
    since: Option<u64>,
    created_at: Option<u64>,
    key: Option<EncryptionKey>,
    sync: SyncLevel,
    env: Option<Env>,
    threads: Option<usize>,
    metadata_limit: Option<u64>,
}

impl Options {
    /// The array as it is now, not encrypted, writes durable on return, all cores.
    pub fn new() -> Options {
        Options::default()
    }

    /// The array as it was at a time, inclusive: milliseconds since 1970, or a [`SystemTime`](std::time::SystemTime).
    #[must_use]
    pub fn at(mut self, time: impl IntoTimestamp) -> Options {
        self.at = Some(time.into_timestamp());
        self
    }

    /// Only what was written at or after a time.
    #[must_use]
    pub fn since(mut self, time: impl IntoTimestamp) -> Options {
        self.since = Some(time.into_timestamp());
        self
    }

    /// The time that a new array notes as that of its creation, for cells that are older than it: by default now. Groups note none,
    /// and what is opened keeps what it has.
    ///
    /// ```
    /// use smalti::{Array, Dimension, Options, prelude::*};
    ///
    /// let schema = Schema::sparse().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create_with("mem://created-at-docs", &schema, &Options::new().created_at(1000))?;
    /// assert_eq!(array.schema_timestamp(), Some(1000));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    #[must_use]
    pub fn created_at(mut self, time: impl IntoTimestamp) -> Options {
        self.created_at = Some(time.into_timestamp());
        self
    }

    /// The key of an encrypted array.
    #[must_use]
    pub fn key(mut self, key: EncryptionKey) -> Options {
        self.key = Some(key);
        self
    }

    /// How durable writes are when they return.
    #[must_use]
    pub fn sync(mut self, level: SyncLevel) -> Options {
        self.sync = level;
        self
    }

    /// Another clock and randomness than the operating system's, for tests that replay.
    #[must_use]
    pub fn env(mut self, env: Env) -> Options {
        self.env = Some(env);
        self
    }

    /// The number of threads that reads and writes of the array use; 0 for all cores, which all arrays share.
    #[must_use]
    pub fn threads(mut self, count: usize) -> Options {
        self.threads = Some(count).filter(|&count| count > 0);
        self
    }

    /// The most bytes that any one part of the metadata may take, on disk or in memory: a schema, a list of a fragment's tiles, a
    /// delete condition. 1 GiB if not said: less for arrays of strangers, more for fragments of a hundred million tiles. What
    /// takes more is an `OutOfMemory` error.
    #[must_use]
    pub fn metadata_limit(mut self, byte_len: u64) -> Options {
        self.metadata_limit = Some(byte_len);
        self
    }

    pub(crate) fn sync_level(&self) -> SyncLevel {
        self.sync
    }

    pub(crate) fn creation_time(&self) -> Option<u64> {
        self.created_at
    }

    pub(crate) fn place(&self, uri: &str) -> Result<ArrayPlace> {
        let env = self.env.clone().unwrap_or_else(system_env);
        let place = ArrayPlace::open(uri, self.sync, self.key.clone(), env)?;
        Ok(match self.metadata_limit {
            Some(byte_len) => place.with_metadata_limit(byte_len),
            None => place,
        })
    }

    /// The symbolic link that a URI names, if it names one.
    pub(crate) fn link(&self, uri: &str) -> Result<Option<ArrayPlace>> {
        let env = self.env.clone().unwrap_or_else(system_env);
        ArrayPlace::open_link(uri, self.sync, self.key.clone(), env)
    }

    pub(crate) fn time(&self) -> Result<TimeRange> {
        let time = TimeRange { start: self.since.unwrap_or(0), end: self.at.unwrap_or(u64::MAX) };
        if time.start > time.end {
            return Err(Error::invalid(format!(
                "the times from {} to {} are inverted; the earlier comes first",
                time.start, time.end
            )));
        }
        Ok(time)
    }

    pub(crate) fn pool(&self) -> Result<Pool> {
        let Some(threads) = self.threads else { return Ok(Pool(None)) };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Error::invalid(format!("{threads} threads cannot be started: {error}")))?;
        Ok(Pool(Some(Arc::new(pool))))
    }
}

/// The threads that an array's work runs on.
#[derive(Debug, Clone)]
pub(crate) struct Pool(Option<Arc<rayon::ThreadPool>>);

impl Pool {
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
