//! What of a dense read comes next: parts of the result, or the wanted parts of tiles, made one by one. A domain may have more
//! tiles than memory has room for, and more than anybody wants to walk over.

use super::blank::merged;
use super::boxes::{Axis, ContiguousParts, Part, contiguous_parts, part_cell_count, rect_cell_count};
use super::plan::DensePlan;
use super::walk::{Found, Grain, Walk};
use smalti_space::{Interval, TileBlock, TileGrid, intersect_rects};
use smalti_types::{Error, Layout, Result};

/// Parts of the result are read as they are where one cell of so many was written: cutting them into rows costs more, because
/// tiles are decoded for each.
const OF_PARTS: Grain = Grain { sparseness: 64, least_cell_count: 1 << 12 };

/// Tiles are read one by one.
const OF_TILES: Grain = Grain { sparseness: 1, least_cell_count: 0 };

/// Regions may be blank for the most part: each becomes a fragment where they are written elsewhere.
const OF_REGIONS: Grain = Grain { sparseness: 4, least_cell_count: 0 };

/// Parts that are read at once, at most.
const MAX_PART_COUNT: usize = 1 << 12;

/// What is left to read.
pub(super) struct Work {
    /// The boxes that come next; `None` where one box is all.
    walk: Option<Walk>,
    boxed: Boxed,
    /// A tile that was looked at and is still to be read.
    held: Option<Vec<Interval>>,
}

/// What is left of a box.
enum Boxed {
    /// Parts of the result in row-major or column-major order.
    Parts(ContiguousParts),
    /// Rectangles of tiles in global order.
    Tiles(TileSpace, Option<TileRects>),
}

/// What is done with a box that no fragment wrote.
pub(super) type OnBlank<'v> = &'v mut dyn FnMut(&DensePlan, Part) -> Result<()>;

impl Work {
    /// All cells of a read.
    ///
    /// # Errors
    /// `InvalidArgument` when there are more tiles than can be counted.
    pub(super) fn whole(plan: &DensePlan) -> Result<Work> {
        let boxed = match plan.layout {
            Layout::GlobalOrder => {
                let space = TileSpace::of(plan);
                let whole = space.whole(&plan.grid);
                let tiles = whole.map(|whole| space.rects(&plan.grid, &whole)).transpose()?;
                Boxed::Tiles(space, tiles)
            }
            layout => {
                let whole = plan.axes.iter().map(|axis| 0..axis.len).collect();
                Boxed::Parts(contiguous_parts(&plan.axes, whole, layout, u64::MAX))
            }
        };
        Ok(Work { walk: None, boxed, held: None })
    }

    /// The cells of a read that leaves cells out: those that fragments wrote, and those where fill values fulfil the condition.
    ///
    /// # Errors
    /// As [`whole`](Work::whole); `Corrupt` and `Cancelled`.
    pub(super) fn counted(plan: &mut DensePlan) -> Result<Work> {
        let Some(rects) = plan.counted_rects()? else { return Work::whole(plan) };
        plan.narrow_to(&rects);
        Ok(Work::over(plan, &rects, true))
    }

    /// The cells of an aggregate, in any order.
    pub(super) fn in_any_order(plan: &DensePlan) -> Work {
        Work::over(plan, &plan.written_rects(), false)
    }

    fn over(plan: &DensePlan, rects: &[Vec<Interval>], is_ordered: bool) -> Work {
        if plan.layout == Layout::GlobalOrder {
            let space = TileSpace::of(plan);
            let written = rects.iter().filter_map(|rect| space.hull(&plan.grid, rect)).collect();
            let order = is_ordered.then_some(plan.grid.tile_order());
            let walk = space.whole(&plan.grid).map(|whole| Walk::new(whole, written, order, OF_TILES));
            return Work { walk, boxed: Boxed::Tiles(space, None), held: None };
        }
        let whole: Part = plan.axes.iter().map(|axis| 0..axis.len).collect();
        let written = rects.iter().filter_map(|rect| plan.hull_of(rect)).collect();
        let nothing = whole.iter().map(|_| 0..0).collect();
        let boxed = Boxed::Parts(contiguous_parts(&plan.axes, nothing, plan.layout, u64::MAX));
        let walk = Walk::new(whole, written, is_ordered.then_some(plan.layout), OF_PARTS);
        Work { walk: Some(walk), boxed, held: None }
    }

    /// Nothing.
    pub(super) fn done() -> Work {
        let space = TileSpace { wanted: Vec::new(), first: Vec::new() };
        Work { walk: None, boxed: Boxed::Tiles(space, None), held: None }
    }

    /// Whether tiles come next, not parts.
    pub(super) fn has_tiles(&self) -> bool {
        matches!(self.boxed, Boxed::Tiles(..))
    }

