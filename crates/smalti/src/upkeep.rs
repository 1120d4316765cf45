//! Upkeep: consolidation and vacuum. See [`Array::consolidate`] and [`Array::vacuum`].

use crate::Array;
use crate::views::View;
use smalti_types::Result;

pub use smalti_upkeep::{
    Choice, Consolidation, FragmentOptions, FragmentPlan, Merge, MergedFragments, Steps, Tiers,
    VacuumOptions, VacuumedFragments,
};

impl Array {
    /// Merges fragments: many small writes become few large fragments, which read as fast as one write. Nothing that the
    /// array says changes, at any time; what was merged stays on the disk until [`vacuum`](Array::vacuum).
    ///
    /// # Errors
    /// `InvalidArgument` for fragments that are not there, or that cannot be merged without changing the array; `Io` when another
    /// consolidation is running; `Cancelled` when its progress was told to stop. A merge that fails leaves nothing behind.
    ///
    /// ```
    /// use smalti::prelude::*;
    /// use smalti::upkeep::{FragmentOptions, VacuumOptions};
    ///
    /// # let schema = Schema::sparse()
    /// #     .dimension(Dimension::new("x", 0..=99))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .build()?;
    /// # let mut array = Array::create("mem://consolidate-docs", &schema)?;
    /// for x in 0..50 {
    ///     array.write().column("x", &[x]).column("a", &[x * x]).commit()?;
    /// }
    /// array.consolidate(&FragmentOptions::default())?;
    /// assert_eq!(array.fragments()?.len(), 1);
    /// let removed = array.vacuum(&VacuumOptions::default())?;
    /// assert_eq!(removed.fragments.len(), 50);
    /// assert_eq!(array.read().collect()?.num_rows(), 50);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn consolidate(&self, options: &FragmentOptions) -> Result<Consolidation> {
        let done = self.pool().run(|| smalti_upkeep::consolidate_fragments(self.place(), options));
        self.expire();
        done
    }

    /// What [`consolidate`](Array::consolidate) would merge. Of a consolidation in several steps the first is shown.
    ///
    /// # Errors
    /// As [`consolidate`](Array::consolidate).
    pub fn plan_consolidation(&self, options: &FragmentOptions) -> Result<FragmentPlan> {
        smalti_upkeep::plan_fragments(self.snapshot()?, options)
    }

    /// Removes the fragments that others replace. The handle shows the array as it is now afterwards.
    ///
    /// Other open handles, also of other processes on this machine, keep their fragments: then nothing is removed, and the
    /// result says so. Times at which a merged dense fragment has only a part of its cells cannot be read any more afterwards: such
    /// reads are refused.
    ///
    /// # Errors
    /// `Io` when a consolidation is running; what the store reports. What was not removed stays hidden, and the next vacuum goes on.
    pub fn vacuum(&mut self, options: &VacuumOptions) -> Result<VacuumedFragments> {
        // Nothing borrows from the views: the handle is borrowed exclusively.
        self.release_views();
        let done = self.pool().run(|| smalti_upkeep::vacuum_fragments(self.place(), options));
        let views = self.pool().run(|| View::open(self.place(), self.time()))?;
        self.show(views);
        done
    }
}
