//! The Hilbert curve in any number of dimensions.
//!
//! Method: J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004), 381-387.

use smalti_types::{Error, Result};

/// A Hilbert curve whose places fit 63 bits, as the format has it: `63 / dimensions` bits along each dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hilbert {
    dim_count: usize,
    bits: u32,
}

/// The format's limit.
const MAX_DIMS: usize = 15;

impl Hilbert {
    /// The curve through a space of 1 to 15 dimensions.
    ///
    /// # Errors
    /// `InvalidArgument` for another number.
    pub fn new(dim_count: usize) -> Result<Self> {
        if !(1..=MAX_DIMS).contains(&dim_count) {
            return Err(Error::invalid(format!(
                "a Hilbert order needs 1 to {MAX_DIMS} dimensions, not {dim_count}"
            )));
        }
        Ok(Hilbert { dim_count, bits: 63 / dim_count as u32 })
    }

    /// The number of dimensions.
    pub fn dim_count(&self) -> usize {
        self.dim_count
    }

    /// Bits of a bucket number along each dimension.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The greatest bucket number along each dimension.
    pub fn max_bucket(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// The place on the curve of a point of bucket numbers. Bits beyond [`bits`](Hilbert::bits) have no place; a wrong
    /// number of coordinates is at place 0.
    pub fn place(&self, point: &[u64]) -> u64 {
        let mut axes = [[0u64; 1]; MAX_DIMS];
        if point.len() != self.dim_count {
            return 0;
        }
        for (axis, &along) in axes.iter_mut().zip(point) {
            axis[0] = along;
        }
        let mut place = [0];
        self.places(&mut axes[..self.dim_count], &self.spread_table(), &mut place);
        place[0]
    }

    /// Writes the point at a place on the curve; nothing when the number of coordinates is wrong.
    pub fn point(&self, place: u64, point: &mut [u64]) {
        let dims = self.dim_count;
        if point.len() != dims {
            return;
        }
        point.fill(0);
        for bit in 0..self.bits as usize {
            for (dim, along) in point.iter_mut().enumerate() {
                *along |= (place >> (bit * dims + dims - 1 - dim) & 1) << bit;
            }
        }
        let last = point[dims - 1] >> 1;
        for dim in (1..dims).rev() {
            point[dim] ^= point[dim - 1];
        }
        point[0] ^= last;
        for bit in 1..self.bits {
            let below = (1u64 << bit) - 1;
            for dim in (0..dims).rev() {
                if point[dim] >> bit & 1 == 1 {
                    point[0] ^= below;
                } else {
                    let differing = (point[0] ^ point[dim]) & below;
                    point[0] ^= differing;
                    point[dim] ^= differing;
                }
            }
        }
    }

    /// The places of `N` points at once, given as one array of bucket numbers per dimension, which is used up.
    #[inline(always)]
    pub(crate) fn places<const N: usize>(
        &self,
        axes: &mut [[u64; N]],
        spread: &SpreadTable,
        places: &mut [u64; N],
    ) {
        transpose_u64(axes, self.bits);
        self.interleave(axes, spread, places);
    }

    /// The same for bucket numbers below 2^32, in half the time.
    #[inline(always)]
    pub(crate) fn narrow_places<const N: usize>(
        &self,
        axes: &mut [[u32; N]],
        spread: &SpreadTable,
        places: &mut [u64; N],
    ) {
        transpose_u32(axes, self.bits);
        self.interleave(axes, spread, places);
    }

    #[inline(always)]
    fn interleave<W: Copy + Into<u64>, const N: usize>(
        &self,
        axes: &[[W; N]],
        spread: &SpreadTable,
        places: &mut [u64; N],
    ) {
        *places = [0; N];
        for (dim, axis) in axes.iter().enumerate() {
            let low = self.dim_count - 1 - dim;
            for (place, &x) in places.iter_mut().zip(axis) {
                *place |= spread.spread(x.into() & self.max_bucket()) << low;
            }
        }
    }

    /// The table that spreads the bits of this curve's coordinates.
    pub(crate) fn spread_table(&self) -> SpreadTable {
        SpreadTable::new(self.bits, self.dim_count)
    }
}

/// Spreads the bits of a number apart, with room between them for those of the other dimensions.
pub(crate) struct SpreadTable {
    bytes: Box<[u64; 256]>,
    byte_count: u32,
    step: u32,
}

impl SpreadTable {
    fn new(bits: u32, dim_count: usize) -> Self {
        let dims = dim_count as u32;
        let mut bytes = Box::new([0u64; 256]);
        for (byte, spread) in bytes.iter_mut().enumerate() {
            for bit in (0..8u32).filter(|bit| byte >> bit & 1 == 1 && bit * dims < u64::BITS) {
                *spread |= 1 << (bit * dims);
            }
        }
        SpreadTable { bytes, byte_count: bits.div_ceil(8), step: 8 * dims }
    }

