//! The order of sparse cells: what a schema says about it.

use crate::Interval;
use crate::tile_number::integer_extent;
use smalti_types::{Datatype, Error, Layout, Result, Scalar};

/// What the order of cells depends on in one dimension.
#[derive(Debug, Clone, Copy)]
pub struct OrderDim {
    /// The datatype; text types are string dimensions.
    pub datatype: Datatype,
    /// The domain, in ordinals; not looked at on string dimensions.
    pub domain: Interval,
    /// The tile extent, in the dimension's type; `None` where the dimension is not cut into tiles.
    pub extent: Option<Scalar>,
}

impl OrderDim {
    /// Whether coordinates are strings.
    pub fn is_string(&self) -> bool {
        self.datatype.is_string()
    }
}

/// An order of sparse cells.
///
/// * The *global* order: tile coordinates compared dimension by dimension in the tile order, then coordinates in the
///   cell order. Dimensions without an extent and string dimensions have no tile coordinate. With the Hilbert cell
///   order there are no tiles: cells come by their place on the curve, equal ones row by row.
/// * A *plain* order: coordinates alone, row by row or column by column.
///
/// Numbers are compared by value, so that -0.0 and 0.0 are in the same place; of two cells that differ in nothing else,
/// -0.0 comes first. Strings are compared byte by byte.
#[derive(Debug, Clone)]
pub struct CellOrder {
    pub(crate) dims: Vec<OrderDim>,
    pub(crate) tile_order: Option<Layout>,
    pub(crate) cell_order: Layout,
}

impl CellOrder {
    /// The global order of an array.
    ///
    /// # Errors
    /// `InvalidArgument` without dimensions, for an order that does not apply, an extent that is not a positive number
    /// of the dimension's type, or a Hilbert order of more than 15 dimensions.
    pub fn global(dims: Vec<OrderDim>, tile_order: Layout, cell_order: Layout) -> Result<Self> {
        if cell_order == Layout::Hilbert {
            crate::Hilbert::new(dims.len())?;
            return CellOrder::checked(dims, None, cell_order);
        }
        CellOrder::checked(dims, Some(tile_order), cell_order)
    }

    /// The order of coordinates without regard to tiles, row-major or column-major.
    ///
    /// # Errors
    /// `InvalidArgument` without dimensions or for another order.
    pub fn plain(dims: Vec<OrderDim>, order: Layout) -> Result<Self> {
        if order == Layout::Hilbert {
            return Err(Error::invalid("hilbert is no plain order; it is a global order"));
        }
        CellOrder::checked(dims, None, order)
    }

    /// The dimensions.
    pub fn dims(&self) -> &[OrderDim] {
        &self.dims
    }

    fn checked(dims: Vec<OrderDim>, tile_order: Option<Layout>, cell_order: Layout) -> Result<Self> {
        if dims.is_empty() {
            return Err(Error::invalid("an order of cells needs a dimension"));
        }
        if tile_order.is_some_and(|order| !matches!(order, Layout::RowMajor | Layout::ColMajor)) {
            return Err(Error::invalid("tiles are ordered row-major or col-major"));
        }
        if !matches!(cell_order, Layout::RowMajor | Layout::ColMajor | Layout::Hilbert) {
            return Err(Error::invalid(format!("{cell_order} is no order of cells")));
        }
        for (i, dim) in dims.iter().enumerate() {
            if let Some(extent) = dim.extent.filter(|_| tile_order.is_some() && !dim.is_string()) {
                let fits = if dim.datatype.is_float() {
                    extent.as_f64() > 0.0 && extent.as_f64().is_finite()
                } else {
                    integer_extent(extent).is_some()
                };
                if !fits {
                    return Err(Error::invalid(format!(
                        "the tile extent {extent} of dimension {i} is not above 0"
                    )));
                }
            }
        }
        Ok(CellOrder { dims, tile_order, cell_order })
    }

    /// Dimensions from the most to the least significant in an order.
    pub(crate) fn significance(&self, order: Layout) -> Vec<usize> {
        if order == Layout::ColMajor {
            (0..self.dims.len()).rev().collect()
        } else {
            (0..self.dims.len()).collect()
        }
    }
}
