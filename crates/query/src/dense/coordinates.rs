//! Coordinates as columns of dense reads: computed, never stored.

use super::boxes::Segment;
use super::target::Target;
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
    let stride = target.strides[dim];
    // What is left is the cells that share one position.
    let mut others = target.shape.clone();
    others[dim] = 1;
    let place = Geometry { offset: 0, strides: &target.strides };
    let mut pace = Pace::new(check);
    for (at, _, run_len) in box_runs(place, place, &others)? {
        for Segment { cells, start } in target.segments(dim) {
            let mut ordinals = cells.lo..=cells.hi;
            let len = (cells.hi - cells.lo) as usize + 1;
            let at = at + *start as usize * stride;
            if stride == 1 && run_len == 1 {
                for cells in out[at..at + len].chunks_mut(CELLS_BETWEEN_CHECKS) {
                    cells.iter_mut().zip(&mut ordinals).for_each(|(cell, at)| *cell = T::from_ordinal(at));
                    pace.went(cells.len())?;
                }
                continue;
            }
            for (position, ordinal) in ordinals.enumerate() {
                let value = T::from_ordinal(ordinal);
                for cells in out[at + position * stride..][..run_len].chunks_mut(CELLS_BETWEEN_CHECKS) {
                    cells.fill(value);
                    pace.went(cells.len())?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::boxes::Axis;
    use smalti_space::{GridDim, Interval, TileGrid, UNSTOPPED};
    use smalti_types::Layout;

    #[test]
    fn every_cell_has_its_coordinate_in_either_order() {
        let sides: [&[(u64, u64)]; 4] = [&[(5, 8)], &[(0, 0)], &[(7, 8), (2, 4), (4, 4)], &[(3, 3), (7, 8)]];
        for dim_count in 1..=sides.len() {
            let dim = GridDim { domain: Interval { lo: 0, hi: 9 }, extent: 3 };
            let grid = TileGrid::new(vec![dim; dim_count], Layout::RowMajor).unwrap();
            let axis = |ranges: &&[(u64, u64)]| {
                let ranges: Vec<Interval> = ranges.iter().map(|&(lo, hi)| Interval { lo, hi }).collect();
                Axis::new(&ranges, 0, 3).unwrap()
            };
            let axes: Vec<Axis> = sides[..dim_count].iter().map(axis).collect();
            let part = axes.iter().map(|axis| 0..axis.len).collect();
            for layout in [Layout::RowMajor, Layout::ColMajor] {
                let target = Target::of_part(&grid, &axes, &part, layout).unwrap();
                let shape = &target.shape;
                let cell_count = shape.iter().product::<u64>();
                for (dim, ranges) in sides[..dim_count].iter().enumerate() {
                    let mut out = vec![0_u16; cell_count as usize];
                    let bytes = bytemuck::cast_slice_mut(&mut out);
                    write_coordinates(&target, dim, Datatype::UInt16, bytes, UNSTOPPED).unwrap();
                    let coordinates: Vec<u16> =
                        ranges.iter().flat_map(|&(lo, hi)| lo as u16..=hi as u16).collect();
                    let inner: u64 = match layout {
                        Layout::RowMajor => shape[dim + 1..].iter().product(),
                        _ => shape[..dim].iter().product(),
                    };
                    let coordinate = |cell: u64| coordinates[(cell / inner % shape[dim]) as usize];
                    assert_eq!(out, (0..cell_count).map(coordinate).collect::<Vec<_>>(), "{layout:?} {dim}");
                }
            }
        }
    }
}
