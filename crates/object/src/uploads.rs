//! Uploads in parts that were begun and not finished.

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

/// What knows the uploads of a bucket.
#[async_trait]
pub(crate) trait Uploads: fmt::Debug + Send + Sync + 'static {
    /// Uploads of keys that begin so.
    async fn unfinished(&self, prefix: &str) -> object_store::Result<Vec<Unfinished>>;

    /// Gives an upload up; one that is not there is fine.
    async fn abort(&self, key: &Path, id: &str) -> object_store::Result<()>;
}
