//! Boxes of dense cells between buffers, and cells gathered into an order.

use crate::case::{Case, Outcome, Work, case, work};
use crate::input;
use smalti_space::{BitMask, Cross, Geometry, Permutation, Stretch, copy_box, fill_box, strides};
use smalti_types::{Layout, Stores};
use std::hint::black_box;

/// Cells along each side of the larger buffer.
const SIDE: u64 = 256;
/// Sides of the box that goes from it, and of its own buffer.
const BOX: [u64; 2] = [180, 75];
/// Where the box begins in the larger buffer.
const CORNER: usize = 20 * SIDE as usize + 33;
const CELL_COUNT: usize = 16 << 10;

/// The cases.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("box-of-rows", || copied(Layout::RowMajor, 4)),
        case("box-transposed-of-1", || copied(Layout::ColMajor, 1)),
        case("box-transposed-of-4", || copied(Layout::ColMajor, 4)),
        case("box-transposed-of-8", || copied(Layout::ColMajor, 8)),
        case("box-transposed-of-12", || copied(Layout::ColMajor, 12)),
        case("box-scattered", || {
            let (wide, narrow) =
                (strides(&[SIDE, SIDE], Layout::RowMajor)?, strides(&BOX, Layout::RowMajor)?);
            let cells = vec![7; (BOX[0] * BOX[1]) as usize * 8];
            let mut out = vec![0; (SIDE * SIDE) as usize * 8];
            work(move || {
                let to = Geometry { offset: CORNER, strides: &wide };
                let from = Geometry { offset: 0, strides: &narrow };
                Ok(copy_box(&mut out, to, &cells, from, &BOX, 8, Stores::Cached)?)
            })
        }),
        case("box-filled", || {
            let wide = strides(&[SIDE, SIDE], Layout::RowMajor)?;
            let mut out = vec![0; (SIDE * SIDE) as usize * 8];
            work(move || {
                let to = Geometry { offset: CORNER, strides: &wide };
                Ok(fill_box(&mut out, to, &BOX, &[1, 2, 3, 4, 5, 6, 7, 8])?)
            })
        }),
        case("runs-of-a-plane", || {
            let tile = [216, 216, 12];
            let strides = strides(&tile, Layout::RowMajor)?;
            let mut month = Cross::new(tile.len());
            for range in [0..216, 0..216, 6..7] {
                month.push_side([Stretch { dst: 0, src: range.start, len: range.len() }]);
            }
            // As a read of bytes has it: gaps of less than a page are not worth a read of their own.
            work(move || {
                black_box(month.source_runs(&strides, 4096)?);
                Ok(())
            })
        }),
        case("cells-masked-of-8", || masked(0)),
        case("cells-masked-of-8-unaligned", || masked(13)),
        case("cells-gathered-of-4", || gathered(4)),
        case("cells-gathered-of-8", || gathered(8)),
        case("cells-gathered-of-12", || gathered(12)),
    ]
}

/// A box of a row-major buffer, to one of its own.
fn copied(order: Layout, cell_byte_len: usize) -> Outcome<Work> {
    let (wide, own) = (strides(&[SIDE, SIDE], Layout::RowMajor)?, strides(&BOX, order)?);
    let cells = vec![7; (SIDE * SIDE) as usize * cell_byte_len];
    let mut out = vec![0; (BOX[0] * BOX[1]) as usize * cell_byte_len];
    work(move || {
        let from = Geometry { offset: CORNER, strides: &wide };
        let to = Geometry { offset: 0, strides: &own };
        Ok(copy_box(&mut out, to, &cells, from, &BOX, cell_byte_len, Stores::Cached)?)
    })
}

/// One cell of sixteen, out of a piece of a tile that begins with cell `first`.
fn masked(first: usize) -> Outcome<Work> {
    let mut mask = BitMask::zeros(first + CELL_COUNT);
    (0..CELL_COUNT).step_by(16).for_each(|cell| mask.set(first + cell));
    let values = vec![7_u64; CELL_COUNT];
    let mut out = vec![0; CELL_COUNT / 16];
    work(move || {
        black_box(mask.gather(first, &values, &mut out));
        Ok(())
    })
}

fn gathered(cell_byte_len: usize) -> Outcome<Work> {
    let cells = input::numbers(21, CELL_COUNT, CELL_COUNT as u64);
    let order = Permutation::Indices(cells.into_iter().map(|cell| cell as u32).collect());
    let values = vec![7; CELL_COUNT * cell_byte_len];
    let mut out = vec![0; values.len()];
    work(move || Ok(order.gather(&values, cell_byte_len, &mut out)?))
}
