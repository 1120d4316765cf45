//! Building writes.

use crate::range::extent_of;
use crate::read::no_dimension;
use crate::{Array, Columns, IntoColumn, IntoTimestamp, RangeEnd, SealedFragment, WrittenFragment};
use arrow_array::RecordBatch;
use smalti_array::SharedWrite;
use smalti_format::ArraySchema;
use smalti_query::{Duplicates, GlobalWriter as EngineWriter, Progress, Unchecked, WriteRequest};
use smalti_types::{Error, Extent, Layout, Result};
use std::ops::RangeBounds;
use std::sync::Arc;

/// A write of one fragment; made by [`Array::write`].
///
/// Sparse arrays are given every dimension and every attribute, the cells in any order. Dense arrays are given every
/// attribute, and the rectangle that the cells fill with [`range`](WriteBuilder::range). Columns of [dimension
/// labels](crate::Label) may come along, or alone; they have a label for each position in the range of their dimension.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
///
/// let schema = Schema::dense()
///     .dimension(Dimension::new("row", 0..=99).tile(10))
///     .dimension(Dimension::new("col", 0..=99).tile(10))
///     .attribute(Attribute::of::<f32>("height"))
///     .attribute(Attribute::utf8("note").nullable())
///     .build()?;
/// let map = Array::create("mem://write-docs", &schema)?;
/// let written = map.write()
///     .range("row", 20..22).range("col", 0..=1)
///     .column("height", &smalti::ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]])
///     .column("note", &[Some("a"), None, None, Some("d")])
///     .commit()?;
/// assert_eq!(map.fragments()?[0].name(), written.name());
///
/// let error = map.write().column("height", &[1, 2]).commit().unwrap_err();
/// assert_eq!(error.kind(), smalti::ErrorKind::InvalidArgument);
/// # Ok::<(), smalti::Error>(())
/// ```
///
/// Illegal: `i32` cells for a `FLOAT32` attribute (as above), a missing attribute, cells that do not fill the rectangle,
/// two cells of the same coordinates in an array that does not [allow](crate::SchemaBuilder::allow_duplicates) them.
#[derive(Debug, Clone)]
#[must_use = "nothing is written before commit"]
pub struct WriteBuilder<'a> {
    array: &'a Array,
    columns: Columns<'a>,
    rectangle: Rectangle,
    layout: Option<Layout>,
    at: Option<u64>,
    duplicates: Duplicates,
    progress: Option<Arc<Progress>>,
}

impl<'a> WriteBuilder<'a> {
    pub(crate) fn new(array: &'a Array) -> Self {
        WriteBuilder {
            array,
            columns: Columns::new(),
            rectangle: Rectangle::default(),
            layout: None,
            at: None,
            duplicates: Duplicates::Refuse,
            progress: None,
        }
    }

    /// The cells of a field: a slice, array or vector of [cells](crate::Cell), an `ndarray` array, or an Arrow array. What
    /// lies in memory as the field does is not copied.
    pub fn column(mut self, field: impl Into<String>, cells: impl IntoColumn<'a>) -> Self {
        self.columns = self.columns.column(field, cells);
        self
    }

    /// The cells of all fields of an Arrow record batch, by name; see [`arrow`](crate::arrow) for the types.
    ///
    /// ```
    /// use smalti::arrow_array::{Int32Array, RecordBatch, StringArray};
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # use std::sync::Arc;
    /// # let schema = Schema::sparse().dimension(Dimension::string("gene")).attribute(Attribute::of::<i32>("n")).build()?;
    /// # let array = Array::create("mem://record-batch-docs", &schema)?;
    /// let batch = RecordBatch::try_from_iter([
    ///     ("gene", Arc::new(StringArray::from(vec!["BRCA1", "TP53"])) as _),
    ///     ("n", Arc::new(Int32Array::from(vec![3, 7])) as _),
    /// ]).unwrap();
    /// array.write().record_batch(&batch).commit()?;
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn record_batch(mut self, batch: &RecordBatch) -> Self {
        self.columns = self.columns.record_batch(batch);
        self
    }

    /// The part of a dimension that the cells of a dense write fill; without it all of the dimension, or of its current
    /// domain.
    pub fn range<T: RangeEnd>(mut self, dimension: &str, range: impl RangeBounds<T>) -> Self {
        self.rectangle.set(self.array, dimension, range);
        self
    }

