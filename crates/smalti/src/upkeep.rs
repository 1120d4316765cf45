//! Upkeep: consolidation, vacuum, and operations on single fragments. See [`Array::consolidate`], [`Array::vacuum`],
//! [`Array::delete_fragments`] and [`Array::copy_fragments`].

use crate::{Array, Group, Object};
use smalti_query::Progress;
use smalti_types::Result;
use std::sync::Arc;

pub use crate::shared_upkeep::{ConsolidationPart, SharedConsolidation};
pub use smalti_upkeep::{
    Choice, Consolidation, DeletedFragments, FileReport, FragmentChoice, FragmentDeletion, FragmentOptions,
    FragmentPlan, Merge, MergedFragments, Options as UpkeepOptions, PartOptions, Report as UpkeepReport,
    Steps, Tiers, VacuumOptions, VacuumedFragments, WrittenManifest,
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
    /// use smalti::{Array, Dimension, prelude::*};
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
        self.context().check_process()?;
        let done = self.context().run(|| smalti_upkeep::consolidate_fragments(self.place(), options));
        self.expire();
        done
    }

    /// What [`consolidate`](Array::consolidate) would merge. Of a consolidation in several steps the first is shown.
    ///
    /// # Errors
    /// As [`consolidate`](Array::consolidate).
    pub fn plan_consolidation(&self, options: &FragmentOptions) -> Result<FragmentPlan> {
        smalti_upkeep::plan_fragments(&self.snapshot()?, options)
    }

    /// Removes the fragments that others replace. The handle shows the array as it is now afterwards.
    ///
    /// Other open handles, also of other processes on this machine, keep their fragments: then nothing is removed, and the
    /// result says so. Times at which a merged dense fragment has only a part of its cells cannot be read any more afterwards: such
    /// reads are refused.
    ///
    /// In object stores nobody can tell which handles are open. There the fragments are hidden for good, but their files
    /// [stay](VacuumOptions::keeps_for) for an hour, and the next vacuum after that removes them. A read that takes longer ends with an error of kind
    /// `NotFound`; a handle that is kept for longer has to be opened again.
    ///
    /// # Errors
    /// `Io` when a consolidation is running; `Cancelled` when its progress was told to stop; what the store reports. What was not
    /// removed stays hidden, and the next vacuum goes on.
    pub fn vacuum(&mut self, options: &VacuumOptions) -> Result<VacuumedFragments> {
        self.without_views(|array| smalti_upkeep::vacuum_fragments(array.place(), options))
    }

    /// Deletes fragments with their cells: what older fragments hold at these places is seen again, but not what a deleted
    /// fragment was merged of, which goes too. The handle shows the array as it is now afterwards.
    ///
    /// Other open handles keep the fragments, as with [`vacuum`](Array::vacuum); in object stores their files stay until a vacuum.
    ///
    /// # Errors
    /// `InvalidArgument` for names that are not those of visible fragments; `Io` when a consolidation is running; `Cancelled` when
    /// its progress was told to stop before anything was deleted; what the store reports.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    /// use smalti::TimeRange;
    /// use smalti::upkeep::{FragmentChoice, FragmentDeletion};
    ///
    /// # let schema = Schema::sparse()
    /// #     .dimension(Dimension::new("x", 0..=99))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .build()?;
    /// # let mut array = Array::create("mem://delete-fragments-docs", &schema)?;
    /// array.write().column("x", &[1, 2]).column("a", &[1, 1]).at(10).commit()?;
    /// array.write().column("x", &[2, 3]).column("a", &[2, 2]).at(20).commit()?;
    /// let late = FragmentChoice::Within(TimeRange { start: 15, end: u64::MAX });
    /// let deleted = array.delete_fragments(&FragmentDeletion::of(late))?;
    /// assert_eq!(deleted.fragments.len(), 1);
    /// let cells = array.read().collect()?;
    /// assert_eq!(cells.num_rows(), 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn delete_fragments(&mut self, deletion: &FragmentDeletion) -> Result<DeletedFragments> {
        self.without_views(|array| smalti_upkeep::delete_fragments(array.place(), deletion))
    }

    /// Copies fragments, by name, to another array with the same dimensions, attributes and settings, tile by tile as they stand
    /// in the files. They keep their names and times. Returns their names.
    ///
    /// Cells that a delete of this array hides are copied too, and seen in the other array, unless a consolidation has marked
    /// them; deletes of the other array that are not older hold for them.
    ///
    /// # Errors
    /// `InvalidArgument` when the arrays' schemas or labels differ (the message names the difference), or cells lie outside of
    /// the other's current domain; `Permission` when their encryption keys differ; `AlreadyExists` when the other has the
    /// fragment; `Cancelled` when `progress` was told to stop; what the stores report. Nothing is seen in the other array
    /// then, unless committing failed.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    ///
    /// # let schema = Schema::sparse()
    /// #     .dimension(Dimension::new("x", 0..=99))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .build()?;
    /// # let array = Array::create("mem://copy-fragments-docs", &schema)?;
    /// # let other = Array::create("mem://copy-fragments-docs-2", &schema)?;
    /// let written = array.write().column("x", &[1, 2]).column("a", &[3, 4]).at(10).commit()?;
    /// array.copy_fragments(&[written.name()], &other, None)?;
    /// assert_eq!(other.read().collect()?, array.read().collect()?);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn copy_fragments(
        &self,
        names: &[impl AsRef<str>],
        to: &Array,
        progress: Option<Arc<Progress>>,
    ) -> Result<Vec<String>> {
        let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        let snapshot = self.snapshot()?;
        let copied =
            self.context().run(|| smalti_upkeep::copy_fragments(&snapshot, &names, to.place(), progress));
        to.expire();
        copied
    }

    /// Does something that takes fragments away while this handle shows none, and shows what is there afterwards.
    fn without_views<T: Send>(&mut self, change: impl FnOnce(&Array) -> Result<T> + Send) -> Result<T> {
        self.release_view();
        let this = &*self;
        let done = this.context().run(|| change(this));
        this.snapshot()?;
        done
    }
}

