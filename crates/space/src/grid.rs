//! The regular grid of space tiles.

use crate::{Interval, cell_count, strides};
use smalti_types::{Error, Layout, Result};

/// One dimension of a tile grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridDim {
    /// The domain, in ordinals.
    pub domain: Interval,
    /// Cells along one tile, at least 1. It may exceed the domain.
    pub extent: u64,
}

/// The space tiles of an array with integer or date dimensions that all have a tile extent.
///
/// Tiles start at the low end of the domain; the last tile along a dimension may reach beyond the domain, and even
/// beyond the ordinals: its interval then ends at `u64::MAX`, while its shape stays the full extent.
/// No operation overflows, whatever the domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileGrid {
    dims: Box<[GridDim]>,
    tile_order: Layout,
}

impl TileGrid {
    /// A grid of these dimensions with its tiles in row-major or column-major order.
    ///
    /// # Errors
    /// `InvalidArgument` without dimensions, for an extent of 0, an inverted domain or another order.
    pub fn new(dims: impl Into<Box<[GridDim]>>, tile_order: Layout) -> Result<Self> {
        let dims = dims.into();
        if dims.is_empty() {
            return Err(Error::invalid("a tile grid needs a dimension"));
        }
        if !matches!(tile_order, Layout::RowMajor | Layout::ColMajor) {
            return Err(Error::invalid(format!("{tile_order} is no order of tiles")));
        }
        for (dim, GridDim { domain, extent }) in dims.iter().enumerate() {
            Interval::new(domain.lo, domain.hi)?;
            if *extent == 0 {
                return Err(Error::invalid(format!("the tile extent of dimension {dim} is 0")));
            }
        }
        Ok(TileGrid { dims, tile_order })
    }

    /// The dimensions.
    pub fn dims(&self) -> &[GridDim] {
        &self.dims
    }

    /// The number of dimensions.
    pub fn dim_count(&self) -> usize {
        self.dims.len()
    }

    /// The order of tiles.
    pub fn tile_order(&self) -> Layout {
        self.tile_order
    }

    /// The domain as a rectangle.
    pub fn domain(&self) -> Vec<Interval> {
        self.dims.iter().map(|dim| dim.domain).collect()
    }

    /// The number of cells along each dimension of a tile.
    pub fn tile_shape(&self) -> Vec<u64> {
        self.dims.iter().map(|dim| dim.extent).collect()
    }

    /// The strides, in cells, inside a tile whose cells are in row-major or column-major order.
    ///
    /// # Errors
    /// As [`strides`].
    pub fn cell_strides(&self, cell_order: Layout) -> Result<Vec<usize>> {
        strides(&self.tile_shape(), cell_order)
    }

    /// The number of cells of a tile; `None` when it exceeds `u64`.
    pub fn cell_count_per_tile(&self) -> Option<u64> {
        self.dims.iter().try_fold(1u64, |count, dim| count.checked_mul(dim.extent))
    }

    /// The number of cells of the domain; `None` when it exceeds `u64`.
    pub fn cell_count(&self) -> Option<u64> {
        cell_count(&self.domain())
    }

    /// The number of tiles along a dimension, at most 2^64.
    ///
    /// # Panics
    /// When there is no dimension `dim`.
    pub fn tile_count_along(&self, dim: usize) -> u128 {
        let GridDim { domain, extent } = self.dims[dim];
        u128::from((domain.hi - domain.lo) / extent) + 1
    }

    /// The number of tiles of the domain; `None` when it exceeds `u64`.
    pub fn tile_count(&self) -> Option<u64> {
        (0..self.dims.len())
            .try_fold(1u64, |count, dim| count.checked_mul(u64::try_from(self.tile_count_along(dim)).ok()?))
    }

    /// The coordinate, along `dim`, of the tile that holds an ordinal; `None` outside the domain.
    ///
    /// # Panics
    /// When there is no dimension `dim`.
    #[inline]
    pub fn tile_along(&self, dim: usize, ordinal: u64) -> Option<u64> {
        let GridDim { domain, extent } = self.dims[dim];
        domain.contains(ordinal).then(|| (ordinal - domain.lo) / extent)
    }

    /// Writes the coordinates of the tile that holds a cell, and says whether the cell lies in the domain.
    pub fn tile_of(&self, cell: &[u64], tile: &mut [u64]) -> bool {
        if cell.len() != self.dims.len() || tile.len() != self.dims.len() {
            return false;
        }
        cell.iter()
            .zip(tile)
            .enumerate()
            .all(|(dim, (&ordinal, tile))| self.tile_along(dim, ordinal).map(|along| *tile = along).is_some())
    }

