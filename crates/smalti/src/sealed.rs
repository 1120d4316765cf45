//! Fragments that are written, but not visible yet.

use crate::{Array, WrittenFragment};
use smalti_array::{Fragment, ListedFragment, NewFragment};
use smalti_query::{Aggregate, AggregateRequest, AggregateValue, WriteRequest};
use smalti_types::{Error, Result};
use std::sync::Arc;

/// A fragment that is durable and waits for its commit; made by [`WriteBuilder::seal`](crate::WriteBuilder::seal). Dropped, it is
/// removed, and the array is as it was; after a crash a folder is left that no reader sees.
///
/// Several of them become visible at one moment, so that cells which do not fit into memory are written as one change:
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
///
/// let schema = Schema::sparse()
///     .dimension(Dimension::new("x", 0..=999_u64).tile(100_u64))
///     .attribute(Attribute::of::<f64>("a"))
///     .build()?;
/// let array = Array::create("mem://sealed-docs", &schema)?;
/// let mut chunks = Vec::new();
/// for start in [0_u64, 500] {
///     let x: Vec<u64> = (start..start + 500).collect();
///     chunks.push(array.write().column("x", &x).column("a", &[0.5; 500]).at(1000).seal()?);
/// }
/// assert_eq!(array.count_sealed(&chunks, None)?, 1000); // no coordinates twice
/// assert!(array.fragments()?.is_empty());
/// array.commit_together(chunks)?;
/// assert_eq!(array.fragments()?.len(), 2);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a fragment that is not committed is removed"]
pub struct SealedFragment {
    /// `None` once it is committed, or nobody can tell whether it is.
    new: Option<NewFragment>,
    name: String,
    timestamp: u64,
}

impl SealedFragment {
    pub(crate) fn new(new: NewFragment) -> SealedFragment {
        let (name, timestamp) = (new.name().to_string(), new.name().range().end);
        SealedFragment { new: Some(new), name, timestamp }
    }

    /// The name of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time of the write, in milliseconds since 1970.
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Makes it visible.
    ///
    /// # Errors
    /// What the store reports; the fragment stays as it is then, since the commit may have come to be.
    pub fn commit(mut self, array: &Array) -> Result<WrittenFragment> {
        let new = self.new.take().ok_or_else(|| Error::invalid("the fragment is committed already"))?;
        new.commit()?;
        array.expire();
        Ok(WrittenFragment::new(self.name.clone()))
    }
}

impl Drop for SealedFragment {
    fn drop(&mut self) {
        if let Some(new) = &self.new {
            // What cannot be removed is an orphan, which no reader sees and `fsck` names.
            let _ = new.discard();
        }
    }
}

impl Array {
    /// A write in the words of the engine that waits for its commit; see [`SealedFragment`].
    ///
    /// # Errors
    /// As [`WriteBuilder::seal`](crate::WriteBuilder::seal).
    pub fn seal_raw(&self, request: &WriteRequest<'_>) -> Result<SealedFragment> {
        let snapshot = self.snapshot_to_write()?;
        self.context().run(|| smalti_query::seal(&snapshot, request)).map(SealedFragment::new)
    }

    /// Whether several fragments can become visible at one moment: format versions before 12 have no commits of several.
    pub fn commits_together(&self) -> bool {
        self.schema().write_version().has(smalti_format::Rule::CommitsFolder)
    }

    /// The number of cells that fragments show together: fewer than were written where cells of several of them have the same
    /// coordinates, and the array does not allow that. `memory_byte_len` is what the count may take, 512 MiB by default.
    ///
    /// # Errors
    /// `Corrupt` when what was written does not read back; what the store reports.
    pub fn count_sealed(&self, fragments: &[SealedFragment], memory_byte_len: Option<usize>) -> Result<u64> {
        let snapshot = self.snapshot_to_write()?;
        let open = |sealed: &SealedFragment| -> Result<Option<Arc<Fragment>>> {
            let Some(new) = &sealed.new else { return Ok(None) };
            let listed = ListedFragment::named(new.name().clone())?;
            let schema = Arc::clone(new.schema());
            Fragment::open_alone(snapshot.place(), &listed, |_| Ok(Arc::clone(&schema)))
                .map(|one| Some(Arc::new(one)))
        };
        self.context().run(|| {
            let opened = fragments.iter().map(open).collect::<Result<Vec<_>>>()?;
            let part =
                snapshot.of_fragments(opened.into_iter().flatten().collect(), snapshot.schema_name())?;
            let aggregates = vec![Aggregate::count()];
            let request = AggregateRequest { aggregates, memory_byte_len, ..AggregateRequest::default() };
            match smalti_query::aggregate(&part, &request)?.first() {
                Some(AggregateValue::Number(count)) => {
                    let count = count.as_i128().and_then(|count| u64::try_from(count).ok());
                    count.ok_or_else(|| Error::corrupt("a count of cells beyond 64 bits"))
                }
                _ => Ok(0),
            }
        })
    }

    /// Makes fragments of this array visible at one moment, by one commit.
    ///
    /// # Errors
    /// `InvalidArgument` for a fragment of another array; `Unsupported` for several fragments in an array of a format version
    /// before 12. What the store reports; the fragments stay as they are then, since the commit may have come to be.
    pub fn commit_together(&self, fragments: Vec<SealedFragment>) -> Result<Vec<WrittenFragment>> {
        let uri = self.uri();
        let is_own = |sealed: &SealedFragment| sealed.new.as_ref().is_none_or(|new| new.place().uri() == uri);
        if let Some(other) = fragments.iter().find(|sealed| !is_own(sealed)) {
            return Err(Error::invalid(format!("the fragment {} was written to another array", other.name))
                .at_uri(uri));
        }
        let mut fragments = fragments;
        let new: Vec<NewFragment> = fragments.iter_mut().filter_map(|sealed| sealed.new.take()).collect();
        NewFragment::commit_all(&new)?;
        self.expire();
        Ok(fragments.iter().map(|sealed| WrittenFragment::new(sealed.name.clone())).collect())
    }
}
