//! Typed values: fill values, metadata, ends of domains.

use crate::text::format_date_time;
use smalti_types::{Datatype, Error, ErrorKind, Extent, Physical, Result, Scalar};
use std::fmt;

/// A Rust type whose slices are cells: the ten machine types of the format.
///
/// Dates and times are `i64`, opaque bytes `u8`; booleans have [conversions](Value) of their own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number type of the format",
    label = "not one of `i8` to `i64`, `u8` to `u64`, `f32`, `f64`",
    note = "text, booleans and nulls are read as record batches: `batches`, or `collect`"
)]
pub trait Number: Physical + Into<Scalar> + arrow_buffer::ArrowNativeType + sealed::Sealed {
    /// The datatype of plain numbers of this type.
    const DATATYPE: Datatype;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($t:ty = $datatype:ident,)*) => {$(
        impl sealed::Sealed for $t {}
        impl Number for $t {
            const DATATYPE: Datatype = Datatype::$datatype;
        }
        impl From<$t> for Value {
            fn from(value: $t) -> Value {
                Value::from(&[value][..])
            }
        }
    )*};
}
numbers! {
    i8 = Int8, i16 = Int16, i32 = Int32, i64 = Int64, u8 = UInt8, u16 = UInt16, u32 = UInt32, u64 = UInt64,
    f32 = Float32, f64 = Float64,
}

/// A datatype and any number of values of it: what a metadata key holds, what fills unwritten cells, where a domain ends.
///
/// Made from numbers, booleans, text, and slices, vectors and arrays of numbers:
///
/// ```
/// use smalti::{Datatype, Value};
///
/// assert_eq!(Value::from("metres").as_str(), Some("metres"));
/// assert_eq!(Value::from([1_u16, 2, 3]).to_vec::<u16>(), Some(vec![1, 2, 3]));
/// assert_eq!(Value::from(2.5).datatype(), Datatype::Float64);
/// assert_eq!(Value::of_datatype(Datatype::DateTimeDay, 19_782_i64)?.to_string(), "2024-02-29");
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Value {
    datatype: Datatype,
    bytes: Vec<u8>,
}

impl Value {
    /// The same values as another datatype: numbers must fit, text keeps its bytes.
    ///
    /// # Errors
    /// `InvalidArgument` when a number does not fit, or numbers are asked of text.
    pub fn of_datatype(datatype: Datatype, value: impl Into<Value>) -> Result<Value> {
        value.into().cast(datatype)
    }

    /// Bytes without a meaning, as `BLOB`.
    pub fn blob(bytes: impl Into<Vec<u8>>) -> Value {
        Value { datatype: Datatype::Blob, bytes: bytes.into() }
    }

    /// Values from their little-endian bytes.
    ///
    /// # Errors
    /// `InvalidArgument` when the bytes are no whole values.
    pub fn from_le_bytes(datatype: Datatype, bytes: impl Into<Vec<u8>>) -> Result<Value> {
        let bytes = bytes.into();
        if !bytes.len().is_multiple_of(datatype.byte_len()) {
            return Err(Error::invalid(format!(
                "{} bytes are no whole values of type {datatype}, which have {}",
                bytes.len(),
                datatype.byte_len()
            )));
        }
        Ok(Value { datatype, bytes })
    }

    /// The datatype.
    pub fn datatype(&self) -> Datatype {
        self.datatype
    }

