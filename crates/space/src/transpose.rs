//! Copies of planes whose two buffers have opposite orders.

use crate::box_plan::Axis;

/// Cells along the side of a block that is transposed in registers.
const BLOCK: usize = 8;

/// Bytes along the side of a square of blocks: a cache line, so that lines are used up while they are in the cache even
/// where the steps are powers of two and all lines compete for the same few places.
const SQUARE_BYTE_LEN: usize = 64;

/// Copies a plane. `line` has step 1 in the destination, `across` has step 1 in the source; the caller checked that
/// the plane lies inside both.
pub(crate) fn transpose_planes<const N: usize>(
    dst: &mut [[u8; N]],
    src: &[[u8; N]],
    across: Axis,
    line: Axis,
) {
    let square = (SQUARE_BYTE_LEN / N).max(BLOCK);
    let mut row = 0;
    while row < across.extent {
        let end_row = across.extent.min(row + square);
        let mut cell = 0;
        while cell < line.extent {
            let end_cell = line.extent.min(cell + square);
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
            match N {
                1 => transpose_bytes(
                    bytemuck::cast_slice_mut(to),
                    bytemuck::cast_slice(from),
                    across.dst,
                    line.src,
                ),
                2 => transpose_pairs(
                    bytemuck::cast_slice_mut(to),
                    bytemuck::cast_slice(from),
                    across.dst * 2,
                    line.src * 2,
                ),
                _ => transpose_cells(to, from, across.dst, line.src),
            }
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

/// A block of single bytes: eight words of eight, whose quarters, sixteenths and bytes across the diagonal change places.
#[inline(always)]
fn transpose_bytes(dst: &mut [u8], src: &[u8], dst_step: usize, src_step: usize) {
    let mut words = [0u64; 8];
    for (i, word) in words.iter_mut().enumerate() {
        *word = read_word(&src[i * src_step..]);
    }
    for i in 0..4 {
        swap_across(&mut words, i, i + 4, 32, 0x0000_0000_ffff_ffff);
    }
    for i in [0, 1, 4, 5] {
        swap_across(&mut words, i, i + 2, 16, 0x0000_ffff_0000_ffff);
    }
    for i in [0, 2, 4, 6] {
        swap_across(&mut words, i, i + 1, 8, 0x00ff_00ff_00ff_00ff);
    }
    for (i, word) in words.iter().enumerate() {
        dst[i * dst_step..i * dst_step + 8].copy_from_slice(&word.to_le_bytes());
    }
}

/// A block of two-byte cells, as four quarters of four words; steps in bytes.
#[inline(always)]
fn transpose_pairs(dst: &mut [u8], src: &[u8], dst_step: usize, src_step: usize) {
    for (across, along) in [(0, 0), (0, 4), (4, 0), (4, 4)] {
        let mut words = [0u64; 4];
        for (i, word) in words.iter_mut().enumerate() {
            *word = read_word(&src[(along + i) * src_step + across * 2..]);
        }
        for i in 0..2 {
            swap_across(&mut words, i, i + 2, 32, 0x0000_0000_ffff_ffff);
        }
        for i in [0, 2] {
            swap_across(&mut words, i, i + 1, 16, 0x0000_ffff_0000_ffff);
        }
        for (i, word) in words.iter().enumerate() {
            let at = (across + i) * dst_step + along * 2;
            dst[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
}

#[inline(always)]
fn read_word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

/// Swaps the bits of `words[a]` above `shift` under the mask with those of `words[b]` under the mask.
#[inline(always)]
fn swap_across<const LEN: usize>(words: &mut [u64; LEN], a: usize, b: usize, shift: u32, mask: u64) {
    let differing = (words[a] >> shift ^ words[b]) & mask;
    words[b] ^= differing;
    words[a] ^= differing << shift;
}
