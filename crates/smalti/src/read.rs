//! Building reads.

use crate::arrow::ArrowForm;
use crate::column::unknown_field;
use crate::range::extent_of;
use crate::{Array, Number, RangeEnd, RecordBatches, Scan, Value};
use arrow_array::RecordBatch;
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use smalti_query::condition::Condition;
use smalti_query::{
    Aggregate, AggregateRequest, Batches, Explanation, LabelRange, Progress, ReadRequest, TIMESTAMPS_FIELD,
};
use smalti_space::CELLS_BETWEEN_CHECKS;
use smalti_types::{Error, ErrorKind, Extent, Layout, Result};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A read; made by [`Array::read`].
///
/// Without more it reads everything: all dimensions, then all attributes, dense arrays in row-major, sparse arrays in
/// global order.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
///
/// let schema = Schema::sparse()
///     .dimension(Dimension::new("x", 0..=99).tile(10))
///     .attribute(Attribute::utf8("name"))
///     .build()?;
/// let array = Array::create("mem://read-docs", &schema)?;
/// array.write().column("x", &[3, 5, 70]).column("name", &["a", "b", "c"]).commit()?;
///
/// let mut cell_count = 0;
/// for batch in array.read().select(["name"]).range("x", 4..).order(Layout::RowMajor).batches()? {
///     cell_count += batch?.num_rows();
/// }
/// assert_eq!(cell_count, 2);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is read before batches, columns, collect or to_ndarray"]
pub struct ReadBuilder {
    array: Array,
    request: ReadRequest,
    form: ArrowForm,
    /// The first thing that was wrong, for the call that starts the read.
    refused: Option<Error>,
}

impl ReadBuilder {
    pub(crate) fn new(array: &Array) -> Self {
        let ranges = vec![Vec::new(); array.schema().dimensions.len()];
        let request = ReadRequest { ranges, ..ReadRequest::default() };
        ReadBuilder { array: array.clone(), request, form: ArrowForm::default(), refused: None }
    }

    /// The fields to read, in this order; dimensions too. Adds to earlier ones.
    pub fn select<S: Into<String>>(mut self, fields: impl IntoIterator<Item = S>) -> Self {
        self.request.fields.extend(fields.into_iter().map(Into::into));
        self
    }

    /// Adds the times at which cells of a sparse array were written, as the field `__timestamps`, behind the selected
    /// fields.
    pub fn timestamps(mut self) -> Self {
        if self.request.fields.is_empty() {
            let schema = self.array.schema();
            self.request.fields = schema.fields().map(|field| field.name().to_owned()).collect();
        }
        self.request.fields.push(TIMESTAMPS_FIELD.to_owned());
        self
    }

    /// Only cells in a range of a dimension: any of Rust's ranges. Several ranges of one dimension add up: dense reads give a
    /// cell once for each range that holds it, in the order of the ranges, sparse ones once. What leaves the domain selects nothing
    /// unless the read is [strict](ReadBuilder::strict), and a range that lies outside it is refused. Ranges of strings end with `..=`
    /// or not at all.
    pub fn range<T: RangeEnd>(mut self, dimension: &str, range: impl RangeBounds<T>) -> Self {
        let schema = self.array.schema();
        let extent = match schema.dimension(dimension) {
            Some((idx, dimension)) => {
                let current = schema.current_domain.rectangle().and_then(|current| current.get(idx));
                let open = (is_open(range.start_bound()), is_open(range.end_bound()));
                extent_of(dimension, &range).map(|extent| (idx, within(extent, current, open)))
            }
            None => Err(no_dimension(&self.array, dimension)),
        };
        self.add(extent);
        self
    }

