//! Where the cells of a dense read go: parts of the result, and what of them lies in each space tile.

use super::boxes::{Axis, Part, Segment, part_cell_count, slow_to_fast};
use smalti_space::{Cross, Interval, Stretch, TileGrid, strides};
use smalti_types::{Error, Layout, Result};
use std::ops::Range;

/// A part of the result: along each dimension the ranges that follow each other in it, every cell of one with all of the others.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The positions along each dimension.
    pub(crate) shape: Vec<u64>,
    /// Output positions from one cell to the next along each dimension.
    pub(crate) strides: Vec<usize>,
    sides: Vec<Side>,
    /// The dimensions in the order of tiles, the slowest first.
    order: Vec<usize>,
}

/// What a target wants along one dimension.
#[derive(Debug, Clone)]
struct Side {
    /// The ranges, cut along the borders of tiles, tile by tile.
    segments: Vec<Segment>,
    rows: Vec<Row>,
}

/// The wanted part of a row of tiles.
#[derive(Debug, Clone)]
struct Row {
    /// The number of the row along the dimension.
    tile: u64,
    /// Its coordinates, beyond the domain's end too.
    whole: Interval,
    /// The least interval around the wanted ones.
    hull: Interval,
    segments: Range<usize>,
}

/// The part of a [`Target`] inside one space tile.
#[derive(Debug, Clone)]
pub(crate) struct Piece<'t> {
    /// Coordinates of the tile in the grid.
    pub(crate) tile: Vec<u64>,
    /// The whole tile, beyond the domain's end too.
    pub(crate) tile_rect: Vec<Interval>,
    /// The least rectangle around the wanted cells.
    pub(crate) rect: Vec<Interval>,
    /// Per dimension the ranges in the tile.
    sides: Vec<&'t [Segment]>,
}

impl Target {
    fn new(grid: &TileGrid, segments: Vec<Vec<Segment>>, shape: Vec<u64>, layout: Layout) -> Result<Target> {
        let sides = segments.into_iter().enumerate().map(|(dim, segments)| Side::new(grid, dim, segments));
        Ok(Target {
            strides: strides(&shape, layout)?,
            shape,
            sides: sides.collect::<Result<_>>()?,
            order: slow_to_fast(grid.dim_count(), grid.tile_order()),
        })
    }

    /// A part of the result, in the layout of the read.
    ///
    /// # Errors
    /// `InvalidArgument` when the part has more cells than memory can address, or does not lie in the domain.
    pub(crate) fn of_part(grid: &TileGrid, axes: &[Axis], part: &Part, layout: Layout) -> Result<Target> {
        let shape = part.iter().map(|side| side.end - side.start).collect();
        let segments = axes.iter().zip(part).map(|(axis, side)| axis.cells(side).collect()).collect();
        Target::new(grid, segments, shape, layout)
    }

    /// The rectangle of one tile, clipped to what is wanted, with its cells in the tile's own order.
    ///
    /// # Errors
    /// As [`of_part`](Target::of_part).
    pub(crate) fn of_tile(grid: &TileGrid, rect: &[Interval], cell_order: Layout) -> Result<Target> {
        let segments = rect.iter().map(|&cells| vec![Segment { cells, start: 0 }]).collect();
        Target::new(grid, segments, extents(rect), cell_order)
    }

    /// What of the target lies in each tile, in tile order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let is_empty = self.sides.iter().any(|side| side.rows.is_empty());
        let mut next = (!is_empty).then(|| vec![0usize; self.sides.len()]);
        std::iter::from_fn(move || {
            let at = next.as_mut()?;
            let rows = || self.sides.iter().zip(&*at).map(|(side, &at)| (side, &side.rows[at]));
            let piece = Piece {
                tile: rows().map(|(_, row)| row.tile).collect(),
                tile_rect: rows().map(|(_, row)| row.whole).collect(),
                rect: rows().map(|(_, row)| row.hull).collect(),
                sides: rows().map(|(side, row)| &side.segments[row.segments.clone()]).collect(),
            };
            let has_next = self.order.iter().rev().any(|&dim| {
                at[dim] = (at[dim] + 1) % self.sides[dim].rows.len();
                at[dim] > 0
            });
            if !has_next {
                next = None;
            }
            Some(piece)
        })
    }

    /// The ranges along a dimension, cut along the borders of tiles.
    pub(crate) fn segments(&self, dim: usize) -> &[Segment] {
        &self.sides[dim].segments
    }
}

impl Side {
    fn new(grid: &TileGrid, dim: usize, segments: Vec<Segment>) -> Result<Side> {
        let outside = || Error::invalid(format!("a range of dimension {dim} does not lie in the domain"));
        let mut cut: Vec<(u64, Interval, Segment)> = Vec::with_capacity(segments.len());
        for Segment { cells, start } in segments {
            let mut lo = cells.lo;
            loop {
                let tile = grid.tile_along(dim, lo).ok_or_else(outside)?;
                let whole = grid.tile_interval(dim, tile).ok_or_else(outside)?;
                let hi = cells.hi.min(whole.hi);
                let segment = Segment { cells: Interval { lo, hi }, start: start + (lo - cells.lo) };
                cut.push((tile, whole, segment));
                if hi == cells.hi {
                    break;
                }
                lo = hi + 1;
            }
        }
        if !cut.is_sorted_by_key(|(tile, ..)| *tile) {
            cut.sort_by_key(|(tile, ..)| *tile);
        }
        let mut side = Side { segments: Vec::with_capacity(cut.len()), rows: Vec::new() };
        for (tile, whole, segment) in cut {
            let end = side.segments.len() + 1;
            match side.rows.last_mut() {
                Some(row) if row.tile == tile => {
                    let (lo, hi) = (row.hull.lo.min(segment.cells.lo), row.hull.hi.max(segment.cells.hi));
                    row.hull = Interval { lo, hi };
                    row.segments.end = end;
                }
                _ => side.rows.push(Row { tile, whole, hull: segment.cells, segments: end - 1..end }),
            }
            side.segments.push(segment);
        }
        Ok(side)
    }
}

impl Piece<'_> {
    /// Whether it has cells in a rectangle.
    pub(crate) fn meets(&self, rect: &[Interval]) -> bool {
        self.sides
            .iter()
            .zip(rect)
            .all(|(side, wanted)| side.iter().any(|segment| segment.cells.intersect(*wanted).is_some()))
    }

    /// Its cells in a rectangle, from the tile to the output.
    pub(crate) fn cells(&self, rect: &[Interval]) -> Cross {
        let mut cells = Cross::new(self.sides.len());
        for ((side, wanted), tile) in self.sides.iter().zip(rect).zip(&self.tile_rect) {
            cells.push_side(side.iter().filter_map(|segment| {
                let Interval { lo, hi } = segment.cells.intersect(*wanted)?;
                Some(Stretch {
                    dst: (segment.start + (lo - segment.cells.lo)) as usize,
                    src: (lo - tile.lo) as usize,
                    len: (hi - lo) as usize + 1,
                })
            }));
        }
        cells
    }
}

/// The lengths of a rectangle's sides.
pub(crate) fn extents(rect: &[Interval]) -> Vec<u64> {
    rect.iter().map(|side| side.hi - side.lo + 1).collect()
}

/// The number of cells of a part of a result, as memory counts.
///
/// # Errors
/// `InvalidArgument` when memory cannot address it.
pub(crate) fn part_len(part: &Part) -> Result<usize> {
    part_cell_count(part).and_then(|count| usize::try_from(count).ok()).ok_or_else(|| {
        Error::invalid("the ranges select more cells than memory can address; read them in several steps")
    })
}
