//! Orders of tiles and cells, and the two kinds of array.

use std::fmt;

/// An order of cells or tiles, with its on-disk tag as discriminant (specification: `array_schema.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Layout {
    /// The last dimension varies fastest.
    RowMajor = 0,
    /// The first dimension varies fastest.
    ColMajor = 1,
    /// Tile by tile in the array's tile order, within each tile in its cell order; for Hilbert arrays along the curve.
    GlobalOrder = 2,
    /// Any order.
    Unordered = 3,
    /// Along the Hilbert curve; a cell order of sparse arrays only.
    Hilbert = 4,
}

impl Layout {
    /// The order of an on-disk tag.
    pub fn from_tag(tag: u8) -> Option<Layout> {
        use Layout::*;
        [RowMajor, ColMajor, GlobalOrder, Unordered, Hilbert].get(usize::from(tag)).copied()
    }

    /// The on-disk tag.
    pub fn tag(self) -> u8 {
        self as u8
    }

    /// The name in schemas printed as JSON, such as `row-major`.
    pub fn name(self) -> &'static str {
        match self {
            Layout::RowMajor => "row-major",
            Layout::ColMajor => "col-major",
            Layout::GlobalOrder => "global",
            Layout::Unordered => "unordered",
            Layout::Hilbert => "hilbert",
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether every cell of the domain has a value (dense), or only those written (sparse).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ArrayType {
    /// Every cell of the domain has a value; unwritten ones the fill value.
    Dense = 0,
    /// Only written cells exist; coordinates are stored.
    Sparse = 1,
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrayType::Dense => "dense",
            ArrayType::Sparse => "sparse",
        })
    }
}
