//! Consolidation and vacuum of everything but fragments.

use crate::{Array, Group};
use smalti_types::Result;

pub use smalti_upkeep::{FileReport, Options as UpkeepOptions, Report as UpkeepReport};

impl Array {
    /// Puts the footers of all fragments into one file, so that the array opens with one read.
    ///
    /// # Errors
    /// As [`open`](Array::open); what the storage reports.
    ///
    /// ```
    /// # use smalti::prelude::*;
    /// use smalti::UpkeepOptions;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://consolidate-docs", &schema)?;
    /// for x in 0..5 {
    ///     array.write().range("x", x..=x).column("a", &[7]).commit()?;
    /// }
    /// let report = array.consolidate_fragment_meta(&UpkeepOptions::default())?;
    /// assert_eq!((report.read.len(), report.written.len()), (5, 1));
    /// let report = array.consolidate_commits(&UpkeepOptions::default())?;
    /// assert_eq!(report.written.len(), 1);
    /// let report = array.vacuum_commits(&UpkeepOptions::default())?;
    /// assert_eq!(report.removed.len(), 5);
    /// assert!(array.vacuum_commits(&UpkeepOptions::default())?.is_empty());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn consolidate_fragment_meta(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        self.run(|place| smalti_upkeep::consolidate_fragment_meta(place, options))
    }

    /// Removes older files of [`consolidate_fragment_meta`](Array::consolidate_fragment_meta).
    ///
    /// # Errors
    /// What the storage reports.
    pub fn vacuum_fragment_meta(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        self.run(|place| smalti_upkeep::vacuum_fragment_meta(place, options))
    }

    /// Puts all commits, deletes among them, into one file, so that the array is quick to list.
    ///
    /// # Errors
    /// `Unsupported` before format version 12; `Corrupt` for a delete that cannot be read; what the storage reports.
    pub fn consolidate_commits(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        self.run(|place| smalti_upkeep::consolidate_commits(place, options))
    }

    /// Removes the commits that [`consolidate_commits`](Array::consolidate_commits) has put into a file.
    ///
    /// # Errors
    /// `Corrupt` for a damaged file of commits; what the storage reports.
    pub fn vacuum_commits(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        self.run(|place| smalti_upkeep::vacuum_commits(place, options))
    }

    /// Merges the array's metadata into one file.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named; what the storage reports.
    pub fn consolidate_metadata(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        self.run(|place| smalti_upkeep::consolidate_metadata(place, options))
    }

    /// Removes the files of metadata that [`consolidate_metadata`](Array::consolidate_metadata) has merged. Metadata of a time
    /// between them cannot be read afterwards.
    ///
    /// # Errors
    /// What the storage reports.
    pub fn vacuum_metadata(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        self.run(|place| smalti_upkeep::vacuum_metadata(place, options))
    }
}

impl Group {
    /// As [`Array::consolidate_metadata`].
    ///
    /// # Errors
    /// As there.
    pub fn consolidate_metadata(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        smalti_upkeep::consolidate_metadata(self.place(), options)
    }

    /// As [`Array::vacuum_metadata`].
    ///
    /// # Errors
    /// As there.
    pub fn vacuum_metadata(&self, options: &UpkeepOptions) -> Result<UpkeepReport> {
        smalti_upkeep::vacuum_metadata(self.place(), options)
    }
}
