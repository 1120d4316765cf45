//! Float scaling: stores `round((value - offset) / factor)` in integers of 1, 2, 4 or 8 bytes. Loses precision.
//!
//! Specification: `filters/float_scale.md`. Writing computes in the field's own float type and rounds half away from
//! zero; reading computes `factor * stored + offset` in binary64.
//!
//! ```text
//! metadata  ┌ u32 part count ┬ u32 stored byte length ┬ ... one for each part ┐
//! data      ┌ i0 ┬ i1 ┬ ... ┐   for each part
//! ```
//!
//! What does not fit, infinities and NaN are undefined in the reference's language. Here they become what x86-64 makes of them:
//! the least 64-bit integer where 8 bytes are stored, otherwise the low bytes of the least 32-bit integer for what does not fit in
//! 32 bits, and the low bytes of the integer for the rest. No error, because a file must come out as libtiledb writes it.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the filter rounds and cuts numbers as the format says; a chunk has less than 4 GiB, as the codec checks before every filter"
)]

use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use crate::words::{Word, words, words_mut};
use smalti_types::{Error, FloatScale, Result, ScaleWidth};

/// Binds `$F` to the float and `$I` to the integer of two widths.
macro_rules! dispatch {
    ($float_width:expr, $width:expr, $F:ident, $I:ident => $body:expr) => {
        match ($float_width, $width) {
            (4, ScaleWidth::One) => {
                type $F = f32;
                type $I = i8;
                $body
            }
            (4, ScaleWidth::Two) => {
                type $F = f32;
                type $I = i16;
                $body
            }
            (4, ScaleWidth::Four) => {
                type $F = f32;
                type $I = i32;
                $body
            }
            (4, ScaleWidth::Eight) => {
                type $F = f32;
                type $I = i64;
                $body
            }
            (_, ScaleWidth::One) => {
                type $F = f64;
                type $I = i8;
                $body
            }
            (_, ScaleWidth::Two) => {
                type $F = f64;
                type $I = i16;
                $body
            }
            (_, ScaleWidth::Four) => {
                type $F = f64;
                type $I = i32;
                $body
            }
            (_, ScaleWidth::Eight) => {
                type $F = f64;
                type $I = i64;
                $body
            }
        }
    };
}

impl ChunkFilter for FloatScale {
    fn encode(&self, input: &Parts, output: &mut Parts, context: &ChunkContext) -> Result<()> {
        let (float_width, width) = (float_width(context)?, self.width as usize);
        if let Some(part) = input.data.iter().find(|part| part.len() % float_width != 0) {
            return Err(Error::invalid(format!(
                "filter scale_float: {} bytes are no whole number of values of {float_width} bytes",
                part.len()
            )));
        }
        output.metadata.push_with(|own| {
            own.extend_from_slice(&(input.data.len() as u32).to_le_bytes());
            for part in input.data.iter() {
                own.extend_from_slice(&((part.len() / float_width * width) as u32).to_le_bytes());
            }
        });
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        for part in input.data.iter() {
            output.data.push_with(|out| {
                let start = out.len();
                out.resize(start + part.len() / float_width * width, 0);
                dispatch!(float_width, self.width, F, I => scale::<F, I>(self, part, &mut out[start..]));
            });
        }
        Ok(())
    }

    fn decoded_len(
        &self,
        mut metadata: MetadataReader<'_>,
        data: &[u8],
        context: &ChunkContext,
    ) -> Result<usize> {
        let (float_width, width) = (float_width(context)?, self.width as usize);
        let mut stored_byte_len = 0usize;
        for _ in 0..metadata.count(4, "part_count")? {
            stored_byte_len = stored_byte_len.saturating_add(metadata.len32("part_byte_len")?);
        }
        if stored_byte_len != data.len() {
            return Err(metadata.corrupt(
                "part_byte_len",
                format!("parts of {stored_byte_len} bytes in {} bytes of data", data.len()),
            ));
        }
        (data.len() / width)
            .checked_mul(float_width)
            .ok_or_else(|| metadata.corrupt("part_byte_len", format!("{} bytes are too many", data.len())))
    }