    #[inline(always)]
    fn spread(&self, number: u64) -> u64 {
        let mut spread = 0;
        for byte in 0..self.byte_count {
            // A curve of many bytes has few dimensions, so that the shift stays below 64.
            spread |= self.bytes[(number >> (8 * byte)) as usize & 0xff] << (self.step * byte);
        }
        spread
    }
}

/// Turns points, one array per dimension, into the transposed form of their places. Without branches, so that the loops
/// over the points become vector code; in two widths, because the narrow one fits twice as many points into a vector.
macro_rules! transpose {
    ($name:ident, $word:ty) => {
        #[inline(always)]
        fn $name<const N: usize>(axes: &mut [[$word; N]], bits: u32) {
            let dims = axes.len();
            let Some((first, others)) = axes.split_first_mut() else { return };
            for bit in (1..bits).rev() {
                let below = ((1 as $word) << bit) - 1;
                for x in first.iter_mut() {
                    *x ^= below & (*x >> bit & 1).wrapping_neg();
                }
                for axis in others.iter_mut() {
                    for (x, y) in first.iter_mut().zip(axis.iter_mut()) {
                        let inverts = (*y >> bit & 1).wrapping_neg();
                        let differing = (*x ^ *y) & below & !inverts;
                        *x ^= differing | (below & inverts);
                        *y ^= differing;
                    }
                }
            }
            // Gray code, from the first dimension to the last.
            for dim in 1..dims {
                let (before, after) = axes.split_at_mut(dim);
                for (x, y) in before[dim - 1].iter().zip(after[0].iter_mut()) {
                    *y ^= *x;
                }
            }
            let mut parity = axes[dims - 1];
            let mut shift = 1;
            while shift < bits {
                for p in &mut parity {
                    *p ^= *p >> shift;
                }
                shift <<= 1;
            }
            for (p, y) in parity.iter_mut().zip(&axes[dims - 1]) {
                *p ^= *y;
            }
            for axis in axes {
                for (x, p) in axis.iter_mut().zip(&parity) {
                    *x ^= p;
                }
            }
        }
    };
}
transpose!(transpose_u64, u64);
transpose!(transpose_u32, u32);

#[cfg(test)]
mod tests {
    use super::*;

    /// The curve with a chosen number of bits, by the method's text, one point at a time.
    fn reference_place(bits: u32, point: &[u64]) -> u64 {
        let mut x = point.to_vec();
        let n = x.len();
        let mut q = 1u64 << (bits - 1);
        while q > 1 {
            let p = q - 1;
            for i in 0..n {
                if x[i] & q != 0 {
                    x[0] ^= p;
                } else {
                    let t = (x[0] ^ x[i]) & p;
                    x[0] ^= t;
                    x[i] ^= t;
                }
            }
            q >>= 1;
        }
        for i in 1..n {
            x[i] ^= x[i - 1];
        }
        let mut t = 0;
        let mut q = 1u64 << (bits - 1);
        while q > 1 {
            if x[n - 1] & q != 0 {
                t ^= q - 1;
            }
            q >>= 1;
        }
        let mut place = 0;
        for bit in (0..bits).rev() {
            for axis in &x {
                place = place << 1 | ((axis ^ t) >> bit & 1);
            }
        }
        place
    }

    #[test]
    fn places_agree_with_the_published_method() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 1
        };
        for dims in 1..=15 {
            let curve = Hilbert::new(dims).unwrap();
            for _ in 0..200 {
                let point: Vec<u64> = (0..dims).map(|_| random() & curve.max_bucket()).collect();
                let place = curve.place(&point);
                assert_eq!(place, reference_place(curve.bits(), &point), "{point:?}");
                let mut back = vec![0; dims];
                curve.point(place, &mut back);
                assert_eq!(back, point);
            }
        }
    }

    #[test]
    fn neighbours_on_the_curve_are_neighbours_in_space() {
        for dims in 2..=4 {
            let curve = Hilbert::new(dims).unwrap();
            let (mut a, mut b) = (vec![0; dims], vec![0; dims]);
            for place in 0..5_000 {
                curve.point(place, &mut a);
                curve.point(place + 1, &mut b);
                let distance: u64 = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).sum();
                assert_eq!(distance, 1);
                assert_eq!(curve.place(&a), place);
            }
        }
    }

    #[test]
    fn the_number_of_dimensions_is_limited() {
        assert!(Hilbert::new(0).is_err());
        assert!(Hilbert::new(16).is_err());
        assert_eq!(Hilbert::new(2).unwrap().bits(), 31);
    }
}
