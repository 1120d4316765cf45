//! Strides of dense boxes, and the place of a box inside a larger one.

use crate::Interval;
use smalti_types::{Error, Layout, Result};

/// The strides, in elements, of a dense box with `shape[d]` elements along dimension `d`.
///
/// In row-major order the last dimension has stride 1, in column-major order the first.
///
/// # Errors
/// `InvalidArgument` for an order that is neither, or when the box has more elements than memory can address.
pub fn strides(shape: &[u64], order: Layout) -> Result<Vec<usize>> {
    let mut strides = vec![0usize; shape.len()];
    let mut stride = 1usize;
    for step in 0..shape.len() {
        let dim = match order {
            Layout::RowMajor => shape.len() - 1 - step,
            Layout::ColMajor => step,
            other => return Err(Error::invalid(format!("{other} is no order of a dense box"))),
        };
        strides[dim] = stride;
        stride = usize::try_from(shape[dim])
            .ok()
            .and_then(|extent| stride.checked_mul(extent))
            .ok_or_else(|| Error::invalid(format!("a box of shape {shape:?} exceeds the address space")))?;
    }
    Ok(strides)
}

/// Where the cells of a box lie in a buffer: the element of its first cell and the step along every dimension.
#[derive(Debug, Clone, Copy)]
pub struct Geometry<'a> {
    /// The element of the cell with the least coordinates.
    pub offset: usize,
    /// Elements from one cell to the next along each dimension.
    pub strides: &'a [usize],
}

impl<'a> Geometry<'a> {
    /// The place of the rectangle `part` in a buffer that holds the rectangle `whole` with these strides.
    ///
    /// # Errors
    /// `InvalidArgument` when `part` does not begin inside `whole`, or the dimensions differ in number.
    pub fn of_part(strides: &'a [usize], whole: &[Interval], part: &[Interval]) -> Result<Self> {
        if whole.len() != strides.len() || part.len() != strides.len() {
            return Err(Error::invalid("rectangles and strides differ in their number of dimensions"));
        }
        let outside = || Error::invalid(format!("the box {part:?} does not lie inside {whole:?}"));
        let mut offset = 0usize;
        for ((stride, whole), part) in strides.iter().zip(whole).zip(part) {
            if !whole.covers(*part) {
                return Err(outside());
            }
            let step = usize::try_from(part.lo - whole.lo).ok().and_then(|cells| cells.checked_mul(*stride));
            offset = step.and_then(|step| offset.checked_add(step)).ok_or_else(outside)?;
        }
        Ok(Geometry { offset, strides })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_follow_the_order() {
        assert_eq!(strides(&[2, 3, 4], Layout::RowMajor).unwrap(), [12, 4, 1]);
        assert_eq!(strides(&[2, 3, 4], Layout::ColMajor).unwrap(), [1, 2, 6]);
        assert!(strides(&[u64::MAX, 2], Layout::RowMajor).is_err());
        assert!(strides(&[2], Layout::Hilbert).is_err());
    }

    #[test]
    fn a_part_begins_at_the_cell_of_its_least_coordinates() {
        let whole = [Interval { lo: 10, hi: 14 }, Interval { lo: 20, hi: 29 }];
        let part = [Interval { lo: 12, hi: 13 }, Interval { lo: 25, hi: 29 }];
        let steps = strides(&[5, 10], Layout::RowMajor).unwrap();
        assert_eq!(Geometry::of_part(&steps, &whole, &part).unwrap().offset, 25);
        assert!(Geometry::of_part(&steps, &part, &whole).is_err());
    }
}