    /// The number of values; of text the number of code units.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.datatype.byte_len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The values, little-endian, one after the other.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text, where the datatype is text of bytes (`STRING_UTF8`, `STRING_ASCII`, `CHAR`, `GEOM_WKT`) and valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        if is_text(self.datatype) { std::str::from_utf8(&self.bytes).ok() } else { None }
    }

    /// The only value, where there is just one.
    pub fn as_scalar(&self) -> Option<Scalar> {
        if self.len() == 1 { Scalar::read(self.datatype, &self.bytes).ok() } else { None }
    }

    /// All values, where they are stored as `T`: dates and times as `i64`, for one.
    pub fn to_vec<T: Number>(&self) -> Option<Vec<T>> {
        if self.datatype.physical() != T::DATATYPE.physical() {
            return None;
        }
        Some(self.bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
    }

    /// The values as numbers of the datatype.
    pub(crate) fn scalars(&self) -> impl Iterator<Item = Scalar> {
        self.bytes
            .chunks_exact(self.datatype.byte_len())
            .filter_map(|bytes| Scalar::read(self.datatype, bytes).ok())
    }

    /// See [`of_datatype`](Value::of_datatype).
    pub(crate) fn cast(self, datatype: Datatype) -> Result<Value> {
        if self.datatype == datatype {
            return Ok(self);
        }
        let bytes_like = |datatype: Datatype| datatype.is_bytes() || datatype == Datatype::UInt8;
        if bytes_like(self.datatype) && bytes_like(datatype) {
            return Ok(Value { datatype, bytes: self.bytes });
        }
        if is_text(self.datatype) {
            return Err(Error::invalid(format!("the text {self} is no value of type {datatype}")));
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for scalar in self.scalars() {
            bytes.extend(scalar.cast(datatype)?.to_le_bytes());
        }
        Ok(Value { datatype, bytes })
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Whether cells of a datatype are shown as text; the bytes may still be anything.
pub(crate) fn is_text(datatype: Datatype) -> bool {
    use Datatype::*;
    matches!(datatype, Char | StringAscii | StringUtf8 | GeomWkt)
}

impl<T: Number> From<&[T]> for Value {
    fn from(values: &[T]) -> Value {
        Value { datatype: T::DATATYPE, bytes: bytemuck::cast_slice(values).to_vec() }
    }
}

impl<T: Number, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Value {
        Value::from(&values[..])
    }
}

impl<T: Number> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Value {
        Value::from(&values[..])
    }
}

impl From<Scalar> for Value {
    fn from(value: Scalar) -> Value {
        use Datatype::*;
        let datatype = match value {
            Scalar::I8(_) => Int8,
            Scalar::I16(_) => Int16,
            Scalar::I32(_) => Int32,
            Scalar::I64(_) => Int64,
            Scalar::U8(_) => UInt8,
            Scalar::U16(_) => UInt16,
            Scalar::U32(_) => UInt32,
            Scalar::U64(_) => UInt64,
            Scalar::F32(_) => Float32,
            Scalar::F64(_) => Float64,
        };
        Value { datatype, bytes: value.to_le_bytes() }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value { datatype: Datatype::Bool, bytes: vec![u8::from(value)] }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value { datatype: Datatype::StringUtf8, bytes: text.as_bytes().to_vec() }
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value { datatype: Datatype::StringUtf8, bytes: text.into_bytes() }
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::from(text.as_str())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_text(self.datatype) {
            return write!(f, "{:?}", String::from_utf8_lossy(&self.bytes));
        }
        if self.datatype.is_bytes() {
            f.write_str("0x")?;
            return self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"));
        }
        let one = |f: &mut fmt::Formatter<'_>, value: Scalar| match value {
            Scalar::I64(value) => f.write_str(&format_date_time(self.datatype, value)),
            Scalar::U8(value) if self.datatype == Datatype::Bool => write!(f, "{}", value != 0),
            Scalar::F32(value) => write!(f, "{value:?}"),
            Scalar::F64(value) => write!(f, "{value:?}"),
            value => write!(f, "{value}"),
        };
        if let Some(value) = self.as_scalar() {
            return one(f, value);
        }
        f.write_str("[")?;
        for (idx, value) in self.scalars().enumerate() {
            if idx > 0 {
                f.write_str(", ")?;
            }
            one(f, value)?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({self})", self.datatype)
    }
}

/// A closed interval on a dimension, its ends in the dimension's datatype.
///
/// Displayed as the ends with `..=` between them; dates and times in ISO 8601.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    /// The least value.
    pub lo: Value,
    /// The greatest value; `None` for no upper end, which only intervals of strings have.
    pub hi: Option<Value>,
}

impl Interval {
    /// An interval in the numbers of the engine, on a dimension of a datatype.
    ///
    /// # Errors
    /// `Corrupt` never for numbers and strings that the engine made.
    pub fn from_extent(datatype: Datatype, extent: &Extent) -> Result<Interval> {
        let value = |bytes: Vec<u8>| {
            Value::from_le_bytes(datatype, bytes)
                .map_err(|error| Error::new(ErrorKind::Corrupt, error.message()))
        };
        Ok(match extent {
            Extent::Num { lo, hi } => Interval {
                lo: value(datatype.bytes_of_ordinal(*lo).to_vec())?,
                hi: Some(value(datatype.bytes_of_ordinal(*hi).to_vec())?),
            },
            Extent::Str { lo, hi } => Interval {
                lo: value(lo.to_vec())?,
                hi: hi.as_ref().map(|hi| value(hi.to_vec())).transpose()?,
            },
        })
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hi {
            Some(hi) => write!(f, "{}..={hi}", self.lo),
            None => write!(f, "{}..", self.lo),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cast_only_without_loss() {
        assert_eq!(Value::of_datatype(Datatype::UInt8, 255).unwrap().to_vec::<u8>(), Some(vec![255]));
        assert_eq!(Value::of_datatype(Datatype::UInt8, 256).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(Value::of_datatype(Datatype::StringAscii, "GT").unwrap().as_str(), Some("GT"));
        assert!(Value::of_datatype(Datatype::Int32, "GT").is_err());
        assert_eq!(
            Value::of_datatype(Datatype::Float32, [1, 2]).unwrap().to_vec::<f32>(),
            Some(vec![1.0, 2.0])
        );
        assert!(Value::from_le_bytes(Datatype::Int32, vec![0; 5]).is_err());
    }

    #[test]
    fn values_are_shown_in_the_notation_of_their_datatype() {
        assert_eq!(Value::from([1, -2]).to_string(), "[1, -2]");
        assert_eq!(Value::from(true).to_string(), "true");
        assert_eq!(Value::from(1.0_f32).to_string(), "1.0");
        assert_eq!(Value::blob([0xab, 1]).to_string(), "0xab01");
        assert_eq!(Value::from("a\"b").to_string(), r#""a\"b""#);
        let interval = Interval::from_extent(Datatype::Int8, &Extent::Num { lo: 0, hi: 255 }).unwrap();
        assert_eq!(interval.to_string(), "-128..=127");
    }
}
