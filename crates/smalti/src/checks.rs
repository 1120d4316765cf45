//! Checking, mending and comparing arrays.

use crate::{Array, Options};
use smalti_query::Progress;
use smalti_types::{Result, TimeRange};
use smalti_upkeep::{
    CellDifference, DiffFields, DiffOptions, DiffSummary, Digest, DigestOptions, FsckOptions, FsckReport,
    LostCells, Older, RepairOptions, RepairReport, Salvage,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What can be read of a damaged array; made by [`Array::salvage`].
#[derive(Debug)]
pub struct Salvaged {
    salvage: Salvage,
    array: Array,
    time: TimeRange,
}

impl Salvaged {
    /// The array without what is lost; it can be read alone.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// What cannot be read.
    pub fn lost(&self) -> &[LostCells] {
        &self.salvage.lost
    }

    /// What shows an older value, because a newer one is lost or may be among what is lost.
    pub fn older(&self) -> &Older {
        &self.salvage.older
    }

    /// Leaves out the cells that show an older value: the array of a sparse one is without them from now on; of a dense one what is
    /// [written](Salvaged::write_to) to a new array has fill values there.
    ///
    /// # Errors
    /// `Unsupported` when they cannot all be left out; what reads report.
    pub fn leave_out_older(&mut self) -> Result<()> {
        let salvage = &mut self.salvage;
        self.array.context().run(|| salvage.leave_out_older())?;
        self.array = Array::at_place(self.salvage.place.clone(), self.time, self.array.context().clone())?;
        Ok(())
    }

    /// Everything that was found in the array's metadata.
    pub fn found(&self) -> &FsckReport {
        &self.salvage.found
    }

    /// Creates an array with the cells as of now, the metadata and the dimension labels; times of writes are not taken along.
    /// Returns the number of cells. The array gets its name when it is complete.
    ///
    /// # Errors
    /// `AlreadyExists` when something is at the target; `Cancelled`; what reads and writes report.
    pub fn write_to(&mut self, target: &str, options: &Options) -> Result<u64> {
        let (place, salvage) = (options.place(target)?, &mut self.salvage);
        self.array.context().run(|| salvage.write_to(&place))
    }
}

impl Array {
    /// Checks an array or group: everything that is wrong with it, with what a repair would do. The array need not open. The members
    /// of a group are checked too, wherever they are, those of groups among them as well, unless the check is to be shallow.
    ///
    /// # Errors
    /// `NotFound` when nothing is there; `Permission` when no schema opens with the key; `Cancelled`; `Io`. Damage is no error.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    /// use smalti::FsckOptions;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://fsck-docs", &schema)?;
    /// array.write().column("a", &[1, 2]).commit()?;
    /// let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
    /// assert!(Array::fsck("mem://fsck-docs", &Options::new(), &check)?.is_sound());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn fsck(uri: &str, options: &Options, check: &FsckOptions) -> Result<FsckReport> {
        let place = options.place(uri)?;
        options.surroundings().clone().run(|| smalti_upkeep::fsck(&place, check))
    }

    /// Mends an array or group as far as that is provable. Nothing is deleted: what is in the way is set aside, in a folder
    /// `__aside` in the array. Members in the folder of a group are mended too, unless the check is to be shallow; members elsewhere
    /// are looked at alone.
    ///
    /// # Errors
    /// As [`fsck`](Array::fsck). A step that fails is told in the report.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    /// use smalti::RepairOptions;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// Array::create("mem://repair-docs", &schema)?;
    /// let report = Array::repair("mem://repair-docs", &Options::new(), &RepairOptions::default())?;
    /// assert!(report.mended.is_empty() && report.aside.is_none());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn repair(uri: &str, options: &Options, repair: &RepairOptions) -> Result<RepairReport> {
        let place = options.place(uri)?;
        options.surroundings().clone().run(|| smalti_upkeep::repair(&place, repair))
    }

    /// Opens what can be read of a damaged array, in the time range of the options. All data is read once for that.
    ///
    /// # Errors
    /// `NotFound` when no array is there; `Permission` without the key; `Corrupt` when no schema can be read, or something is
    /// damaged that cannot be left out; `Cancelled`.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// Array::create("mem://salvage-docs", &schema)?.write().column("a", &[1, 2]).commit()?;
    /// let mut salvaged = Array::salvage("mem://salvage-docs", &Options::new(), None)?;
    /// assert!(salvaged.lost().is_empty());
    /// assert_eq!(salvaged.write_to("mem://salvaged-docs", &Options::new())?, 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn salvage(uri: &str, options: &Options, progress: Option<Arc<Progress>>) -> Result<Salvaged> {
        let (place, context) = (options.place(uri)?, options.surroundings().clone());
        let salvage = context.run(|| smalti_upkeep::salvage(&place, progress))?;
        let time = options.time()?;
        let array = Array::at_place(salvage.place.clone(), time, context)?;
        Ok(Salvaged { salvage, array, time })
    }

    /// One number for what the array says: coordinates and values, however they are tiled, ordered, filtered and spread over
    /// fragments. Cells of dense arrays that hold nothing but fill values do not count.
    ///
    /// # Errors
    /// As a read; `InvalidArgument` for the times of a dense array's cells.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    /// use smalti::DigestOptions;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let (one, two) = (Array::create("mem://digest-one", &schema)?, Array::create("mem://digest-two", &schema)?);
    /// one.write().column("a", &[1, 2]).commit()?;
    /// two.write().range("x", 0..=0).column("a", &[1]).commit()?;
    /// two.write().range("x", 1..=1).column("a", &[2]).commit()?;
    /// assert_eq!(one.digest(&DigestOptions::default())?, two.digest(&DigestOptions::default())?);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn digest(&self, options: &DigestOptions) -> Result<Digest> {
        let snapshot = self.snapshot()?;
        self.context().run(|| smalti_upkeep::digest(&snapshot, options))
    }

    /// Compares the cells of two arrays, or of one at two times, and hands every difference to `visit`, in row-major order,
    /// until it says to stop. Memory stays bounded.
    ///
    /// # Errors
    /// `InvalidArgument` when the dimensions differ; what reads and `visit` report.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    /// use smalti::{Change, DiffOptions};
    /// use std::ops::ControlFlow;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let (one, two) = (Array::create("mem://diff-one", &schema)?, Array::create("mem://diff-two", &schema)?);
    /// one.write().column("a", &[1, 2]).commit()?;
    /// two.write().column("a", &[1, 3]).commit()?;
    /// let summary = one.diff(&two, &DiffOptions::default(), |_, cell| {
    ///     assert_eq!(cell.change, Change::Changed);
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!((summary.changed, summary.same), (1, 1));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn diff(
        &self,
        other: &Array,
        options: &DiffOptions,
        mut visit: impl FnMut(&DiffFields, CellDifference) -> Result<ControlFlow<()>> + Send,
    ) -> Result<DiffSummary> {
        let (ours, theirs) = (self.snapshot()?, other.snapshot()?);
        self.context().run(|| smalti_upkeep::diff(&ours, &theirs, options, &mut visit))
    }
}
