//! Machine types and their order-preserving image in the unsigned 64-bit integers.

use std::ops::Deref;

/// A machine number that cells are stored as.
///
/// [`ordinal`](Physical::ordinal) maps the values of one type to `u64` so that their order is kept: signed
/// integers have their sign bit flipped at their own width, so that the ordinals of neighbours differ by one;
/// floats use the order of IEEE 754 `totalOrder` (-0.0 below 0.0, NaN outside the infinities). Ranges, tile
/// numbers, rectangles and sort keys are computed on ordinals alone.
pub trait Physical: bytemuck::Pod + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// The order-preserving image.
    fn ordinal(self) -> u64;
    /// The value of an image; bits beyond the type's width are ignored.
    fn from_ordinal(ordinal: u64) -> Self;
}

/// The little-endian bytes of one value, as many as its type has.
#[derive(Debug, Clone, Copy)]
pub struct ValueBytes {
    bytes: [u8; 8],
    byte_len: usize,
}

impl ValueBytes {
    pub(crate) fn of<T: Physical>(value: T) -> Self {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(bytemuck::bytes_of(&value)).for_each(|(to, from)| *to = *from);
        ValueBytes { bytes, byte_len: size_of::<T>() }
    }
}

impl Deref for ValueBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.byte_len).unwrap_or_default()
    }
}

macro_rules! unsigned {
    ($($t:ty)*) => {$(
        impl Physical for $t {
            #[inline(always)]
            fn ordinal(self) -> u64 { self as u64 }
            #[inline(always)]
            fn from_ordinal(ordinal: u64) -> Self { ordinal as $t }
        }
    )*};
}
unsigned!(u8 u16 u32 u64);

macro_rules! signed {
    ($($t:ty => $u:ty)*) => {$(
        impl Physical for $t {
            #[inline(always)]
            fn ordinal(self) -> u64 { (self as $u ^ (1 << (<$u>::BITS - 1))) as u64 }
            #[inline(always)]
            fn from_ordinal(ordinal: u64) -> Self { (ordinal as $u ^ (1 << (<$u>::BITS - 1))) as $t }
        }
    )*};
}
signed!(i8 => u8 i16 => u16 i32 => u32 i64 => u64);

macro_rules! float {
    ($($t:ty => $u:ty)*) => {$(
        impl Physical for $t {
            #[inline(always)]
            fn ordinal(self) -> u64 {
                let bits = self.to_bits();
                let sign = <$u>::MAX * (bits >> (<$u>::BITS - 1));
                (bits ^ (sign | (1 << (<$u>::BITS - 1)))) as u64
            }
            #[inline(always)]
            fn from_ordinal(ordinal: u64) -> Self {
                let image = ordinal as $u;
                let positive = image >> (<$u>::BITS - 1);
                let mask = if positive == 1 { 1 << (<$u>::BITS - 1) } else { <$u>::MAX };
                <$t>::from_bits(image ^ mask)
            }
        }
    )*};
}
float!(f32 => u32 f64 => u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Physical>(ascending: &[T]) {
        for pair in ascending.windows(2) {
            assert!(pair[0].ordinal() < pair[1].ordinal(), "{pair:?}");
        }
        for &value in ascending {
            assert_eq!(T::from_ordinal(value.ordinal()).ordinal(), value.ordinal());
        }
    }

    #[test]
    fn ordinals_keep_the_order_of_every_type() {
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i64::MIN, -5, 0, 7, i64::MAX]);
        check(&[0u16, 1, u16::MAX]);
        check(&[f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN]);
        check(&[f32::MIN, -0.0, 0.0, f32::MAX]);
    }

    #[test]
    fn integer_neighbours_have_neighbouring_ordinals() {
        assert_eq!((-1i32).ordinal() + 1, 0i32.ordinal());
        assert_eq!(i8::MIN.ordinal(), 0);
        assert_eq!(i8::MAX.ordinal(), 255);
    }
}