    /// The order of the cells: row-major (by default), column-major or global for dense arrays; unordered (by default) or
    /// global for sparse ones.
    pub fn order(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// The time of the write: milliseconds since 1970, or a [`SystemTime`](std::time::SystemTime); by default now, later than every
    /// write of this process.
    pub fn at(mut self, time: impl IntoTimestamp) -> Self {
        self.at = Some(time.into_timestamp());
        self
    }

    /// What happens to cells of equal coordinates in this write, where the schema does not allow them; by default the write
    /// is refused.
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Where the write tells how far it is, and listens for the word to stop, until it commits. A write that is stopped leaves
    /// nothing.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::{Phase, Progress};
    /// use std::sync::Arc;
    /// # let schema = Schema::sparse().dimension(Dimension::new("x", 0..=99)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://write-progress-docs", &schema)?;
    /// let progress = Arc::new(Progress::new());
    /// array.write().column("x", &[3, 1]).column("a", &[1, 2]).progress(Arc::clone(&progress)).commit()?;
    /// let phases: Vec<Phase> = progress.phases().iter().map(|phase| phase.phase).collect();
    /// assert_eq!(phases, Phase::SPARSE_WRITE);
    /// assert!(progress.phases().iter().all(|phase| Some(phase.done) == phase.total));
    ///
    /// progress.cancel();
    /// let write = array.write().column("x", &[4]).column("a", &[1]).progress(progress);
    /// assert_eq!(write.commit().unwrap_err().kind(), ErrorKind::Cancelled);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Writes, atomic, and durable as [`Options::sync`](crate::Options::sync) says.
    ///
    /// # Errors
    /// `InvalidArgument` names the column, cell or range that is wrong, a field that the schema lacks among them. Nothing is
    /// written then. `Cancelled`, and what the store reports; the array is as before then.
    pub fn commit(self) -> Result<WrittenFragment> {
        let array = self.array;
        let name = self.run(smalti_query::write)?;
        array.expire();
        Ok(WrittenFragment::new(name))
    }

    /// Writes all but the commit: the fragment is durable, and nobody sees it before it is
    /// [committed](SealedFragment::commit), alone or [together with others](Array::commit_together).
    ///
    /// # Errors
    /// As [`commit`](WriteBuilder::commit); `Unsupported` for columns of dimension labels.
    pub fn seal(self) -> Result<SealedFragment> {
        self.run(smalti_query::seal).map(SealedFragment::new)
    }

    /// Writes all but the commit, as a part of a write that several processes do together, and returns the fragment, whose name is for
    /// the one of them that [commits](Array::commit_shared). The time is that of the write.
    ///
    /// # Errors
    /// As [`seal`](WriteBuilder::seal).
    pub fn put(self, write: &SharedWrite) -> Result<WrittenFragment> {
        let new = self.run(|snapshot, request| smalti_query::seal_shared(snapshot, request, write))?;
        Ok(WrittenFragment::new(new.name().to_string()))
    }

    fn run<T: Send>(
        self,
        write: impl FnOnce(&smalti_array::Snapshot, &WriteRequest<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        let WriteBuilder { array, columns, rectangle, layout, at, duplicates, progress } = self;
        let snapshot = array.snapshot_to_write()?;
        let schema = snapshot.schema();
        let is_labels = columns.names().all(|name| schema.label(name).is_some());
        let subarray = rectangle.subarray(array, is_labels)?;
        let usual = if schema.is_dense() { Layout::RowMajor } else { Layout::Unordered };
        let layout = layout.unwrap_or(usual);
        if let Some((name, shape)) = columns.grid_shape(schema) {
            check_grid(array, name, shape, subarray.as_deref(), layout)?;
        }
        let prepared = array.context().run(|| columns.prepare(&snapshot))?;
        let request =
            WriteRequest { columns: prepared.columns(), subarray, layout, at, duplicates, progress };
        array.context().run(|| write(&snapshot, &request))
    }
}

/// The rectangle of a dense write as it is being named.
#[derive(Debug, Clone, Default)]
struct Rectangle {
    sides: Vec<(usize, Extent)>,
    refused: Option<Error>,
}

impl Rectangle {
    fn set<T: RangeEnd>(&mut self, array: &Array, name: &str, range: impl RangeBounds<T>) {
        let side = match array.schema().dimension(name) {
            None => Err(no_dimension(array, name)),
            Some((idx, _)) if self.sides.iter().any(|(side, _)| *side == idx) => {
                Err(Error::invalid(format!("dimension {name:?} has two ranges; a write fills one rectangle")))
            }
            Some((idx, dimension)) => extent_of(dimension, &range).map(|extent| (idx, extent)),
        };
        match side {
            Ok(side) => self.sides.push(side),
            Err(error) => {
                self.refused.get_or_insert(error);
            }
        }
    }

    /// The rectangle; `is_labels` tells writes of labels alone, which fill ranges of sparse arrays too.
    fn subarray(self, array: &Array, is_labels: bool) -> Result<Option<Vec<Extent>>> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        if self.sides.is_empty() {
            return Ok(None);
        }
        if !array.schema().is_dense() && !is_labels {
            return Err(Error::invalid("a sparse write takes no range: its cells bring their coordinates"));
        }
        let mut subarray = whole(&array.schema())?;
        let dimension_count = subarray.len();
        for (idx, extent) in self.sides {
            *subarray.get_mut(idx).ok_or_else(|| {
                Error::invalid(format!(
                    "the rectangle has more sides than the array's {dimension_count} dimensions"
                ))
            })? = extent;
        }
        Ok(Some(subarray))
    }
}

/// What a dense write without ranges fills: the current domain, or the domain where there is none.
fn whole(schema: &ArraySchema) -> Result<Vec<Extent>> {
    if let Some(current) = schema.current_domain.rectangle() {
        return Ok(current.to_vec());
    }
    let side = |dimension: &smalti_format::Dimension| match dimension.domain {
        Some((lo, hi)) => Extent::between(lo, hi),
        None => Ok(Extent::all(true)),
    };
    schema.dimensions.iter().map(side).collect()
}

/// Checks that an `ndarray` column has the sides of the rectangle that it fills.
fn check_grid(
    array: &Array,
    name: &str,
    shape: &[usize],
    subarray: Option<&[Extent]>,
    layout: Layout,
) -> Result<()> {
    let schema = array.schema();
    if !schema.is_dense() {
        return if shape.len() == 1 {
            Ok(())
        } else {
            Err(Error::invalid(format!(
                "column {name:?} has {} axes; a column of a sparse write has one",
                shape.len()
            )))
        };
    }
    if layout != Layout::RowMajor {
        return Err(Error::invalid(format!(
            "column {name:?} is an ndarray, which is written in row-major order, not {layout}"
        )));
    }
    let whole = whole(&schema)?;
    let sides: Vec<u128> = subarray
        .unwrap_or(&whole)
        .iter()
        .map(|side| match side {
            Extent::Num { lo, hi } => u128::from(hi.saturating_sub(*lo)) + 1,
            Extent::Str { .. } => 0,
        })
        .collect();
    if shape.iter().map(|&len| len as u128).eq(sides.iter().copied()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "column {name:?} has the shape {shape:?}, the rectangle to write {sides:?}; set its ranges"
    )))
}

