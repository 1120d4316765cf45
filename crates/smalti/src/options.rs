//! How arrays and groups are opened.

use crate::{Context, IntoTimestamp};
use smalti_array::{ArrayPlace, Inspector};
use smalti_store::SyncLevel;
use smalti_types::{EncryptionKey, Error, Result, TimeRange};

/// How an array or group is created or opened: time, key, durability, and injected surroundings.
///
/// ```
/// use smalti::{EncryptionKey, Options, SyncLevel};
///
/// let key = EncryptionKey::new(b"0123456789abcdef0123456789abcdef")?;
/// let options = Options::new().at(1_700_000_000_000).key(key).sync(SyncLevel::File);
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
    context: Context,
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

    /// The context that the array or group works in: its threads, stores and clock. The default one if not said.
    #[must_use]
    pub fn context(mut self, context: &Context) -> Options {
        self.context = context.clone();
        self
    }

    /// The most bytes that any one part of the metadata may take that is held, on disk or in memory: a schema, a list of files, a delete
    /// condition. 1 GiB if not said: less for arrays of strangers. What takes more is an `OutOfMemory` error. Lists with an entry for each tile of a
    /// fragment of millions are not held; checks and repairs that look at all of them may need more.
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
        self.context.check_process()?;
        let env = self.context.env_of_writes().clone();
        let place = ArrayPlace::open(self.context.stores(), uri, self.sync, self.key.clone(), env)?;
        let place = place.with_resources(self.context.resources());
        Ok(match self.metadata_limit {
            Some(byte_len) => place.with_metadata_limit(byte_len),
            None => place,
        })
    }

    /// The symbolic link that a URI names, if it names one.
    pub(crate) fn link(&self, uri: &str) -> Result<Option<ArrayPlace>> {
        self.context.check_process()?;
        let env = self.context.env_of_writes().clone();
        let link = ArrayPlace::open_link(self.context.stores(), uri, self.sync, self.key.clone(), env)?;
        Ok(link.map(|place| place.with_resources(self.context.resources())))
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

    pub(crate) fn surroundings(&self) -> &Context {
        &self.context
    }

    /// Finds a file of an array or group and what it is, to be looked at field by field.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` for files that are no part of an array.
    ///
    /// ```
    /// use smalti::{Array, Dimension, Options, prelude::*};
    ///
    /// let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://inspect-docs", &schema)?;
    /// let written = array.write().column("a", &[1, 2]).commit()?;
    /// let file = format!("mem://inspect-docs/__fragments/{}/a0.tdb", written.name());
    /// assert_eq!(Options::new().inspect(&file)?.kind(), "data file");
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn inspect(&self, uri: &str) -> Result<Inspector> {
        Inspector::open(uri, self.place(uri)?)
    }
}
