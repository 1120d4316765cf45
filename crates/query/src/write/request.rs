//! What is asked of a write.

use crate::progress::Progress;
use smalti_array::NewFragment;
use smalti_format::ArraySchema;
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Error, Extent, Layout, Result};
use std::sync::Arc;

/// Cells to write. Every attribute must be given, and for sparse arrays every dimension.
#[derive(Debug, Clone)]
pub struct WriteRequest<'a> {
    /// The cells of each field, all of the same number.
    pub columns: Vec<(String, ColumnRef<'a>)>,
    /// Dense arrays: the rectangle that the cells fill, in ordinals; `None` for the whole current
    /// domain, which is the domain where there is none.
    pub subarray: Option<Vec<Extent>>,
    /// The order of the cells. Dense: row-major, column-major, or global. Sparse: unordered or global.
    pub layout: Layout,
    /// The write's timestamp in milliseconds; `None` for now, later than every earlier write of this process.
    pub at: Option<u64>,
    /// Sparse arrays without duplicates: what happens to cells of equal coordinates in one write.
    pub duplicates: Duplicates,
    /// Where the write tells how far it is, and listens for the word to stop. A write that is stopped leaves nothing.
    pub progress: Option<Arc<Progress>>,
}

/// What happens to cells of equal coordinates in one write, where the schema does not allow them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// The write is refused and the first of them named.
    #[default]
    Refuse,
    /// The first of them in the order of the columns is written.
    KeepFirst,
    /// Nobody looks for them, and all are written: for programs that know that there are none. Where there are some after all, reads
    /// give either all or one of them.
    KeepAll,
}

/// What of the cells of a sparse write nobody checks, for programs that have done so. Nothing by default.
///
/// Cells of which it does not hold are stored. Reads without ranges find those outside the domain, and reads with ranges those that lie
/// in them; of cells that are out of order reads with ranges may miss some of those in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unchecked {
    /// That the coordinates lie in the domain. A current domain is held to anyway.
    pub domain: bool,
    /// That the cells of a write in global order come in it.
    pub order: bool,
}

/// Names the fragment of a write, once all that can be refused of it is checked.
pub(super) type Naming<'a> = &'a dyn Fn() -> Result<NewFragment>;

/// The orders that an array can be written in.
pub(crate) fn check_layout(schema: &ArraySchema, layout: Layout) -> Result<()> {
    use Layout::*;
    match (schema.array_type, layout) {
        (ArrayType::Dense, RowMajor | ColMajor | GlobalOrder)
        | (ArrayType::Sparse, Unordered | GlobalOrder) => Ok(()),
        (ArrayType::Dense, _) => Err(Error::invalid(format!(
            "dense arrays are written in row-major, col-major or global order, not {layout}"
        ))),
        (ArrayType::Sparse, _) => Err(Error::invalid(format!(
            "sparse arrays are written unordered or in global order, not {layout}"
        ))),
    }
}
