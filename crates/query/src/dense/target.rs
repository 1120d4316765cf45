//! Where the cells of a dense read go: rectangles of the array and their places in an output buffer.

use super::boxes::{Axis, Part, part_cell_count};
use smalti_space::{Interval, TileBlock, TileGrid, intersect_rects, strides};
use smalti_types::{Error, Layout, Result};

/// A rectangle of the array that a read wants, and where its cells go.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The cells, in ordinals.
    pub(crate) rect: Vec<Interval>,
    /// The output position of the cell with the least coordinates.
    pub(crate) offset: usize,
    /// Output positions from one cell to the next along each dimension.
    pub(crate) strides: Vec<usize>,
}

/// A piece of a [`Target`] inside one space tile.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Coordinates of the tile in the grid.
    pub(crate) tile: Vec<u64>,
    /// The whole tile, beyond the domain's end too.
    pub(crate) tile_rect: Vec<Interval>,
    /// The wanted cells of it.
    pub(crate) rect: Vec<Interval>,
    /// As in [`Target`], for the least cell of `rect`.
    pub(crate) offset: usize,
}

/// The rectangles of a part of the result, in the layout of the read. Several ranges on a dimension give several.
///
/// # Errors
/// `InvalidArgument` when the part has more cells than memory can address.
pub(crate) fn targets_of_part(axes: &[Axis], part: &Part, layout: Layout) -> Result<Vec<Target>> {
    let shape: Vec<u64> = part.iter().map(|side| side.end - side.start).collect();
    let strides = strides(&shape, layout)?;
    let mut targets = vec![Target { rect: Vec::new(), offset: 0, strides: Vec::new() }];
    for ((axis, side), &stride) in axes.iter().zip(part).zip(&strides) {
        targets = targets
            .into_iter()
            .flat_map(|target| {
                axis.cells(side).map(move |segment| {
                    let mut rect = target.rect.clone();
                    rect.push(segment.cells);
                    // The position lies inside the part, whose cells were just counted.
                    Target {
                        rect,
                        offset: target.offset + segment.start as usize * stride,
                        strides: Vec::new(),
                    }
                })
            })
            .collect();
    }
    for target in &mut targets {
        target.strides.clone_from(&strides);
    }
    Ok(targets)
}

/// The rectangle of one tile, clipped to what is wanted, with its cells in the tile's own order.
///
/// # Errors
/// As [`targets_of_part`].
pub(crate) fn target_of_tile(rect: Vec<Interval>, cell_order: Layout) -> Result<Target> {
    Ok(Target { strides: strides(&extents(&rect), cell_order)?, rect, offset: 0 })
}

/// Cuts a target along the borders of the grid's tiles, in tile order.
///
/// # Errors
/// `InvalidArgument` when the target does not lie in the domain.
pub(crate) fn pieces(grid: &TileGrid, target: &Target) -> Result<Vec<Piece>> {
    let block: TileBlock = grid.block(&target.rect)?;
    let dim_count = grid.dim_count();
    let mut pieces = Vec::new();
    let mut walk = block.walk();
    while let Some((_, tile)) = walk.next() {
        let mut tile_rect = vec![Interval::ALL; dim_count];
        grid.tile_rect(tile, &mut tile_rect);
        let mut rect = vec![Interval::ALL; dim_count];
        if !intersect_rects(&tile_rect, &target.rect, &mut rect) {
            continue;
        }
        let offset = rect
            .iter()
            .zip(&target.rect)
            .zip(&target.strides)
            .map(|((piece, whole), &stride)| (piece.lo - whole.lo) as usize * stride)
            .sum::<usize>();
        pieces.push(Piece { tile: tile.to_vec(), tile_rect, rect, offset: target.offset + offset });
    }
    Ok(pieces)
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