    /// Whether parts that follow each other may be read at once, when `part_count` are there with some of the `max_cell_count`
    /// cells that are wanted.
    pub(super) fn takes_more(&self, part_count: usize, cell_count: u64, max_cell_count: u64) -> bool {
        self.walk.is_some() && part_count < MAX_PART_COUNT && cell_count <= max_cell_count / 2
    }

    /// The next part of the result, of at most so many cells.
    ///
    /// # Errors
    /// `Cancelled`; what `on_blank` returns.
    pub(super) fn next_part(
        &mut self,
        plan: &DensePlan,
        max_cell_count: u64,
        on_blank: OnBlank<'_>,
    ) -> Result<Option<Part>> {
        loop {
            let Boxed::Parts(parts) = &mut self.boxed else { return Ok(None) };
            if let Some(part) = parts.next_of(max_cell_count) {
                return Ok(Some(part));
            }
            plan.fetch.check()?;
            match self.walk.as_mut().and_then(Walk::next) {
                None => return Ok(None),
                Some(Found::Blank(part)) => {
                    plan.went(part_cell_count(&part).unwrap_or(u64::MAX));
                    on_blank(plan, part)?;
                }
                Some(Found::Written(part)) => {
                    *parts = contiguous_parts(&plan.axes, part, plan.layout, max_cell_count);
                }
            }
        }
    }

    /// The wanted part of the next tile.
    ///
    /// # Errors
    /// As [`next_part`](Work::next_part).
    pub(super) fn next_tile(
        &mut self,
        plan: &DensePlan,
        on_blank: OnBlank<'_>,
    ) -> Result<Option<Vec<Interval>>> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        loop {
            let Boxed::Tiles(space, tiles) = &mut self.boxed else { return Ok(None) };
            if let Some(rect) = tiles.as_mut().and_then(Iterator::next) {
                return Ok(Some(rect));
            }
            plan.fetch.check()?;
            match self.walk.as_mut().and_then(Walk::next) {
                None => return Ok(None),
                Some(Found::Blank(part)) => {
                    let rect = space.rect(&plan.grid, &part)?;
                    plan.went(rect_cell_count(&rect));
                    if let Some(part) = plan.hull_of(&rect) {
                        on_blank(plan, part)?;
                    }
                }
                Some(Found::Written(part)) => *tiles = Some(space.rects(&plan.grid, &part)?),
            }
        }
    }

    /// Whether it is known that nothing is left, without looking for it.
    pub(super) fn is_over(&self) -> bool {
        let is_over = match &self.boxed {
            Boxed::Parts(parts) => parts.is_over(),
            Boxed::Tiles(_, tiles) => tiles.as_ref().is_none_or(TileRects::is_over),
        };
        is_over && self.walk.is_none() && self.held.is_none()
    }

    /// Gives a tile back, to come next again.
    pub(super) fn hold(&mut self, rect: Vec<Interval>) {
        self.held = Some(rect);
    }
}

/// The tiles that a read in one range of each dimension wants, numbered along each from the first of them.
pub(super) struct TileSpace {
    /// The wanted cells; empty where none are.
    wanted: Vec<Interval>,
    /// The first tile along each dimension.
    first: Vec<u64>,
}

impl TileSpace {
    /// The tiles around all wanted cells.
    pub(super) fn of(plan: &DensePlan) -> TileSpace {
        let hull = |axis: &Axis| axis.segments.iter().map(|segment| segment.cells).reduce(Interval::hull);
        let wanted: Vec<Interval> = plan.axes.iter().map(hull).collect::<Option<_>>().unwrap_or_default();
        let first = wanted.iter().enumerate().map(|(dim, side)| plan.grid.tile_along(dim, side.lo));
        let first = first.collect::<Option<Vec<u64>>>().unwrap_or_default();
        TileSpace { wanted, first }
    }

    /// All tiles; `None` where nothing is wanted.
    pub(super) fn whole(&self, grid: &TileGrid) -> Option<Part> {
        self.hull(grid, &self.wanted).filter(|whole| !whole.is_empty())
    }

    /// The tiles that a rectangle of cells meets; `None` where it meets none.
    pub(super) fn hull(&self, grid: &TileGrid, rect: &[Interval]) -> Option<Part> {
        let along = |(dim, (side, wanted)): (usize, (&Interval, &Interval))| {
            let side = side.intersect(*wanted)?;
            let first = self.first.get(dim)?;
            let (lo, hi) = (grid.tile_along(dim, side.lo)?, grid.tile_along(dim, side.hi)?);
            Some(lo - first..(hi - first).checked_add(1)?)
        };
        rect.iter().zip(&self.wanted).enumerate().map(along).collect()
    }

