//! Coordinates as columns of dense reads: computed, never stored.

use super::target::{Target, extents};
use smalti_space::{CELLS_BETWEEN_CHECKS, Check, Geometry, Pace, box_runs};
use smalti_types::{Datatype, Physical, Result, dispatch_physical};

/// Writes the coordinates of a target's cells along one dimension into their places.
///
/// # Errors
/// `InvalidArgument` when the target exceeds the address space; what `check` returns.
pub(super) fn write_coordinates(
    target: &Target,
    dim: usize,
    datatype: Datatype,
    out: &mut [u8],
    check: Check<'_>,
) -> Result<()> {
    dispatch_physical!(datatype, T => write::<T>(target, dim, bytemuck::cast_slice_mut(out), check))
}

fn write<T: Physical>(target: &Target, dim: usize, out: &mut [T], check: Check<'_>) -> Result<()> {
    let mut extents = extents(&target.rect);
    let (len, stride, first) = (extents[dim], target.strides[dim], target.rect[dim].lo);
    // What is left is the cells that share one coordinate.
    extents[dim] = 1;
    let place = Geometry { offset: target.offset, strides: &target.strides };
    let mut pace = Pace::new(check);
    for (start, _, run_len) in box_runs(place, place, &extents)? {
        if stride == 1 && run_len == 1 {
            let mut ordinals = first..first + len;
            for cells in out[start..start + len as usize].chunks_mut(CELLS_BETWEEN_CHECKS) {
                cells.iter_mut().zip(&mut ordinals).for_each(|(cell, at)| *cell = T::from_ordinal(at));
                pace.went(cells.len())?;
            }
            continue;
        }
        for position in 0..len {
            let value = T::from_ordinal(first + position);
            let start = start + position as usize * stride;
            for cells in out[start..start + run_len].chunks_mut(CELLS_BETWEEN_CHECKS) {
                cells.fill(value);
                pace.went(cells.len())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::target::target_of_tile;
    use smalti_space::{Interval, UNSTOPPED};
    use smalti_types::Layout;

    #[test]
    fn every_cell_has_its_coordinate_in_either_order() {
        let sides = [(5, 8), (0, 0), (2, 4), (7, 8)].map(|(lo, hi)| Interval { lo, hi });
        for dim_count in 1..=sides.len() {
            for layout in [Layout::RowMajor, Layout::ColMajor] {
                let target = target_of_tile(sides[..dim_count].to_vec(), layout).unwrap();
                let shape = extents(&target.rect);
                let cell_count = shape.iter().product::<u64>();
                for dim in 0..dim_count {
                    let mut out = vec![0_u16; cell_count as usize];
                    let bytes = bytemuck::cast_slice_mut(&mut out);
                    write_coordinates(&target, dim, Datatype::UInt16, bytes, UNSTOPPED).unwrap();
                    let inner: u64 = match layout {
                        Layout::RowMajor => shape[dim + 1..].iter().product(),
                        _ => shape[..dim].iter().product(),
                    };
                    let coordinate = |cell: u64| (sides[dim].lo + cell / inner % shape[dim]) as u16;
                    assert_eq!(out, (0..cell_count).map(coordinate).collect::<Vec<_>>(), "{layout:?} {dim}");
                }
            }
        }
    }
}