    /// Only cells at these coordinates of a dimension, as many ranges of one value each.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://positions-docs", &schema)?;
    /// # array.write().column("a", &(0..10).collect::<Vec<i32>>()).commit()?;
    /// let some = array.read().positions("x", [3, 7]).to_ndarray::<i32>("a")?;
    /// assert_eq!(some.as_slice(), Some(&[3, 7][..]));
    /// let every_third = array.read().positions("x", (0..=9).step_by(3)).to_ndarray::<i32>("a")?;
    /// assert_eq!(every_third.as_slice(), Some(&[0, 3, 6, 9][..]));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn positions<T: RangeEnd>(self, dimension: &str, coordinates: impl IntoIterator<Item = T>) -> Self {
        let one =
            |read: Self, at: T| read.range::<T>(dimension, (Bound::Included(&at), Bound::Included(&at)));
        coordinates.into_iter().fold(self, one)
    }

    /// Refuses ranges that leave the domain, or the current one, instead of cutting them.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://strict-docs", &schema)?;
    /// assert_eq!(array.read().range("x", 5..=99).collect()?.num_rows(), 5);
    /// let error = array.read().range("x", 5..=99).strict().collect().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn strict(mut self) -> Self {
        self.request.is_strict = true;
        self
    }

    /// Only cells at positions whose [label](crate::Label) lies in a range. Several ranges of one label add up; a dimension has
    /// ranges of one of its labels, or of its own. Ranges that hold no label select nothing.
    ///
    /// See [`Label`](crate::Label) for an example.
    pub fn label_range<T: RangeEnd>(mut self, label: &str, range: impl RangeBounds<T>) -> Self {
        let extent = match self.array.schema().label(label) {
            Some(found) => extent_of(&found.as_dimension(), &range),
            None => Err(no_label(&self.array, label)),
        };
        match extent {
            Ok(extent) => {
                let ranges = &mut self.request.label_ranges;
                match ranges.iter_mut().find(|ranges| ranges.label == label) {
                    Some(known) => known.ranges.push(extent),
                    None => ranges.push(LabelRange { label: label.to_owned(), ranges: vec![extent] }),
                }
            }
            Err(error) => {
                self.refused.get_or_insert(error);
            }
        }
        self
    }

    /// As [`range`](ReadBuilder::range), in the numbers of the engine.
    pub fn extent(mut self, dimension: &str, extent: Extent) -> Self {
        let found = self.array.schema().dimension(dimension).map(|(idx, _)| (idx, extent));
        self.add(found.ok_or_else(|| no_dimension(&self.array, dimension)));
        self
    }

    fn add(&mut self, extent: Result<(usize, Extent)>) {
        match extent {
            Ok((idx, extent)) => self.request.ranges[idx].push(extent),
            Err(error) => {
                self.refused.get_or_insert(error);
            }
        }
    }

    /// The order of the cells: row-major, column-major, global, or (sparse, fastest) unordered.
    pub fn order(mut self, layout: Layout) -> Self {
        self.request.layout = Some(layout);
        self
    }

    /// The most cells of a batch, by default about a million. It says how cells are handed out, not how they are read: small batches
    /// cost no tile a second decoding, and whoever wants a few cells pulls one small batch.
    pub fn batch_cells(mut self, cell_count: usize) -> Self {
        self.request.batch_cell_count = Some(cell_count);
        self
    }

    /// Only cells that fulfil a condition; conditions of several calls must all hold. Sparse reads leave the other cells out,
    /// dense ones give fill values for them; see [`matching_only`](ReadBuilder::matching_only).
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::Condition;
    /// # let schema = Schema::sparse()
    /// #     .dimension(Dimension::new("x", 0..=99))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .build()?;
    /// # let array = Array::create("mem://filter-docs", &schema)?;
    /// array.write().column("x", &[1, 2, 3]).column("a", &[10, 20, 30]).commit()?;
    /// let condition: Condition = "a > 10 and x < 3".parse()?;
    /// assert_eq!(array.read().filter(condition).collect()?.num_rows(), 1);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn filter(mut self, condition: Condition) -> Self {
        self.request.condition = Some(match self.request.condition.take() {
            Some(earlier) => earlier.and(condition),
            None => condition,
        });
        self
    }

    /// Leaves out the cells of a dense array that do not fulfil the condition, instead of giving fill values for them.
    pub fn matching_only(mut self) -> Self {
        self.request.leaves_out = true;
        self
    }

    /// The most cells of the whole read: the first ones in its order, or any where it has none. The read ends, and fetches nothing more,
    /// when it has them.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://limit-docs", &schema)?;
    /// assert_eq!(array.read().limit(3).collect()?.num_rows(), 3);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn limit(mut self, cell_count: u64) -> Self {
        self.request.limit = Some(cell_count);
        self
    }

    /// The most bytes that the read holds at once, batches that were handed out not counted. By default half a GiB. A read
    /// with little memory takes longer; one that cannot work at all is refused with the number that would do.
    pub fn memory(mut self, byte_len: usize) -> Self {
        self.request.memory_byte_len = Some(byte_len);
        self
    }

    /// Which Arrow types batches have where there is a choice.
    pub fn arrow_form(mut self, form: ArrowForm) -> Self {
        self.form = form;
        self
    }

    /// The cells as a stream of Arrow record batches.
    ///
    /// # Errors
    /// `InvalidArgument` for unknown fields, ranges that do not fit their dimension, or an order that the array does not
    /// have; `Corrupt` and `Permission` from the array's files.
    pub fn batches(self) -> Result<RecordBatches> {
        let (form, snapshot, context) = (self.form, self.array.snapshot(), self.array.context().clone());
        RecordBatches::new(self.columns()?, &snapshot?, form, context)
    }

    /// Plans the read: how much it will give, and the splits that it divides into.
    ///
    /// # Errors
    /// As [`batches`](ReadBuilder::batches).
    pub fn scan(self) -> Result<Scan> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        self.array.scan_raw(&self.request).map(|scan| scan.with_form(self.form))
    }

    /// The cells as a stream of columns in the engine's own layout, for programs that do not speak Arrow.
    ///
    /// # Errors
    /// As [`batches`](ReadBuilder::batches).
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://columns-docs", &schema)?;
    /// # array.write().column("a", &[5, 6]).commit()?;
    /// for batch in array.read().select(["a"]).columns()? {
    ///     assert_eq!(batch?.columns[0].data.values::<i32>(), [5, 6]);
    /// }
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn columns(self) -> Result<Batches> {
        match self.refused {
            Some(error) => Err(error),
            None => self.array.read_raw(&self.request),
        }
    }

    /// How the read would be carried out; see [`Explanation`].
    ///
    /// # Errors
    /// As [`batches`](ReadBuilder::batches).
    pub fn explain(self) -> Result<Explanation> {
        match self.refused {
            Some(error) => Err(error),
            None => self.array.explain_raw(&self.request),
        }
    }

    /// Tells how far the read is, and can stop it, from another thread.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::{ErrorKind, Progress};
    /// use std::sync::Arc;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://progress-docs", &schema)?;
    /// let progress = Arc::new(Progress::new());
    /// let mut batches = array.read().progress(Arc::clone(&progress)).batches()?;
    /// progress.cancel();
    /// assert_eq!(batches.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.request.progress = Some(progress);
        self
    }

    /// Aggregates of the selected cells, in their order; `None` where no cell has a value, or none of a dense array was ever
    /// written (see [`RecordBatches::is_unwritten`]). Whole tiles are answered from their
    /// statistics. In dense arrays too only the cells that fulfil the condition count.
    ///
    /// # Errors
    /// As [`batches`](ReadBuilder::batches); `InvalidArgument` for functions that a field's type does not have, and sums that
    /// leave 64 bits.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::Aggregate;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://aggregate-docs", &schema)?;
    /// array.write().column("a", &[5, 1, 4, 1, 5, 9, 2, 6, 5, 3]).commit()?;
    /// let wanted = [Aggregate::count(), Aggregate::sum("a"), Aggregate::max("a")];
    /// let found = array.read().range("x", 0..=4).filter(field("a").gt(1)).aggregate(wanted)?;
    /// assert_eq!(found[0].as_ref().and_then(|count| count.to_vec::<u64>()), Some(vec![3]));
    /// assert_eq!(found[1].as_ref().and_then(|sum| sum.to_vec::<i64>()), Some(vec![14]));
    /// assert_eq!(found[2].as_ref().and_then(|max| max.to_vec::<i32>()), Some(vec![5]));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn aggregate(self, aggregates: impl IntoIterator<Item = Aggregate>) -> Result<Vec<Option<Value>>> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        if self.request.limit.is_some() {
            return Err(Error::invalid(
                "an aggregate is of all cells; leave out the limit, or narrow the ranges",
            ));
        }
        self.array.aggregate_raw(&AggregateRequest {
            aggregates: aggregates.into_iter().collect(),
            ranges: self.request.ranges,
            is_strict: self.request.is_strict,
            label_ranges: self.request.label_ranges,
            condition: self.request.condition,
            memory_byte_len: self.request.memory_byte_len,
            saturates: false,
            progress: self.request.progress,
            ..AggregateRequest::default()
        })
    }

    /// All cells in one record batch.
    ///
    /// # Errors
    /// As [`batches`](ReadBuilder::batches); `OutOfMemory` when they do not fit.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://collect-docs", &schema)?;
    /// let batch = array.read().range("x", ..5).collect()?;
    /// assert_eq!((batch.num_rows(), batch.num_columns()), (5, 2));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn collect(self) -> Result<RecordBatch> {
        self.batches()?.join()
    }

    /// An attribute of a dense array as an `ndarray` array, with an axis for each dimension, and one more for attributes of
    /// several values a cell. In column-major order the array is in Fortran layout.
    ///
    /// Ranges cut the axes; several ranges of a dimension follow each other.
    ///
    /// # Errors
    /// As [`batches`](ReadBuilder::batches); `InvalidArgument` when the array is sparse, the attribute var-sized or of
    /// another type than `T`, or a cell is null.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// let schema = Schema::dense()
    ///     .dimension(Dimension::new("row", 1..=4).tile(2))
    ///     .dimension(Dimension::new("col", 1..=4).tile(2))
    ///     .attribute(Attribute::of::<i32>("a"))
    ///     .build()?;
    /// let array = Array::create("mem://to-ndarray-docs", &schema)?;
    /// array.write().column("a", &(0..16).collect::<Vec<i32>>()).commit()?;
    /// let part = array.read().range("row", 2..=3).range("col", 1..=2).to_ndarray::<i32>("a")?;
    /// assert_eq!(part, smalti::ndarray::array![[4, 5], [8, 9]].into_dyn());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn to_ndarray<T: Number>(mut self, attribute: &str) -> Result<ArrayD<T>> {
        let schema = self.array.schema().clone();
        if !self.request.label_ranges.is_empty() {
            return Err(Error::invalid(
                "ranges of labels tell no shape; read batches, or give ranges of dimensions",
            ));
        }
        if self.request.limit.is_some() {
            return Err(Error::invalid("a limit tells no shape; read batches, or give ranges"));
        }
        let layout = self.request.layout.unwrap_or(Layout::RowMajor);
        if !schema.is_dense() || !matches!(layout, Layout::RowMajor | Layout::ColMajor) {
            return Err(Error::invalid("an ndarray holds dense arrays, in row-major or col-major order"));
        }
        let Some((_, field)) = schema.attribute(attribute) else {
            return Err(unknown_field(&schema, attribute));
        };
        let per_cell =
            field.cell_val_num.fixed().filter(|_| field.datatype.physical() == T::DATATYPE.physical());
        let Some(per_cell) = per_cell else {
            let (datatype, asked) = (field.datatype, std::any::type_name::<T>());
            return Err(Error::invalid(if field.is_var() {
                format!(
                    "attribute {attribute:?} holds any number of values a cell; an ndarray holds a fixed number"
                )
            } else {
                format!(
                    "attribute {attribute:?} is of type {datatype}, and an ndarray holds values as they are stored, not as {asked}; \
                     ask for the type that {datatype} is stored as, and convert it with mapv"
                )
            }));
        };
        let mut shape = axes(&self)?;
        let cell_count = shape.iter().try_fold(1_usize, |count, &len| count.checked_mul(len));
        let cell_count = cell_count
            .ok_or_else(|| Error::invalid("the ranges hold more cells than memory; narrow them"))?;
        if per_cell > 1 {
            shape.push(per_cell);
        }
        self.request.fields = vec![attribute.to_owned()];
        self.request.batch_cell_count = Some(cell_count.max(1));
        let batches = self.columns()?;
        let progress = Arc::clone(batches.progress());
        let mut values: Vec<T> = Vec::new();
        values
            .try_reserve_exact(shape.iter().fold(1, |count: usize, &len| count.saturating_mul(len)))
            .map_err(|error| {
                Error::new(
                    ErrorKind::OutOfMemory,
                    format!("attribute {attribute:?} of {cell_count} cells: {error}"),
                )
            })?;
        for batch in batches {
            for column in batch?.columns {
                let nulls = column.validity.as_ref().map(|validity| validity.as_slice());
                if let Some(cell) = nulls.and_then(|nulls| nulls.iter().position(|&byte| byte == 0)) {
                    let cell = values.len() / per_cell + cell;
                    return Err(Error::invalid(format!(
                        "cell {cell} of attribute {attribute:?} is null, which an ndarray cannot hold; read batches"
                    )));
                }
                for part in column.data.values().chunks(CELLS_BETWEEN_CHECKS) {
                    progress.check()?;
                    values.extend_from_slice(part);
                }
            }
        }
        shaped(values, shape, per_cell, layout)
    }
}

