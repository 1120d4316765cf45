//! What is asked of a read, and the batches that answer.

use crate::condition::Condition;
use crate::part::OrderPart;
use crate::progress::Progress;
use smalti_tile::{CellShape, Column};
use smalti_types::{Extent, Layout};
use std::sync::Arc;

/// The name under which the write times of cells are read from sparse arrays.
pub const TIMESTAMPS_FIELD: &str = "__timestamps";

/// What to read. The default asks for everything.
#[derive(Debug, Clone, Default)]
pub struct ReadRequest {
    /// Attributes, dimensions and dimension labels by name, and [`TIMESTAMPS_FIELD`]; empty for all dimensions, then all
    /// attributes. A read of nothing but labels of one dimension gives a row for each position on it, not for each cell.
    pub fields: Vec<String>,
    /// Per dimension the wanted ranges, in ordinals; empty for the whole dimension. Fewer lists than dimensions leave the
    /// last ones whole. What of a range leaves the domain selects nothing; a range that lies outside it is refused.
    pub ranges: Vec<Vec<Extent>>,
    /// Whether ranges that leave the domain, or the current one, are refused instead of cut.
    pub is_strict: bool,
    /// Wanted ranges of dimension labels, for dimensions that have no ranges of their own.
    pub label_ranges: Vec<LabelRange>,
    /// The order of the cells; `None` for row-major (dense) or global order (sparse).
    pub layout: Option<Layout>,
    /// The most cells of a batch, but at least one; `None` for the default of [`DEFAULT_BATCH_CELL_COUNT`]. Batches are cut out of
    /// larger steps, so that small ones cost little more.
    pub batch_cell_count: Option<usize>,
    /// The most cells of the whole read, the first ones in its order; it ends, and fetches nothing more, when it has them. `None` for
    /// all.
    pub limit: Option<u64>,
    /// Of a sparse read: the part of the order of its cells that is wanted, as splits divide it; `None` for all.
    pub part: Option<OrderPart>,
    /// The most bytes that the read holds at once, results that were handed out not counted; `None` for
    /// [`DEFAULT_MEMORY_BYTE_LEN`](crate::DEFAULT_MEMORY_BYTE_LEN). With less memory a read takes longer.
    pub memory_byte_len: Option<usize>,
    /// Whether everything is read from the store, even if an earlier read kept it.
    pub is_fresh: bool,
    /// Whether the digests of checksum filters are not compared: damaged cells come as they are. Such a read neither looks for tiles that
    /// an earlier one kept nor keeps any.
    pub skips_checksums: bool,
    /// What cells have to fulfil: sparse reads leave out the others, dense ones give fill values for them.
    pub condition: Option<Condition>,
    /// Whether dense reads leave out the cells that do not fulfil the condition, as sparse ones do.
    pub leaves_out: bool,
    /// Whether dense reads leave out what no fragment covers, so that they take as long as what was written, however large the
    /// domain is. Cells beside written ones may still come, with fill values.
    pub written_only: bool,
    /// Where the read tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

/// Ranges of a dimension label: of the dimension the positions whose labels lie in one of them are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelRange {
    /// The label's name.
    pub label: String,
    /// The ranges, in ordinals of the label's type.
    pub ranges: Vec<Extent>,
}

/// Cells of a batch where the request names no number.
pub const DEFAULT_BATCH_CELL_COUNT: usize = 1 << 20;

/// A field of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultField {
    /// The name of the attribute or dimension.
    pub name: String,
    /// What its cells are.
    pub shape: CellShape,
    /// Whether it is a dimension.
    pub is_dimension: bool,
}

/// Some cells of a result, in the order of the request's layout.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The number of cells.
    pub cell_count: usize,
    /// One column per field, in the order of the fields.
    pub columns: Vec<Column>,
}
