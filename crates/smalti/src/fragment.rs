//! What is known about a fragment.

use crate::Interval;
use smalti_format::ArraySchema;
use smalti_format::names::TimestampedName;
use smalti_query::Deleted;
use smalti_types::{Extent, RectList, Result, TimeRange};
use std::sync::Arc;

/// A fragment of an array: what one write left, or one consolidation.
#[derive(Debug, Clone)]
pub struct Fragment(Arc<smalti_array::Fragment>);

impl Fragment {
    pub(crate) fn new(fragment: Arc<smalti_array::Fragment>) -> Fragment {
        Fragment(fragment)
    }

    /// The name of its folder.
    pub fn name(&self) -> &str {
        self.0.name().as_str()
    }

    /// The times of its writes, in milliseconds since 1970.
    pub fn time(&self) -> TimeRange {
        self.0.time()
    }

    /// Its format version.
    pub fn format_version(&self) -> u32 {
        self.0.version().number()
    }

    /// The file name of the schema that it was written with.
    pub fn schema_name(&self) -> &str {
        &self.0.footer().schema_name
    }

    /// The schema that it was written with, which evolution may have left behind.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    ///
    /// let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://fragment-schema-docs", &schema)?;
    /// array.write().column("a", &[1, 2]).commit()?;
    /// array.evolve().add_attribute(Attribute::of::<i32>("b")).commit()?;
    /// assert_eq!((array.fragments()?[0].schema().attributes.len(), array.schema().attributes.len()), (1, 2));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn schema(&self) -> &ArraySchema {
        self.0.schema()
    }

    /// Whether each cell has the time of its write, as cells of merged sparse fragments do.
    pub fn has_cell_times(&self) -> bool {
        self.0.includes_timestamps()
    }

    /// Whether the footer of its metadata was taken from consolidated fragment metadata; not looked for where an array has one
    /// fragment.
    pub fn has_consolidated_metadata(&self) -> bool {
        self.0.has_consolidated_footer()
    }

    /// Bytes of its data files.
    pub fn data_byte_len(&self) -> u64 {
        self.0.data_byte_len()
    }

    /// Whether it is dense.
    pub fn is_dense(&self) -> bool {
        self.0.is_dense()
    }

    /// The number of data tiles.
    pub fn tile_count(&self) -> u64 {
        self.0.tile_count()
    }

    /// The number of cells, of a dense fragment those of whole tiles; `None` where it is beyond 64 bits.
    pub fn cell_count(&self) -> Option<u64> {
        self.0.cell_count()
    }

    /// Bytes on disk, metadata included.
    ///
    /// # Errors
    /// What the storage reports of the fragment's metadata file.
    pub fn byte_len(&self) -> Result<u64> {
        self.0.byte_len()
    }

    /// The least rectangle around its cells, an interval a dimension.
    ///
    /// # Errors
    /// `Corrupt` when the stored rectangle does not fit the dimensions.
    pub fn non_empty_domain(&self) -> Result<Vec<Interval>> {
        let dimensions = self.0.schema().dimensions.iter();
        let pairs = dimensions.zip(self.0.non_empty_domain());
        pairs.map(|(dimension, extent)| Interval::from_extent(dimension.datatype, extent)).collect()
    }

    /// The rectangles around the cells of each data tile; `None` for dense fragments, whose tiles are those of the schema.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn tile_rectangles(&self) -> Result<Option<&RectList>> {
        if self.is_dense() { Ok(None) } else { Ok(self.0.rtree()?.leaves()) }
    }

    /// As [`non_empty_domain`](Fragment::non_empty_domain), in the numbers of the engine.
    pub fn non_empty_extents(&self) -> &[Extent] {
        self.0.non_empty_domain()
    }
}

/// A fragment that was just written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFragment {
    name: String,
}

impl WrittenFragment {
    pub(crate) fn new(name: String) -> WrittenFragment {
        WrittenFragment { name }
    }

    /// The name of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time of the write, in milliseconds since 1970.
    pub fn timestamp(&self) -> u64 {
        TimestampedName::parse(&self.name).map_or(0, |name| name.range().end)
    }
}

/// A delete that was just committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenDelete(Deleted);

impl WrittenDelete {
    pub(crate) fn new(deleted: Deleted) -> WrittenDelete {
        WrittenDelete(deleted)
    }

    /// The name of its commit, without the ending.
    pub fn name(&self) -> &str {
        self.0.name.as_str()
    }

    /// The time of the delete, in milliseconds since 1970.
    pub fn timestamp(&self) -> u64 {
        self.0.name.range().end
    }

    /// Fields of which cells that are null, or NaN, were deleted with the others; see [`Array::delete`](crate::Array::delete).
    pub fn taken_with(&self) -> &[String] {
        &self.0.taken_with
    }
}
