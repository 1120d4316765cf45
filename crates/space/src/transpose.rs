//! Copies of planes whose two buffers have opposite orders.

use crate::box_plan::Axis;

/// Cells along the side of a block of blocks: both sides of such a square of 8-byte cells fit the first-level cache.
const SQUARE: usize = 64;

/// Copies a plane. `line` has step 1 in the destination, `across` has step 1 in the source; the caller checked that
/// the plane lies inside both.
///
/// Squares of cells are moved through a small block that holds whole cache lines of both buffers, because a plain loop
/// would touch another cache line of one buffer with every cell.
pub(crate) fn transpose_planes<const N: usize>(
    dst: &mut [[u8; N]],
    src: &[[u8; N]],
    across: Axis,
    line: Axis,
) {
    let mut at_across = 0;
    while at_across < across.extent {
        let end_across = across.extent.min(at_across + SQUARE);
        let mut at_line = 0;
        while at_line < line.extent {
            let end_line = line.extent.min(at_line + SQUARE);
            square(dst, src, across, line, at_across..end_across, at_line..end_line);
            at_line = end_line;
        }
        at_across = end_across;
    }
}

fn square<const N: usize>(
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
            block(&mut dst[row * across.dst + cell..], &src[cell * line.src + row..], across.dst, line.src);
        }
    }
    for row in rows.clone() {
        let from = if row < whole_rows { whole_cells } else { cells.start };
        for cell in from..cells.end {
            dst[row * across.dst + cell] = src[cell * line.src + row];
        }
    }
}

/// Cells along the side of a block that is moved through registers.
const BLOCK: usize = 8;

#[inline(always)]
fn block<const N: usize>(dst: &mut [[u8; N]], src: &[[u8; N]], dst_step: usize, src_step: usize) {
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
