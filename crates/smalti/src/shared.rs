//! Writes that several processes do together.

use crate::{Array, IntoTimestamp, WrittenFragment};
use smalti_array::SharedWrite;
use smalti_format::names::TimestampedName;
use smalti_query::WriteRequest;
use smalti_types::{Error, Result};

impl Array {
    /// Begins a write that several processes, or machines, do together: each [puts](crate::WriteBuilder::put) fragments, and one
    /// [commits](Array::commit_shared) them, so that all are seen at one moment, or none. What goes from one to the other are texts:
    /// the write, and the names of fragments.
    ///
    /// ```
    /// use smalti::{Array, Dimension, SharedWrite, prelude::*};
    ///
    /// let schema = Schema::dense()
    ///     .dimension(Dimension::new("x", 0..=999).tile(100))
    ///     .attribute(Attribute::of::<f64>("a"))
    ///     .build()?;
    /// let array = Array::create("mem://shared-docs", &schema)?;
    /// let write = array.share_write()?.to_string();
    ///
    /// // In any process, as often as it takes; a part that is written again is another fragment.
    /// let part = |start: i32| -> smalti::Result<String> {
    ///     let write: SharedWrite = write.parse()?;
    ///     let array = Array::open("mem://shared-docs")?;
    ///     let part = array.write().range("x", start..start + 500).column("a", &[0.5; 500]);
    ///     Ok(part.put(&write)?.name().to_owned())
    /// };
    /// let (_lost, names) = (part(0)?, [part(0)?, part(500)?]);
    ///
    /// // In one process.
    /// assert!(array.fragments()?.is_empty());
    /// array.commit_shared(&write.parse()?, &names)?;
    /// assert_eq!(array.fragments()?.len(), 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for arrays of a format version before 12, which have no commits of several fragments; `Io` when there is no
    /// randomness.
    pub fn share_write(&self) -> Result<SharedWrite> {
        SharedWrite::new(&self.snapshot_to_write()?, None)
    }

    /// As [`share_write`](Array::share_write), at a time.
    ///
    /// # Errors
    /// As [`share_write`](Array::share_write).
    pub fn share_write_at(&self, time: impl IntoTimestamp) -> Result<SharedWrite> {
        SharedWrite::new(&self.snapshot_to_write()?, Some(time.into_timestamp()))
    }

    /// A part of a shared write in the words of the engine; see [`WriteBuilder::put`](crate::WriteBuilder::put).
    ///
    /// # Errors
    /// As [`WriteBuilder::put`](crate::WriteBuilder::put).
    pub fn put_raw(&self, request: &WriteRequest<'_>, write: &SharedWrite) -> Result<WrittenFragment> {
        let snapshot = self.snapshot_to_write()?;
        let new = self.context().run(|| smalti_query::seal_shared(&snapshot, request, write))?;
        Ok(WrittenFragment::new(new.name().to_string()))
    }

    /// Makes fragments of a shared write visible at one moment, by one commit, and removes what else is left of it: parts that were
    /// written twice, and those of processes that died. Processes that are still at it leave orphans, which no reader sees.
    ///
    /// # Errors
    /// `InvalidArgument` for names that are not of this write, that come twice, or where the write is committed already; `NotFound` and
    /// `Corrupt` for fragments that are not there as a whole. Nothing is visible then. What the store reports of the commit, which may have
    /// come to be.
    pub fn commit_shared(
        &self,
        write: &SharedWrite,
        names: &[impl AsRef<str>],
    ) -> Result<Vec<WrittenFragment>> {
        let parse = |name: &str| {
            TimestampedName::parse(name)
                .map_err(|_| Error::invalid(format!("{name:?} is no name of a fragment")))
        };
        let parsed = names.iter().map(|name| parse(name.as_ref())).collect::<Result<Vec<_>>>()?;
        let snapshot = self.snapshot_to_write()?;
        self.context().run(|| write.commit(&snapshot, &parsed))?;
        self.expire();
        Ok(names.iter().map(|name| WrittenFragment::new(name.as_ref().to_owned())).collect())
    }

    /// Removes all fragments of a shared write that will not be committed, and returns how many there were.
    ///
    /// # Errors
    /// `InvalidArgument` when it is committed; what the store reports.
    pub fn abandon_shared(&self, write: &SharedWrite) -> Result<usize> {
        let snapshot = self.snapshot_to_write()?;
        self.context().run(|| write.abandon(&snapshot))
    }
}