/// Values with their shape. In column-major order the values of one cell still follow each other.
fn shaped<T: Number>(
    values: Vec<T>,
    shape: Vec<usize>,
    per_cell: usize,
    layout: Layout,
) -> Result<ArrayD<T>> {
    let misshapen = |error| Error::corrupt(format!("the cells do not fill the ranges: {error}"));
    if layout == Layout::RowMajor {
        return ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(misshapen);
    }
    if per_cell == 1 {
        return ArrayD::from_shape_vec(IxDyn(&shape).f(), values).map_err(misshapen);
    }
    let mut rotated = shape;
    rotated.rotate_right(1);
    let mut axes: Vec<usize> = (1..rotated.len()).collect();
    axes.push(0);
    Ok(ArrayD::from_shape_vec(IxDyn(&rotated).f(), values).map_err(misshapen)?.permuted_axes(axes))
}

/// The number of positions on each dimension that a dense read takes.
fn axes(read: &ReadBuilder) -> Result<Vec<usize>> {
    let schema = read.array.schema();
    let current = schema.current_domain.rectangle();
    let dimensions = schema.dimensions.iter().zip(&read.request.ranges).enumerate();
    let lengths = dimensions.map(|(idx, (dimension, ranges))| {
        let whole = match (current.and_then(|current| current.get(idx)), dimension.domain) {
            (Some(Extent::Num { lo, hi }), _) => Some((*lo, *hi)),
            (_, Some((lo, hi))) => Some((lo.ordinal(), hi.ordinal())),
            _ => None,
        }?;
        let length = |extent: &Extent| match extent {
            Extent::Num { lo, hi } => {
                let (lo, hi) = ((*lo).max(whole.0), (*hi).min(whole.1));
                if lo <= hi { u128::from(hi - lo) + 1 } else { 0 }
            }
            Extent::Str { .. } => 0,
        };
        let total: u128 = if ranges.is_empty() {
            u128::from(whole.1.saturating_sub(whole.0)) + 1
        } else {
            ranges.iter().map(length).sum()
        };
        usize::try_from(total).ok()
    });
    lengths
        .collect::<Option<_>>()
        .ok_or_else(|| Error::invalid("the ranges hold more cells than memory; narrow them"))
}