impl Array {
    /// Puts the footers of all fragments into one file, so that the array opens with one read.
    ///
    /// # Errors
    /// As [`open`](Array::open); what the storage reports.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::upkeep::UpkeepOptions;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://consolidate-files-docs", &schema)?;
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

impl Object {
    /// Writes the manifest of the array or group: a file in its folder that names all others, for readers over HTTP from servers that list no
    /// folders. It takes the place of an older one. Of a group it names the files of the members in its folder too; whoever opens a
    /// member by its own address needs the member's own.
    ///
    /// Such readers see the array as it is now, until the manifest is written anew. After a vacuum it has to be, for what it names
    /// is gone.
    ///
    /// # Errors
    /// `Unsupported` for more files than a manifest can have, and over HTTP; `Io` while the array is consolidated and vacuumed again and again;
    /// what the storage reports.
    ///
    /// ```
    /// use smalti::{Array, Dimension, Object, prelude::*};
    ///
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// Array::create("mem://manifest-docs", &schema)?.write().range("x", 0..=1).column("a", &[1, 2]).commit()?;
    /// let object = Object::at("mem://manifest-docs")?.expect("it was made above");
    /// assert_eq!(object.write_manifest()?.path, "__smalti_manifest.json");
    /// assert!(object.remove_manifest()?);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn write_manifest(&self) -> Result<WrittenManifest> {
        smalti_upkeep::write_manifest(&self.files()?)
    }

    /// Removes the manifest of the array or group. Returns whether there was one.
    ///
    /// # Errors
    /// What the storage reports.
    pub fn remove_manifest(&self) -> Result<bool> {
        smalti_upkeep::remove_manifest(&self.files()?)
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