    /// The cells of some tiles that lie around wanted ones.
    ///
    /// # Errors
    /// `InvalidArgument` when the tiles do not lie in the domain.
    pub(super) fn rect(&self, grid: &TileGrid, tiles: &Part) -> Result<Vec<Interval>> {
        let outside = || Error::invalid("tiles do not lie in the domain");
        let along = |(dim, side): (usize, &std::ops::Range<u64>)| {
            let first = grid.tile_interval(dim, self.first[dim] + side.start).ok_or_else(outside)?;
            let last = grid.tile_interval(dim, self.first[dim] + side.end - 1).ok_or_else(outside)?;
            first.hull(last).intersect(self.wanted[dim]).ok_or_else(outside)
        };
        tiles.iter().enumerate().map(along).collect()
    }

    fn rects(&self, grid: &TileGrid, tiles: &Part) -> Result<TileRects> {
        let sides = tiles.iter().zip(&self.first);
        let sides = sides.map(|(side, first)| Interval { lo: first + side.start, hi: first + side.end - 1 });
        let block = TileBlock::new(sides.collect::<Vec<_>>(), grid.tile_order())?;
        Ok(TileRects { grid: grid.clone(), wanted: self.wanted.clone(), block, next_idx: 0 })
    }
}

/// The wanted part of every tile of a block, tile by tile in tile order.
struct TileRects {
    grid: TileGrid,
    wanted: Vec<Interval>,
    block: TileBlock,
    next_idx: u64,
}

impl TileRects {
    fn is_over(&self) -> bool {
        self.next_idx >= self.block.tile_count()
    }
}

impl Iterator for TileRects {
    type Item = Vec<Interval>;

    fn next(&mut self) -> Option<Vec<Interval>> {
        let dim_count = self.wanted.len();
        let (mut tile, mut tile_rect) = (vec![0; dim_count], vec![Interval::ALL; dim_count]);
        let mut rect = vec![Interval::ALL; dim_count];
        while self.block.tile_coords(self.next_idx, &mut tile) {
            self.next_idx += 1;
            if self.grid.tile_rect(&tile, &mut tile_rect)
                && intersect_rects(&tile_rect, &self.wanted, &mut rect)
            {
                return Some(rect);
            }
        }
        None
    }
}

impl DensePlan {
    /// The boxes of the result that fragments wrote, cut along tiles, in any order: the wanted cells of each lie in tiles that
    /// fragments meet. The result is one of ascending ranges.
    ///
    /// # Errors
    /// `Corrupt`; `Cancelled`; what `visit` returns.
    pub(super) fn each_written(&self, visit: &mut dyn FnMut(&[Axis], Part) -> Result<()>) -> Result<()> {
        let ascending = self.axes.iter().zip(self.grid.dims()).map(|(axis, grid)| {
            let sides = merged(axis.segments.iter().map(|segment| segment.cells).collect());
            Axis::new(&sides, grid.domain.lo, grid.extent)
        });
        let Some(axes) = ascending.collect::<Option<Vec<Axis>>>() else { return Ok(()) };
        let space = TileSpace::of(self);
        let Some(whole) = space.whole(&self.grid) else { return Ok(()) };
        let rects = self.written_rects();
        let written = rects.iter().filter_map(|rect| space.hull(&self.grid, rect)).collect();
        for found in Walk::new(whole, written, None, OF_TILES) {
            self.fetch.check()?;
            let Found::Written(tiles) = found else { continue };
            let rect = space.rect(&self.grid, &tiles)?;
            let part: Option<Part> = axes.iter().zip(&rect).map(|(axis, side)| axis.hull(*side)).collect();
            if let Some(part) = part {
                visit(&axes, part)?;
            }
        }
        Ok(())
    }

    /// Rectangles that hold all written cells, apart from each other: few, and none of them blank for the most part. They begin
    /// and end at borders of tiles, or where the read does.
    ///
    /// # Errors
    /// `Corrupt`; `Cancelled`.
    pub(super) fn regions(&self) -> Result<Vec<Vec<Interval>>> {
        let space = TileSpace::of(self);
        let Some(whole) = space.whole(&self.grid) else { return Ok(Vec::new()) };
        let rects = self.written_rects();
        let written = rects.iter().filter_map(|rect| space.hull(&self.grid, rect)).collect();
        let mut regions = Vec::new();
        for found in Walk::new(whole, written, None, OF_REGIONS) {
            self.fetch.check()?;
            if let Found::Written(tiles) = found {
                regions.push(space.rect(&self.grid, &tiles)?);
            }
        }
        Ok(regions)
    }
}