/// A write of one fragment in several pieces, in global order; made by [`Array::global_writer`].
///
/// For more cells than fit into memory. The pieces follow each other in the array's global order, in which a dense write fills a
/// rectangle of whole space tiles, or in another [`order`](GlobalWriteBuilder::order) of a dense rectangle. What fills tiles is written; only
/// the cells of tiles that are not full yet wait in memory.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
/// use smalti::Columns;
///
/// let schema = Schema::sparse()
///     .dimension(Dimension::new("x", 0..=999_u64).tile(1000_u64))
///     .attribute(Attribute::of::<f64>("a"))
///     .build()?;
/// let array = Array::create("mem://global-docs", &schema)?;
/// let mut writer = array.global_writer().at(1000).start()?;
/// for start in [0, 500] {
///     let x: Vec<u64> = (start..start + 500).collect();
///     let a = vec![0.5; 500];
///     writer.submit(Columns::new().column("x", &x).column("a", &a))?;
/// }
/// writer.commit()?;
/// assert_eq!(array.fragments()?[0].cell_count(), Some(1000));
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is written before start"]
pub struct GlobalWriteBuilder<'a> {
    array: &'a Array,
    rectangle: Rectangle,
    layout: Layout,
    at: Option<u64>,
    duplicates: Duplicates,
    unchecked: Unchecked,
    progress: Option<(Arc<Progress>, Option<u64>)>,
}

impl<'a> GlobalWriteBuilder<'a> {
    pub(crate) fn new(array: &'a Array) -> Self {
        GlobalWriteBuilder {
            array,
            rectangle: Rectangle::default(),
            layout: Layout::GlobalOrder,
            at: None,
            duplicates: Duplicates::Refuse,
            unchecked: Unchecked::default(),
            progress: None,
        }
    }

    /// As [`WriteBuilder::range`].
    pub fn range<T: RangeEnd>(mut self, dimension: &str, range: impl RangeBounds<T>) -> Self {
        self.rectangle.set(self.array, dimension, range);
        self
    }

    /// The rectangle that a dense write fills, a side for each dimension in the ordinals of its type, in the place of ranges.
    pub fn rectangle(mut self, sides: Vec<Extent>) -> Self {
        self.rectangle.sides = sides.into_iter().enumerate().collect();
        self
    }

