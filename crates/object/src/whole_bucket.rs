//! What a bucket is asked that the crate has no words for: which uploads in parts were begun and not finished, and to be there or not.

use async_trait::async_trait;
use object_store::path::Path;
use std::fmt;

/// An upload that is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) begun_ms: Option<u64>,
}

/// A bucket as a whole: the uploads in it that were not finished, and making and removing it.
#[async_trait]
pub(crate) trait WholeBucket: fmt::Debug + Send + Sync + 'static {
    /// Uploads of keys that begin so.
    async fn unfinished(&self, prefix: &str) -> object_store::Result<Vec<Unfinished>>;

    /// Gives an upload up; one that is not there is fine.
    async fn abort(&self, key: &Path, id: &str) -> object_store::Result<()>;

    /// Makes the bucket.
    async fn create_bucket(&self) -> object_store::Result<()>;

    /// Removes the bucket, which has to be empty.
    async fn remove_bucket(&self) -> object_store::Result<()>;
}