fn is_open<T>(bound: Bound<&T>) -> bool {
    matches!(bound, Bound::Unbounded)
}

/// A range whose open ends are those of the current domain.
fn within(extent: Extent, current: Option<&Extent>, open: (bool, bool)) -> Extent {
    let (is_right, narrowed) = match (&extent, current) {
        (Extent::Num { lo, hi }, Some(Extent::Num { lo: first, hi: last })) => {
            let (lo, hi) = (if open.0 { *first } else { *lo }, if open.1 { *last } else { *hi });
            (lo <= hi, Extent::Num { lo, hi })
        }
        (Extent::Str { lo, hi }, Some(Extent::Str { lo: first, hi: last })) => {
            let (lo, hi) = (if open.0 { first } else { lo }, if open.1 { last } else { hi });
            let is_right = hi.as_ref().is_none_or(|hi| lo <= hi);
            (is_right, Extent::Str { lo: lo.clone(), hi: hi.clone() })
        }
        _ => return extent,
    };
    // Where nothing is left, the range is cut as one that leaves the current domain.
    if is_right { narrowed } else { extent }
}

fn no_label(array: &Array, name: &str) -> Error {
    let schema = array.schema();
    let names: Vec<&str> = schema.dimension_labels.iter().map(|label| label.name.as_str()).collect();
    Error::invalid(match names.is_empty() {
        true => format!("there is no dimension label {name:?}; the array has none"),
        false => format!("there is no dimension label {name:?}; the labels are {}", names.join(", ")),
    })
}

pub(crate) fn no_dimension(array: &Array, name: &str) -> Error {
    let schema = array.schema();
    let names: Vec<&str> = schema.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    Error::invalid(format!("there is no dimension {name:?}; the dimensions are {}", names.join(", ")))
}