    fn decode(
        &self,
        metadata: &mut MetadataReader<'_>,
        mut data: &[u8],
        mut out: &mut [u8],
        context: &ChunkContext,
    ) -> Result<()> {
        let (float_width, width) = (float_width(context)?, self.width as usize);
        for _ in 0..metadata.count(4, "part_count")? {
            let byte_len = metadata.len32("part_byte_len")?;
            let room = std::mem::take(&mut out);
            let (true, Some((part, data_rest)), Some((values, out_rest))) = (
                byte_len.is_multiple_of(width),
                data.split_at_checked(byte_len),
                room.split_at_mut_checked((byte_len / width).saturating_mul(float_width)),
            ) else {
                return Err(metadata.corrupt(
                    "part_byte_len",
                    format!(
                        "{byte_len} bytes in values of {width} bytes, of {} bytes that are left",
                        data.len()
                    ),
                ));
            };
            dispatch!(float_width, self.width, F, I => unscale::<F, I>(self, part, values));
            (data, out) = (data_rest, out_rest);
        }
        if !data.is_empty() || !out.is_empty() {
            return Err(
                metadata.corrupt("part_count", format!("{} bytes of data belong to no part", data.len()))
            );
        }
        Ok(())
    }
}

/// The width decides which float a type of any meaning is read as, as in the reference.
fn float_width(context: &ChunkContext) -> Result<usize> {
    match context.datatype.byte_len() {
        width @ (4 | 8) => Ok(width),
        width => Err(Error::unsupported(format!(
            "filter scale_float takes values of 4 or 8 bytes; {} has {width}",
            context.datatype
        ))),
    }
}

/// The two float types.
trait Float: Copy {
    /// The integer of the same width, which carries the bits.
    type Bits: Word;
    fn from_bits(bits: Self::Bits) -> Self;
    fn to_bits(self) -> Self::Bits;
    fn of(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn of_integer(value: i64) -> Self;
    /// A number whose whole part is `round((self - offset) / factor)`, half away from zero.
    fn quantized(self, factor: Self, offset: Self) -> Self;
    /// The whole part, or the least integer where it does not fit.
    fn to_i32(self) -> i32;
    /// The whole part, or the least integer where it does not fit.
    fn to_i64(self) -> i64;
}

macro_rules! float {
    ($f:ty, $bits:ty) => {
        impl Float for $f {
            type Bits = $bits;
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                <$f>::from_bits(bits)
            }
            #[inline(always)]
            fn to_bits(self) -> $bits {
                <$f>::to_bits(self)
            }
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $f
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn of_integer(value: i64) -> Self {
                value as $f
            }
            #[inline(always)]
            fn quantized(self, factor: Self, offset: Self) -> Self {
                let exact = (self - offset) / factor;
                // With the number below one half, so that what lies just below a half is not carried over by the sum.
                exact + <$f>::from_bits(<$f>::to_bits(0.5) - 1).copysign(exact)
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                // The cast alone gives the least integer below the range, but the greatest above it and 0 for NaN.
                if self < 2_147_483_648.0 { self as i32 } else { i32::MIN }
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                if self < 9_223_372_036_854_775_808.0 { self as i64 } else { i64::MIN }
            }
        }
    };
}
float!(f32, u32);
float!(f64, u64);

fn scale<F: Float, I: Word>(scale: &FloatScale, input: &[u8], out: &mut [u8]) {
    let (factor, offset) = (F::of(scale.factor), F::of(scale.offset));
    for (value, out) in words::<F::Bits>(input).0.iter().zip(words_mut::<I>(out).0) {
        let rounded = F::from_bits(F::Bits::load(*value)).quantized(factor, offset);
        let stored = if I::BITS < 64 { i64::from(rounded.to_i32()) } else { rounded.to_i64() };
        *out = I::truncate(stored as u64).store();
    }
}

