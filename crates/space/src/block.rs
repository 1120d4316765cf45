//! Blocks of tiles: the numbering of a dense fragment's tiles, and walks over them.

use crate::{GridDim, Interval, TileGrid};
use smalti_types::{Error, Layout, Result};

/// A box of tiles of a grid, numbered from 0 in the tile order.
///
/// The data tiles of a dense fragment are the block around its non-empty domain: tile number `i` of the fragment is
/// tile `i` of the block (specification: `fragment.md`, tile offsets).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileBlock {
    /// First and last tile coordinate per dimension.
    tiles: Box<[Interval]>,
    /// Tile numbers from one tile to the next along each dimension.
    strides: Box<[u64]>,
    tile_count: u64,
    tile_order: Layout,
}

impl TileBlock {
    /// The block between these tile coordinates, in row-major or column-major order.
    ///
    /// # Errors
    /// `InvalidArgument` when the tiles cannot be counted in `u64`, an interval is inverted, for another order or
    /// without dimensions.
    pub fn new(tiles: impl Into<Box<[Interval]>>, tile_order: Layout) -> Result<Self> {
        let tiles = tiles.into();
        if tiles.is_empty() {
            return Err(Error::invalid("a block of tiles needs a dimension"));
        }
        let mut strides = vec![0u64; tiles.len()].into_boxed_slice();
        let mut tile_count = 1u64;
        for step in 0..tiles.len() {
            let dim = match tile_order {
                Layout::RowMajor => tiles.len() - 1 - step,
                Layout::ColMajor => step,
                other => return Err(Error::invalid(format!("{other} is no order of tiles"))),
            };
            Interval::new(tiles[dim].lo, tiles[dim].hi)?;
            strides[dim] = tile_count;
            tile_count = u64::try_from(tiles[dim].value_count())
                .ok()
                .and_then(|along| tile_count.checked_mul(along))
                .ok_or_else(|| Error::invalid("the rectangle meets more tiles than can be counted"))?;
        }
        Ok(TileBlock { tiles, strides, tile_count, tile_order })
    }

    /// The number of tiles.
    pub fn tile_count(&self) -> u64 {
        self.tile_count
    }

    /// First and last tile coordinate per dimension.
    pub fn tiles(&self) -> &[Interval] {
        &self.tiles
    }

    /// The number of a tile in the block; `None` when it is not in it.
    pub fn tile_idx(&self, tile: &[u64]) -> Option<u64> {
        if tile.len() != self.tiles.len() {
            return None;
        }
        let mut idx = 0;
        for ((along, side), stride) in tile.iter().zip(&self.tiles).zip(&self.strides) {
            if !side.contains(*along) {
                return None;
            }
            // Bounded by the tile count, which was checked.
            idx += (along - side.lo) * stride;
        }
        Some(idx)
    }

    /// Writes the coordinates of tile number `tile_idx`, and says whether there is such a tile.
    pub fn tile_coords(&self, tile_idx: u64, tile: &mut [u64]) -> bool {
        if tile_idx >= self.tile_count || tile.len() != self.tiles.len() {
            return false;
        }
        for ((along, side), stride) in tile.iter_mut().zip(&self.tiles).zip(&self.strides) {
            *along = side.lo + tile_idx / stride % (side.hi - side.lo).saturating_add(1);
        }
        true
    }

    /// A walk over all tiles in tile order.
    pub fn walk(&self) -> TileWalk<'_> {
        TileWalk::new(self, Some(self.tiles.clone()))
    }

    /// A walk, in tile order, over the tiles that meet a rectangle. Parts of the rectangle outside the domain or
    /// outside the block are left out.
    pub fn walk_overlapping(&self, grid: &TileGrid, rect: &[Interval]) -> TileWalk<'_> {
        let shared = |dim: usize| {
            let domain = grid.dims().get(dim)?.domain;
            let side = rect.get(dim)?.intersect(domain)?;
            let tiles = Interval { lo: grid.tile_along(dim, side.lo)?, hi: grid.tile_along(dim, side.hi)? };
            tiles.intersect(self.tiles[dim])
        };
        TileWalk::new(self, (0..self.tiles.len()).map(shared).collect())
    }
}

impl TileGrid {
    /// The block of tiles that meet a rectangle: the tile domain of a fragment whose non-empty domain this is.
    ///
    /// # Errors
    /// `InvalidArgument` when the rectangle is not inside the domain, or its tiles cannot be counted in `u64`.
    pub fn block(&self, rect: &[Interval]) -> Result<TileBlock> {
        self.check_inside(rect)?;
        let tiles: Vec<Interval> = rect
            .iter()
            .zip(self.dims())
            .map(|(side, GridDim { domain, extent })| Interval {
                lo: (side.lo - domain.lo) / extent,
                hi: (side.hi - domain.lo) / extent,
            })
            .collect();
        TileBlock::new(tiles, self.tile_order())
    }
}

/// A walk over tiles of a block in tile order. Allocates when made, never while walking.
#[derive(Debug, Clone)]
pub struct TileWalk<'a> {
    block: &'a TileBlock,
    bounds: Box<[Interval]>,
    tile: Box<[u64]>,
    tile_idx: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    Walking,
    Done,
}

impl<'a> TileWalk<'a> {
    fn new(block: &'a TileBlock, bounds: Option<Box<[Interval]>>) -> Self {
        let state = if bounds.is_some() { State::Fresh } else { State::Done };
        let bounds = bounds.unwrap_or_default();
        let tile: Box<[u64]> = bounds.iter().map(|side| side.lo).collect();
        let tile_idx = block.tile_idx(&tile).unwrap_or(0);
        TileWalk { block, bounds, tile, tile_idx, state }
    }

    /// The number of tiles of the whole walk.
    pub fn tile_count(&self) -> u64 {
        if self.bounds.is_empty() {
            return 0;
        }
        // A part of the block, whose tiles are countable.
        self.bounds.iter().map(|side| side.hi - side.lo + 1).product()
    }

    /// The next tile: its number in the block and its coordinates.
    #[allow(clippy::should_implement_trait, reason = "an iterator cannot lend the coordinates")]
    pub fn next(&mut self) -> Option<(u64, &[u64])> {
        match self.state {
            State::Done => return None,
            State::Fresh => self.state = State::Walking,
            State::Walking => {
                if !self.step() {
                    self.state = State::Done;
                    return None;
                }
            }
        }
        Some((self.tile_idx, &self.tile))
    }

    fn step(&mut self) -> bool {
        let dims = self.tile.len();
        for step in 0..dims {
            let dim = if self.block.tile_order == Layout::RowMajor { dims - 1 - step } else { step };
            let Interval { lo, hi } = self.bounds[dim];
            if self.tile[dim] < hi {
                self.tile[dim] += 1;
                self.tile_idx += self.block.strides[dim];
                return true;
            }
            self.tile_idx -= (hi - lo) * self.block.strides[dim];
            self.tile[dim] = lo;
        }
        false
    }
}
