//! Copies of planes whose two buffers have opposite orders.

use crate::box_plan::Axis;
use smalti_types::{Stores, write_past_caches};

/// Cells along the side of a block that is transposed in registers.
const BLOCK: usize = 8;

/// Cells along the side of a square of blocks: its rows in both buffers stay in the cache, and their pages in the
/// translation buffer, until they are used up.
const SQUARE: usize = 64;

/// Copies a plane. `line` has step 1 in the destination, `across` has step 1 in the source; the caller checked that
/// the plane lies inside both.
pub(crate) fn transpose_planes<const N: usize>(
    dst: &mut [[u8; N]],
    src: &[[u8; N]],
    across: Axis,
    line: Axis,
    stores: Stores,
) {
    if stores.pass_caches(line.extent.min(SQUARE) * N) {
        return write_past_caches(dst.as_flattened_mut(), |mut out| {
            let mut lines = [[[0; N]; SQUARE]; BLOCK];
            for_each_square((across.extent, BLOCK), (line.extent, SQUARE), |row, rows, cell, cells| {
                let square = (lines.as_flattened_mut(), SQUARE);
                transpose_square(square, (&src[cell * line.src + row..], line.src), rows, cells);
                for (at, line) in lines[..rows].iter().enumerate() {
                    out.put(((row + at) * across.dst + cell) * N, line[..cells].as_flattened());
                }
            });
        });
    }
    for_each_square((across.extent, SQUARE), (line.extent, SQUARE), |row, rows, cell, cells| {
        let square = (&mut dst[row * across.dst + cell..], across.dst);
        transpose_square(square, (&src[cell * line.src + row..], line.src), rows, cells);
    });
}

/// Calls `visit` for each of the squares of a plane with its first row of the destination, the number of its rows, its first cell of these
/// and their number.
#[inline(always)]
fn for_each_square(
    (row_count, max_rows): (usize, usize),
    (cell_count, max_cells): (usize, usize),
    mut visit: impl FnMut(usize, usize, usize, usize),
) {
    for cell in (0..cell_count).step_by(max_cells) {
        for row in (0..row_count).step_by(max_rows) {
            visit(row, max_rows.min(row_count - row), cell, max_cells.min(cell_count - cell));
        }
    }
}

/// Copies some rows of the destination, of some cells each; both buffers begin at the square, and have a step each.
#[inline(always)]
fn transpose_square<const N: usize>(
    (dst, dst_step): (&mut [[u8; N]], usize),
    (src, src_step): (&[[u8; N]], usize),
    rows: usize,
    cells: usize,
) {
    let (whole_rows, whole_cells) = (rows / BLOCK * BLOCK, cells / BLOCK * BLOCK);
    for row in (0..whole_rows).step_by(BLOCK) {
        for cell in (0..whole_cells).step_by(BLOCK) {
            transpose_cells(
                &mut dst[row * dst_step + cell..],
                &src[cell * src_step + row..],
                dst_step,
                src_step,
            );
        }
    }
    for row in 0..rows {
        let from = if row < whole_rows { whole_cells } else { 0 };
        for cell in from..cells {
            dst[row * dst_step + cell] = src[cell * src_step + row];
        }
    }
}

/// A block of cells of any length.
#[inline(always)]
fn transpose_cells<const N: usize>(dst: &mut [[u8; N]], src: &[[u8; N]], dst_step: usize, src_step: usize) {
    let mut cells = [[[0u8; N]; BLOCK]; BLOCK];
    for (i, row) in cells.iter_mut().enumerate() {
        row.copy_from_slice(&src[i * src_step..i * src_step + BLOCK]);
    }
    for j in 0..BLOCK {
        let out = &mut dst[j * dst_step..j * dst_step + BLOCK];
        for (i, out) in out.iter_mut().enumerate() {
            *out = cells[i][j];
        }
    }
}
