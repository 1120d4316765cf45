//! The reads of a store, counted, and what was asked for before they need it.

use crate::progress::Progress;
use smalti_store::{AheadStore, ReadInto, Store};
use smalti_types::Result;
use std::sync::Arc;

/// Reads out of the files of one snapshot.
#[derive(Clone)]
pub(crate) struct Reads {
    pub(crate) store: Arc<dyn Store>,
    /// On a distant store: what was asked for before it is needed.
    pub(crate) ahead: Option<Arc<AheadStore>>,
    progress: Arc<Progress>,
}

impl Reads {
    /// Reads of a store, counted for a read.
    pub(crate) fn new(store: Arc<dyn Store>, progress: &Arc<Progress>) -> Self {
        let ahead = store.is_distant().then(|| Arc::new(AheadStore::new(Arc::clone(&store))));
        Reads { store, ahead, progress: Arc::clone(progress) }
    }

    /// Bytes of files, out of what was asked for or out of the store.
    ///
    /// # Errors
    /// What the store reports; `Cancelled`.
    pub(crate) fn read(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        self.progress.check()?;
        let Some(ahead) = &self.ahead else {
            self.count(reads);
            return self.store.read_into(reads);
        };
        let missing = ahead.fill(reads).into_iter();
        let mut missing: Vec<ReadInto<'_>> = missing
            .map(|read| ReadInto { path: read.path, offset: read.offset, dest: &mut *read.dest })
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.count(&missing);
        self.store.read_into(&mut missing)
    }

    fn count(&self, reads: &[ReadInto<'_>]) {
        let byte_len = reads.iter().map(|read| read.dest.len() as u64).sum();
        self.progress.count_requests(reads.len() as u64, byte_len);
    }
}