    /// The order of the cells, global by default. Those of dense arrays may come in row-major or column-major order where the array's tiles
    /// follow each other so; rows of tiles are written when they are full, whatever the borders of the rectangle.
    ///
    /// ```
    /// use smalti::{Array, Columns, Dimension, Layout, prelude::*};
    ///
    /// let schema = Schema::dense()
    ///     .dimension(Dimension::new("row", 0..=9_999).tile(100))
    ///     .dimension(Dimension::new("col", 0..=99).tile(100))
    ///     .attribute(Attribute::of::<f32>("height"))
    ///     .build()?;
    /// let map = Array::create("mem://row-writer-docs", &schema)?;
    /// let mut writer = map.global_writer().range("row", 50..=549).order(Layout::RowMajor).start()?;
    /// for row in 50..=549 {
    ///     writer.submit(Columns::new().column("height", &[row as f32; 100]))?;
    /// }
    /// writer.commit()?;
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn order(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// As [`WriteBuilder::at`].
    pub fn at(mut self, time: impl IntoTimestamp) -> Self {
        self.at = Some(time.into_timestamp());
        self
    }

    /// As [`WriteBuilder::duplicates`].
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// What of sparse cells nobody checks.
    ///
    /// ```
    /// use smalti::{Array, Columns, Dimension, Unchecked, prelude::*};
    ///
    /// let schema = Schema::sparse()
    ///     .dimension(Dimension::new("x", 0..=99_i32).tile(10))
    ///     .attribute(Attribute::of::<u8>("a"))
    ///     .build()?;
    /// let array = Array::create("mem://unchecked-docs", &schema)?;
    /// let sorted_already = Unchecked { order: true, ..Unchecked::default() };
    /// let mut writer = array.global_writer().unchecked(sorted_already).start()?;
    /// writer.submit(Columns::new().column("x", &[1_i32, 2]).column("a", &[3_u8, 4]))?;
    /// writer.commit()?;
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn unchecked(mut self, unchecked: Unchecked) -> Self {
        self.unchecked = unchecked;
        self
    }

    /// As [`WriteBuilder::progress`]; `cell_count` is the number of cells that are going to be submitted, where it is known.
    pub fn progress(mut self, progress: Arc<Progress>, cell_count: Option<u64>) -> Self {
        self.progress = Some((progress, cell_count));
        self
    }

    /// Starts the write.
    ///
    /// # Errors
    /// `InvalidArgument` for a range or an order that does not fit.
    pub fn start(self) -> Result<GlobalWriter> {
        let GlobalWriteBuilder { array, rectangle, layout, at, duplicates, unchecked, progress } = self;
        let subarray = rectangle.subarray(array, false)?;
        let writer = EngineWriter::in_order(&array.snapshot_to_write()?, at, subarray, layout)?
            .trusting(duplicates, unchecked);
        let writer = match progress {
            Some((progress, cell_count)) => writer.watched(progress, cell_count),
            None => writer,
        };
        Ok(GlobalWriter { array: array.clone(), writer })
    }
}

/// A write in several pieces that has started; see [`GlobalWriteBuilder`]. Dropped, it leaves the array as it was.
#[derive(Debug)]
pub struct GlobalWriter {
    array: Array,
    writer: EngineWriter,
}

impl GlobalWriter {
    /// How many cells fill the tiles of a dense write that are due, a tile or a row of tiles: a piece of so many is written without a
    /// copy. 0 behind the last, and for sparse arrays.
    pub fn due_cell_count(&self) -> usize {
        self.writer.due_cell_count()
    }

    /// Takes the next cells.
    ///
    /// # Errors
    /// `InvalidArgument` when columns do not fit, there are more cells than a dense write has room for, or a cell is out of order, repeats or lies outside the domain; the write
    /// is as before then. `Cancelled`, and what codecs and store report; the write can only be dropped then.
    pub fn submit(&mut self, columns: Columns<'_>) -> Result<()> {
        let prepared = columns.prepare(&self.array.snapshot_to_write()?)?;
        let columns = prepared.columns();
        let writer = &mut self.writer;
        self.array.context().run(|| writer.submit(&columns))
    }

    /// Writes what is left; the fragment becomes visible.
    ///
    /// # Errors
    /// `InvalidArgument` when there are no cells, or those of a dense write do not fill its rectangle. `Cancelled`, and what codecs
    /// and store report; the array is as before then.
    pub fn commit(self) -> Result<WrittenFragment> {
        let GlobalWriter { array, writer } = self;
        array.context().check_process()?;
        let name = array.context().run(|| writer.finalize())?;
        array.expire();
        Ok(WrittenFragment::new(name))
    }
}