fn unscale<F: Float, I: Word>(scale: &FloatScale, input: &[u8], out: &mut [u8]) {
    for (stored, out) in words::<I>(input).0.iter().zip(words_mut::<F::Bits>(out).0) {
        let stored = F::of_integer(I::load(*stored).to_u64() as i64).to_f64();
        *out = F::of(scale.factor * stored + scale.offset).to_bits().store();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;
    use smalti_types::Datatype;

    fn scaled<I: Word + bytemuck::Pod>(values: &[f64], factor: f64, offset: f64) -> (Vec<I>, Vec<f64>) {
        let scale_ = FloatScale { factor, offset, width: ScaleWidth::Four };
        let mut stored = vec![I::ZERO; values.len()];
        scale::<f64, I>(&scale_, bytemuck::cast_slice(values), bytemuck::cast_slice_mut(&mut stored));
        let mut back = vec![0.0; values.len()];
        unscale::<f64, I>(&scale_, bytemuck::cast_slice(&stored), bytemuck::cast_slice_mut(&mut back));
        (stored, back)
    }

    #[test]
    fn the_example_of_the_specification_holds() {
        let (stored, back) = scaled::<i16>(&[10.0, 10.25, 10.754, 11.0001], 0.25, 10.0);
        assert_eq!(stored, [0, 1, 3, 4]);
        assert_eq!(back, [10.0, 10.25, 10.75, 11.0]);
    }

    #[test]
    fn what_does_not_fit_becomes_the_least_integer() {
        let values = [f64::NAN, f64::INFINITY, -1e300, 2147483648.0, -2147483648.4, 300.0];
        assert_eq!(
            scaled::<i32>(&values, 1.0, 0.0).0,
            [i32::MIN, i32::MIN, i32::MIN, i32::MIN, i32::MIN, 300]
        );
        assert_eq!(scaled::<i8>(&values, 1.0, 0.0).0, [0, 0, 0, 0, 0, 44]);
        assert_eq!(scaled::<i64>(&values, 1.0, 0.0).0[..4], [i64::MIN, i64::MIN, i64::MIN, 2147483648]);
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        let number = |bytes: Vec<u8>| f64::from_le_bytes(bytes.try_into().unwrap());
        golden::check_chunk_filter("float_scale", |record| FloatScale {
            factor: number(record.bytes("factor")),
            offset: number(record.bytes("offset")),
            width: match record.number("width") {
                1 => ScaleWidth::One,
                2 => ScaleWidth::Two,
                4 => ScaleWidth::Four,
                _ => ScaleWidth::Eight,
            },
        });
    }

    #[test]
    fn damaged_chunks_are_errors() {
        golden::check_damage(&FloatScale { factor: 0.5, offset: 1.0, width: ScaleWidth::Two });
        golden::check_damage(&FloatScale { factor: 0.5, offset: 1.0, width: ScaleWidth::Eight });
    }

    #[test]
    fn whole_numbers_return() {
        let values: Vec<f64> = (-1000..1000).map(f64::from).collect();
        golden::check_return(
            &FloatScale { factor: 1.0, offset: 3.0, width: ScaleWidth::Two },
            bytemuck::cast_slice(&values),
            &[Datatype::Float64],
        );
    }

    proptest! {
        #[test]
        fn rounding_is_half_away_from_zero(bits: u64, halves in -1_000_000i64..1_000_000) {
            for value in [f64::from_bits(bits), halves as f64 / 2.0, (halves as f64 / 2.0).next_up(), (halves as f64 / 2.0).next_down()] {
                let rounded = value.quantized(1.0, 0.0).trunc();
                prop_assert!(rounded == value.round() || value.is_nan(), "{value}: {rounded}");
                let value = value as f32;
                let rounded = value.quantized(1.0, 0.0).trunc();
                prop_assert!(rounded == value.round() || value.is_nan(), "{value}: {rounded}");
            }
        }
    }
}
