//! Values as dumps show them, and as they cross the boundary: bytes of a datatype.

use crate::failure::{Failure, Fallible};
use smalti::{Datatype, Extent, Scalar};

/// A number as C++ streams show it: six significant digits of floats.
pub(crate) fn number(value: Scalar) -> String {
    match value {
        Scalar::F32(value) => float(value.into()),
        Scalar::F64(value) => float(value),
        other => other.to_string(),
    }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan".into() } else { "nan".into() };
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        let digits = usize::try_from(5 - exponent).unwrap_or(0);
        return trimmed(&format!("{value:.digits$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.unsigned_abs())
}

/// One value of a datatype as dumps of fill values show it.
pub(crate) fn shown(datatype: Datatype, bytes: &[u8]) -> String {
    let is_unit = datatype.is_string() || matches!(datatype, Datatype::Char | Datatype::Any);
    // libtiledb writes the byte itself.
    let is_blob = matches!(datatype, Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt);
    if let ([byte @ 0..=0x7f], true) = (bytes, is_blob) {
        return char::from(*byte).to_string();
    }
    if !is_unit {
        return Scalar::read(datatype, bytes).map_or_else(|_| String::new(), number);
    }
    let unit = Scalar::read(datatype, bytes).ok().and_then(Scalar::as_i128).unwrap_or(0);
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_graphic() || byte == b' ' => char::from(byte).to_string(),
        _ => format!("\\x{unit:02x}"),
    }
}

/// An interval of numbers or strings as dumps show it.
pub(crate) fn interval(datatype: Datatype, extent: &Extent) -> String {
    match extent {
        Extent::Num { lo, hi } => {
            let end = |ordinal: u64| shown(datatype, &datatype.bytes_of_ordinal(ordinal));
            format!("[{}, {}]", end(*lo), end(*hi))
        }
        Extent::Str { lo, hi } => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!("[{}, {}]", text(lo), hi.as_ref().map_or(String::new(), |hi| text(hi)))
        }
    }
}

/// The interval of two ends given as bytes of a datatype.
pub(crate) fn extent(datatype: Datatype, lo: &[u8], hi: &[u8]) -> Fallible<Extent> {
    if datatype.is_string() {
        return Extent::between_strings(lo, hi).map_err(Failure::of("Range"));
    }
    let (low, high) = (Scalar::read(datatype, lo)?, Scalar::read(datatype, hi)?);
    if low.ordinal() > high.ordinal() {
        return Err(inverted(low, high));
    }
    Extent::between(low, high).map_err(Failure::of("Range"))
}

/// That a range ends before it begins.
pub(crate) fn inverted(low: Scalar, high: Scalar) -> Failure {
    let told = |value: Scalar| match value {
        Scalar::F32(_) | Scalar::F64(_) => format!("{:.6}", value.as_f64()),
        other => other.to_string(),
    };
    let (low, high) = (told(low), told(high));
    let words = format!("Lower range bound {low} cannot be larger than the higher bound {high}");
    Failure::told("TileDB internal", words)
}

/// The ends of an interval as bytes of its datatype; an interval of strings without an end has an empty one.
pub(crate) fn ends(datatype: Datatype, extent: &Extent) -> (Vec<u8>, Vec<u8>) {
    match extent {
        Extent::Num { lo, hi } => {
            (datatype.bytes_of_ordinal(*lo).to_vec(), datatype.bytes_of_ordinal(*hi).to_vec())
        }
        Extent::Str { lo, hi } => (lo.to_vec(), hi.as_ref().map_or(Vec::new(), |hi| hi.to_vec())),
    }
}

/// A length as C counts.
pub(crate) fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// A length as C counts where it counts in 32 bits.
pub(crate) fn small_count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// A place in a list.
pub(crate) fn index(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}
