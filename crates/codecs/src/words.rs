//! Machine integers as the kernels see them: little-endian, unaligned, in wrapping arithmetic.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "words are cut and read as signed on purpose; there is a first one where there are others"
)]

use bytemuck::Pod;
use smalti_types::{Datatype, PhysicalKind};
use std::fmt::Debug;

/// An integer type that the kernels are generic over. Bytes are little-endian on every machine.
pub(crate) trait Word: Copy + Ord + Debug + 'static {
    /// The stored form, of alignment 1.
    type Bytes: Pod + Eq;
    /// Width in bits.
    const BITS: u32 = 8 * size_of::<Self>() as u32;
    /// Zero.
    const ZERO: Self;
    /// The least value.
    const MIN: Self;
    /// The greatest value.
    const MAX: Self;

    /// The value of stored bytes.
    fn load(bytes: Self::Bytes) -> Self;
    /// The stored bytes of a value.
    fn store(self) -> Self::Bytes;
    /// Modular sum.
    fn plus(self, other: Self) -> Self;
    /// Modular difference.
    fn minus(self, other: Self) -> Self;
    /// Exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Sign-extends signed and zero-extends unsigned values.
    fn widen(self) -> i128;
    /// As [`widen`](Word::widen), cut to 64 bits.
    fn to_u64(self) -> u64;
    /// The lowest bits.
    fn truncate(wide: u64) -> Self;
}

macro_rules! words {
    ($($t:ty)*) => {$(
        impl Word for $t {
            type Bytes = [u8; size_of::<$t>()];
            const ZERO: Self = 0;
            const MIN: Self = <$t>::MIN;
            const MAX: Self = <$t>::MAX;

            #[inline(always)]
            fn load(bytes: Self::Bytes) -> Self { <$t>::from_le_bytes(bytes) }
            #[inline(always)]
            fn store(self) -> Self::Bytes { self.to_le_bytes() }
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn widen(self) -> i128 { i128::from(self) }
            #[inline(always)]
            fn to_u64(self) -> u64 { self as u64 }
            #[inline(always)]
            fn truncate(wide: u64) -> Self { wide as $t }
        }
    )*};
}
words!(u8 u16 u32 u64 i8 i16 i32 i64);

/// Splits bytes into whole words and the bytes that are left over.
#[inline(always)]
pub(crate) fn words<W: Word>(bytes: &[u8]) -> (&[W::Bytes], &[u8]) {
    let (body, tail) = bytes.split_at(bytes.len() - bytes.len() % size_of::<W>());
    (bytemuck::cast_slice(body), tail)
}

/// As [`words`], for writing.
#[inline(always)]
pub(crate) fn words_mut<W: Word>(bytes: &mut [u8]) -> (&mut [W::Bytes], &mut [u8]) {
    let (body, tail) = bytes.split_at_mut(bytes.len() - bytes.len() % size_of::<W>());
    (bytemuck::cast_slice_mut(body), tail)
}

/// Runs an expression with a type alias bound to the unsigned integer as wide as a value of a [`Datatype`], whatever
/// the values mean.
macro_rules! dispatch_width {
    ($datatype:expr, $W:ident => $body:expr) => {
        match $datatype.byte_len() {
            1 => {
                type $W = u8;
                $body
            }
            2 => {
                type $W = u16;
                $body
            }
            4 => {
                type $W = u32;
                $body
            }
            _ => {
                type $W = u64;
                $body
            }
        }
    };
}
pub(crate) use dispatch_width;

/// Runs an expression with a type alias bound to the integer of a [`PhysicalKind`]; floats are taken as unsigned
/// integers of their width.
macro_rules! dispatch_integer {
    ($kind:expr, $W:ident => $body:expr) => {
        match $kind {
            smalti_types::PhysicalKind::I8 => {
                type $W = i8;
                $body
            }
            smalti_types::PhysicalKind::I16 => {
                type $W = i16;
                $body
            }
            smalti_types::PhysicalKind::I32 => {
                type $W = i32;
                $body
            }
            smalti_types::PhysicalKind::I64 => {
                type $W = i64;
                $body
            }
            smalti_types::PhysicalKind::U8 => {
                type $W = u8;
                $body
            }
            smalti_types::PhysicalKind::U16 => {
                type $W = u16;
                $body
            }
            smalti_types::PhysicalKind::U32 | smalti_types::PhysicalKind::F32 => {
                type $W = u32;
                $body
            }
            smalti_types::PhysicalKind::U64 | smalti_types::PhysicalKind::F64 => {
                type $W = u64;
                $body
            }
        }
    };
}
pub(crate) use dispatch_integer;

/// The integers that delta and double delta take the values of a datatype for: text of every encoding counts as bytes,
/// `CHAR` is signed, floats are not accepted.
pub(crate) fn delta_kind(datatype: Datatype) -> Option<PhysicalKind> {
    match datatype {
        Datatype::Float32 | Datatype::Float64 => None,
        Datatype::Char => Some(PhysicalKind::I8),
        text if text.is_string() => Some(PhysicalKind::U8),
        other => Some(other.physical()),
    }
}

/// Writes `out[0] = input[0]` and `out[i] = op(input[i - 1], input[i])`.
#[inline(always)]
pub(crate) fn pairs<W: Word>(input: &[W::Bytes], out: &mut [W::Bytes], op: impl Fn(W, W) -> W) {
    if let (Some(first), Some((out_first, out))) = (input.first(), out.split_first_mut()) {
        *out_first = *first;
        for ((before, value), out) in input.iter().zip(&input[1..]).zip(out) {
            *out = op(W::load(*before), W::load(*value)).store();
        }
    }
}

/// Writes `out[i] = before op input[0] op ... op input[i]`, which undoes [`pairs`].
#[inline(always)]
pub(crate) fn prefix_scan<W: Word>(
    input: &[W::Bytes],
    out: &mut [W::Bytes],
    before: W,
    op: impl Fn(W, W) -> W,
) {
    let mut value = before;
    for (step, out) in input.iter().zip(out) {
        value = op(value, W::load(*step));
        *out = value.store();
    }
}
