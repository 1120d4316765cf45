//! Copies of planes whose two buffers have opposite orders.

use crate::box_plan::Axis;

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
) {
    let mut row = 0;
    while row < across.extent {
        let end_row = across.extent.min(row + SQUARE);
        let mut cell = 0;
        while cell < line.extent {
            let end_cell = line.extent.min(cell + SQUARE);
            transpose_square(dst, src, across, line, row..end_row, cell..end_cell);
            cell = end_cell;
        }
        row = end_row;
    }
}

/// Copies some rows of the destination, `rows`, between two of its columns, `cells`.
#[inline]
fn transpose_square<const N: usize>(
    dst: &mut [[u8; N]],
    src: &[[u8; N]],
    across: Axis,
    line: Axis,
    rows: std::ops::Range<usize>,
    cells: std::ops::Range<usize>,
) {
    let whole_rows = rows.start + rows.len() / BLOCK * BLOCK;
    let whole_cells = cells.start + cells.len() / BLOCK * BLOCK;
    for row in (rows.start..whole_rows).step_by(BLOCK) {
        for cell in (cells.start..whole_cells).step_by(BLOCK) {
            let to = &mut dst[row * across.dst + cell..];
            let from = &src[cell * line.src + row..];
            transpose_cells(to, from, across.dst, line.src);
        }
    }
    for row in rows {
        let from = if row < whole_rows { whole_cells } else { cells.start };
        for cell in from..cells.end {
            dst[row * across.dst + cell] = src[cell * line.src + row];
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
