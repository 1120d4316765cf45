//! New orders of cells.

use rayon::prelude::*;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Result};

/// An order of cells: which cell comes at each position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permutation {
    /// This many cells in the order that they are in.
    Identity(usize),
    /// The cell of each position.
    Indices(Vec<u32>),
}

/// Cells of one parallel task of a gather.
const TASK: usize = 1 << 15;

impl Permutation {
    /// The number of positions.
    pub fn len(&self) -> usize {
        match self {
            Permutation::Identity(len) => *len,
            Permutation::Indices(indices) => indices.len(),
        }
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every cell stays where it is.
    pub fn is_identity(&self) -> bool {
        match self {
            Permutation::Identity(_) => true,
            Permutation::Indices(indices) => {
                indices.iter().enumerate().all(|(at, &cell)| at == cell as usize)
            }
        }
    }

    /// The cell at a position.
    #[inline]
    pub fn cell(&self, position: usize) -> Option<usize> {
        match self {
            Permutation::Identity(len) => (position < *len).then_some(position),
            Permutation::Indices(indices) => indices.get(position).map(|&cell| cell as usize),
        }
    }

    /// The cells in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).map_while(|position| self.cell(position))
    }

    /// Writes the cells of `src`, of `elem_byte_len` bytes each, to `dst` in this order.
    ///
    /// # Errors
    /// `InvalidArgument` when a cell is not in `src`, or `dst` has another length than this many cells.
    pub fn gather(&self, src: &[u8], elem_byte_len: usize, dst: &mut [u8]) -> Result<()> {
        if elem_byte_len == 0 || Some(dst.len()) != self.len().checked_mul(elem_byte_len) {
            return Err(Error::invalid(format!(
                "{} cells of {elem_byte_len} bytes do not fill {} bytes",
                self.len(),
                dst.len()
            )));
        }
        let outside = || Error::invalid("an order of cells names a cell beyond the last");
        let indices = match self {
            Permutation::Identity(_) => {
                dst.copy_from_slice(src.get(..dst.len()).ok_or_else(outside)?);
                return Ok(());
            }
            Permutation::Indices(indices) => indices,
        };
        let gathered = match elem_byte_len {
            1 => gather_elements::<1>(indices, src, dst),
            2 => gather_elements::<2>(indices, src, dst),
            4 => gather_elements::<4>(indices, src, dst),
            8 => gather_elements::<8>(indices, src, dst),
            _ => indices.iter().zip(dst.chunks_exact_mut(elem_byte_len)).all(|(&cell, to)| {
                let start = (cell as usize).checked_mul(elem_byte_len);
                let from = start.and_then(|start| src.get(start..)?.get(..elem_byte_len));
                from.map(|from| to.copy_from_slice(from)).is_some()
            }),
        };
        if gathered { Ok(()) } else { Err(outside()) }
    }
}

fn gather_elements<const N: usize>(indices: &[u32], src: &[u8], dst: &mut [u8]) -> bool {
    let src: &[[u8; N]] = src.as_chunks().0;
    let dst: &mut [[u8; N]] = dst.as_chunks_mut().0;
    let gather = |(indices, dst): (&[u32], &mut [[u8; N]])| {
        indices.iter().zip(dst).all(|(&cell, to)| src.get(cell as usize).map(|from| *to = *from).is_some())
    };
    if indices.len() <= TASK {
        gather((indices, dst))
    } else {
        indices.par_chunks(TASK).zip(dst.par_chunks_mut(TASK)).shared().all(gather)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_gathered_in_order_for_every_width() {
        let order = Permutation::Indices(vec![2, 0, 1]);
        for width in 1..=17 {
            let src: Vec<u8> = (0..3 * width as u8).collect();
            let mut dst = vec![0; src.len()];
            order.gather(&src, width, &mut dst).unwrap();
            assert_eq!(&dst[..width], &src[2 * width..]);
            assert_eq!(&dst[width..], &src[..2 * width]);
            assert!(order.gather(&src[1..], width, &mut dst).is_err());
        }
    }
}
