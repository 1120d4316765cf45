//! Tile numbers of coordinates along one dimension, in the arithmetic of the dimension's type.

use smalti_types::{Physical, Scalar};

/// A machine type with the two computations that the format does in the type itself.
pub(crate) trait Coordinate: Physical {
    /// The value as a double, rounded to the nearest.
    fn to_f64(self) -> f64;
    /// The tile of a float: the quotient of the distance from the low end and the extent, both rounded in the type,
    /// cut off to an integer. Values below the low end are in tile 0; NaN goes to the first or the last tile by its
    /// sign, so that tiles never fall while ordinals rise. Integers have tile 0: see [`Divisor`].
    fn float_tile(self, lo: Self, extent: Self) -> u64;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Coordinate for $t {
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn float_tile(self, _: Self, _: Self) -> u64 { 0 }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Coordinate for $t {
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn float_tile(self, lo: Self, extent: Self) -> u64 {
                let quotient = (self - lo) / extent;
                if quotient.is_nan() {
                    if self.is_sign_negative() { 0 } else { u64::MAX }
                } else {
                    quotient as u64
                }
            }
        }
    )*};
}
floats!(f32 f64);

/// Division by a tile extent, prepared once for a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Divisor {
    /// A power of two.
    Shift(u32),
    /// Numerators and the divisor fit 32 bits: `floor(2^64 / divisor) + 1`, exact there because the error of the
    /// product stays below `2^64 / divisor`.
    Reciprocal { factor: u64, divisor: u64 },
    /// Any other.
    Plain(u64),
}

impl Divisor {
    /// Division of numerators up to `max` by `divisor`, which is not 0.
    pub(crate) fn new(divisor: u64, max: u64) -> Self {
        let narrow = u64::from(u32::MAX);
        if divisor.is_power_of_two() {
            Divisor::Shift(divisor.trailing_zeros())
        } else if max <= narrow && divisor <= narrow {
            Divisor::Reciprocal { factor: u64::MAX / divisor + 1, divisor }
        } else {
            Divisor::Plain(divisor)
        }
    }
}

/// The upper half of a product: a quotient, by [`Divisor::Reciprocal`].
#[inline(always)]
pub(crate) fn multiply_high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// How the tile number of a coordinate is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TileRule {
    /// All coordinates are in one tile.
    One,
    /// `(ordinal - lo) / extent`, wrapping at the width of the type for coordinates outside the domain.
    Integer { lo: u64, mask: u64, extent: u64 },
    /// [`Coordinate::float_tile`] of these ordinals.
    Float { lo: u64, extent: u64 },
}

impl TileRule {
    /// The tile of one ordinal.
    pub(crate) fn tile<T: Coordinate>(self, ordinal: u64) -> u64 {
        match self {
            TileRule::One => 0,
            TileRule::Integer { lo, mask, extent } => (ordinal.wrapping_sub(lo) & mask) / extent,
            TileRule::Float { lo, extent } => {
                T::from_ordinal(ordinal).float_tile(T::from_ordinal(lo), T::from_ordinal(extent))
            }
        }
    }
}

/// The extent of an integer dimension; `None` when it is not above 0 or no integer.
pub(crate) fn integer_extent(extent: Scalar) -> Option<u64> {
    u64::try_from(extent.as_i128()?).ok().filter(|extent| *extent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_divide_exactly() {
        let numerators = [0u64, 1, 2, 3, 9_999, 10_000, 10_001, 65_535, 1 << 31, u64::from(u32::MAX)];
        for divisor in (1..2_000u64).chain([65_537, 0x7fff_ffff, u64::from(u32::MAX)]) {
            let Divisor::Reciprocal { factor, .. } = Divisor::new(divisor, u64::from(u32::MAX)) else {
                continue;
            };
            for n in numerators
                .iter()
                .flat_map(|&n| [n, n / divisor * divisor, (n / divisor * divisor).saturating_sub(1)])
            {
                assert_eq!(multiply_high(n, factor), n / divisor, "{n} / {divisor}");
            }
        }
    }

    #[test]
    fn float_tiles_never_fall_while_ordinals_rise() {
        let mut values = vec![
            f64::NEG_INFINITY,
            -1e308,
            -1.0,
            -0.0,
            0.0,
            1e-320,
            0.3,
            9.99,
            10.0,
            1e19,
            1e308,
            f64::INFINITY,
        ];
        values.insert(0, -f64::NAN);
        values.push(f64::NAN);
        let tiles: Vec<u64> = values.iter().map(|v| v.float_tile(-5.0, 0.1)).collect();
        assert!(tiles.is_sorted(), "{tiles:?}");
    }
}