    /// The place of a cell among the cells of its tile, whose strides [`cell_strides`](TileGrid::cell_strides) gives;
    /// `None` outside the domain or beyond the address space.
    pub fn position_in_tile(&self, cell: &[u64], cell_strides: &[usize]) -> Option<usize> {
        if cell.len() != self.dims.len() || cell_strides.len() != self.dims.len() {
            return None;
        }
        cell.iter().zip(&self.dims).zip(cell_strides).try_fold(
            0usize,
            |position, ((&ordinal, dim), &stride)| {
                let GridDim { domain, extent } = *dim;
                let along = domain.contains(ordinal).then(|| (ordinal - domain.lo) % extent)?;
                position.checked_add(usize::try_from(along).ok()?.checked_mul(stride)?)
            },
        )
    }

    /// The interval that a tile takes up along a dimension, beyond the domain's end too. It ends at `u64::MAX` where
    /// the tile goes on beyond the ordinals. `None` when no such tile begins in the domain.
    ///
    /// # Panics
    /// When there is no dimension `dim`.
    #[inline]
    pub fn tile_interval(&self, dim: usize, tile: u64) -> Option<Interval> {
        let GridDim { domain, extent } = self.dims[dim];
        let lo = tile.checked_mul(extent)?.checked_add(domain.lo)?;
        (lo <= domain.hi).then(|| Interval { lo, hi: lo.saturating_add(extent - 1) })
    }

    /// Writes the full rectangle of a tile; `false` when the tile is not in the domain.
    /// See [`tile_interval`](TileGrid::tile_interval).
    pub fn tile_rect(&self, tile: &[u64], rect: &mut [Interval]) -> bool {
        if tile.len() != self.dims.len() || rect.len() != self.dims.len() {
            return false;
        }
        tile.iter().zip(rect).enumerate().all(|(dim, (&tile, side))| {
            self.tile_interval(dim, tile).map(|interval| *side = interval).is_some()
        })
    }

    /// Writes the part of a tile's rectangle that lies in the domain; `false` when the tile is not in the domain.
    pub fn clipped_tile_rect(&self, tile: &[u64], rect: &mut [Interval]) -> bool {
        if !self.tile_rect(tile, rect) {
            return false;
        }
        for (side, dim) in rect.iter_mut().zip(&self.dims) {
            side.hi = side.hi.min(dim.domain.hi);
        }
        true
    }

    /// The least rectangle of whole tiles around a rectangle inside the domain, as fragments of dense arrays store it.
    ///
    /// # Errors
    /// `InvalidArgument` when the rectangle is not inside the domain.
    pub fn expand(&self, rect: &[Interval]) -> Result<Vec<Interval>> {
        self.check_inside(rect)?;
        Ok(rect
            .iter()
            .zip(&self.dims)
            .map(|(side, GridDim { domain, extent })| {
                let lo = side.lo - (side.lo - domain.lo) % extent;
                let last = side.hi - (side.hi - domain.lo) % extent;
                Interval { lo, hi: last.saturating_add(extent - 1) }
            })
            .collect())
    }

    /// Whether a rectangle begins and ends at borders of tiles. The end of the domain counts as one.
    pub fn is_tile_aligned(&self, rect: &[Interval]) -> bool {
        rect.len() == self.dims.len()
            && rect.iter().zip(&self.dims).all(|(side, GridDim { domain, extent })| {
                domain.covers(*side)
                    && side.lo <= side.hi
                    && (side.lo - domain.lo) % extent == 0
                    && (side.hi == domain.hi || (side.hi - domain.lo) % extent == extent - 1)
            })
    }

    /// Checks that a rectangle lies in the domain.
    pub(crate) fn check_inside(&self, rect: &[Interval]) -> Result<()> {
        if rect.len() != self.dims.len() {
            return Err(Error::invalid(format!(
                "a rectangle of {} dimensions does not fit a grid of {}",
                rect.len(),
                self.dims.len()
            )));
        }
        for (dim, (side, grid)) in rect.iter().zip(&self.dims).enumerate() {
            if side.lo > side.hi || !grid.domain.covers(*side) {
                return Err(Error::invalid(format!(
                    "on dimension {dim} the ordinals {}:{} do not lie inside the domain {}:{}",
                    side.lo, side.hi, grid.domain.lo, grid.domain.hi
                )));
            }
        }
        Ok(())
    }
}
