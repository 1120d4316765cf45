//! One typed number.

use crate::{Datatype, Error, PhysicalKind, Result};
use std::fmt;

macro_rules! scalars {
    ($($variant:ident($t:ty),)*) => {
        /// One number of a machine type, as it travels between users and columns.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(missing_docs, reason = "the names are the types")]
        pub enum Scalar { $($variant($t),)* }

        $(impl From<$t> for Scalar {
            fn from(value: $t) -> Self { Scalar::$variant(value) }
        })*

        impl Scalar {
            /// The little-endian value at the start of `bytes`.
            ///
            /// # Errors
            /// `Corrupt` when there are too few bytes.
            pub fn read(datatype: Datatype, bytes: &[u8]) -> Result<Scalar> {
                let value = match datatype.physical() {
                    $(PhysicalKind::$variant => bytes
                        .get(..size_of::<$t>())
                        .map(|bytes| Scalar::$variant(bytemuck::pod_read_unaligned(bytes))),)*
                };
                value.ok_or_else(|| {
                    Error::corrupt(format!("{} bytes are too few for a value of type {datatype}", bytes.len()))
                })
            }

            /// The little-endian bytes.
            pub fn to_le_bytes(self) -> Vec<u8> {
                match self { $(Scalar::$variant(value) => value.to_le_bytes().to_vec(),)* }
            }

            /// The [`Physical::ordinal`](crate::Physical::ordinal) of the value.
            pub fn ordinal(self) -> u64 {
                match self { $(Scalar::$variant(value) => crate::Physical::ordinal(value),)* }
            }
        }

        impl fmt::Display for Scalar {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Scalar::$variant(value) => write!(f, "{value}"),)* }
            }
        }
    };
}
scalars! { I8(i8), I16(i16), I32(i32), I64(i64), U8(u8), U16(u16), U32(u32), U64(u64), F32(f32), F64(f64), }

impl Scalar {
    /// The value as a wide integer, where it is an integer.
    pub fn as_i128(self) -> Option<i128> {
        Some(match self {
            Scalar::I8(v) => v.into(),
            Scalar::I16(v) => v.into(),
            Scalar::I32(v) => v.into(),
            Scalar::I64(v) => v.into(),
            Scalar::U8(v) => v.into(),
            Scalar::U16(v) => v.into(),
            Scalar::U32(v) => v.into(),
            Scalar::U64(v) => v.into(),
            Scalar::F32(_) | Scalar::F64(_) => return None,
        })
    }

    /// The value as a 64-bit float; large integers are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::F32(v) => v.into(),
            Scalar::F64(v) => v,
            other => other.as_i128().map_or(f64::NAN, |v| v as f64),
        }
    }

    /// The value as a datatype, if it holds it exactly (floats: rounded to the nearest).
    ///
    /// # Errors
    /// `InvalidArgument` when the value does not fit.
    pub fn cast(self, datatype: Datatype) -> Result<Scalar> {
        let misfit = || Error::invalid(format!("{self} is no value of type {datatype}"));
        if datatype.is_float() {
            let value = self.as_f64();
            return Ok(if datatype == Datatype::Float32 {
                Scalar::F32(value as f32)
            } else {
                Scalar::F64(value)
            });
        }
        let wide = match self {
            Scalar::F32(_) | Scalar::F64(_) => {
                let value = self.as_f64();
                if value.fract() != 0.0 || value.abs() >= 9.2e18 {
                    return Err(misfit());
                }
                value as i128
            }
            _ => self.as_i128().ok_or_else(misfit)?,
        };
        fn narrow<T: TryFrom<i128> + Into<Scalar>>(wide: i128) -> Option<Scalar> {
            T::try_from(wide).ok().map(Into::into)
        }
        let value = match datatype.physical() {
            PhysicalKind::I8 => narrow::<i8>(wide),
            PhysicalKind::I16 => narrow::<i16>(wide),
            PhysicalKind::I32 => narrow::<i32>(wide),
            PhysicalKind::I64 => narrow::<i64>(wide),
            PhysicalKind::U8 => narrow::<u8>(wide),
            PhysicalKind::U16 => narrow::<u16>(wide),
            PhysicalKind::U32 => narrow::<u32>(wide),
            PhysicalKind::U64 => narrow::<u64>(wide),
            PhysicalKind::F32 | PhysicalKind::F64 => None,
        };
        value.ok_or_else(misfit)
    }
}
