//! The 44 datatypes of the format and the number of values in a cell.

use crate::{Error, Physical, Result, ValueBytes};
use std::fmt;
use std::num::NonZeroU32;

macro_rules! datatypes {
    ($($(#[$doc:meta])* $variant:ident = $tag:literal, $name:literal, $physical:ident;)*) => {
        /// A datatype of the format, with its on-disk tag as discriminant (specification: `array_schema.md`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Datatype { $($(#[$doc])* $variant = $tag,)* }

        impl Datatype {
            /// Every datatype, in the order of the on-disk tags.
            pub const ALL: &'static [Datatype] = &[$(Datatype::$variant,)*];

            /// The datatype of an on-disk tag.
            pub fn from_tag(tag: u8) -> Option<Datatype> {
                Datatype::ALL.get(usize::from(tag)).copied()
            }

            /// The name in schemas printed as JSON, such as `INT32` or `DATETIME_MS`.
            pub fn name(self) -> &'static str {
                match self { $(Datatype::$variant => $name,)* }
            }

            /// The machine type that one value is stored as.
            pub fn physical(self) -> PhysicalKind {
                match self { $(Datatype::$variant => PhysicalKind::$physical,)* }
            }
        }
    };
}

datatypes! {
    /// Signed 32-bit integer.
    Int32 = 0, "INT32", I32;
    /// Signed 64-bit integer.
    Int64 = 1, "INT64", I64;
    /// IEEE 754 binary32.
    Float32 = 2, "FLOAT32", F32;
    /// IEEE 754 binary64.
    Float64 = 3, "FLOAT64", F64;
    /// A byte of text without an encoding.
    Char = 4, "CHAR", U8;
    /// Signed 8-bit integer.
    Int8 = 5, "INT8", I8;
    /// Unsigned 8-bit integer.
    UInt8 = 6, "UINT8", U8;
    /// Signed 16-bit integer.
    Int16 = 7, "INT16", I16;
    /// Unsigned 16-bit integer.
    UInt16 = 8, "UINT16", U16;
    /// Unsigned 32-bit integer.
    UInt32 = 9, "UINT32", U32;
    /// Unsigned 64-bit integer.
    UInt64 = 10, "UINT64", U64;
    /// ASCII text.
    StringAscii = 11, "STRING_ASCII", U8;
    /// UTF-8 text.
    StringUtf8 = 12, "STRING_UTF8", U8;
    /// UTF-16 code units.
    StringUtf16 = 13, "STRING_UTF16", U16;
    /// UTF-32 code units.
    StringUtf32 = 14, "STRING_UTF32", U32;
    /// UCS-2 code units.
    StringUcs2 = 15, "STRING_UCS2", U16;
    /// UCS-4 code units.
    StringUcs4 = 16, "STRING_UCS4", U32;
    /// Bytes whose first byte of every cell is a datatype tag.
    Any = 17, "ANY", U8;
    /// Years since 1970.
    DateTimeYear = 18, "DATETIME_YEAR", I64;
    /// Months since January 1970.
    DateTimeMonth = 19, "DATETIME_MONTH", I64;
    /// Weeks since 1970-01-01.
    DateTimeWeek = 20, "DATETIME_WEEK", I64;
    /// Days since 1970-01-01.
    DateTimeDay = 21, "DATETIME_DAY", I64;
    /// Hours since 1970-01-01T00.
    DateTimeHr = 22, "DATETIME_HR", I64;
    /// Minutes since the epoch.
    DateTimeMin = 23, "DATETIME_MIN", I64;
    /// Seconds since the epoch.
    DateTimeSec = 24, "DATETIME_SEC", I64;
    /// Milliseconds since the epoch.
    DateTimeMs = 25, "DATETIME_MS", I64;
    /// Microseconds since the epoch.
    DateTimeUs = 26, "DATETIME_US", I64;
    /// Nanoseconds since the epoch.
    DateTimeNs = 27, "DATETIME_NS", I64;
    /// Picoseconds since the epoch.
    DateTimePs = 28, "DATETIME_PS", I64;
    /// Femtoseconds since the epoch.
    DateTimeFs = 29, "DATETIME_FS", I64;
    /// Attoseconds since the epoch.
    DateTimeAs = 30, "DATETIME_AS", I64;
    /// Time of day in hours.
    TimeHr = 31, "TIME_HR", I64;
    /// Time of day in minutes.
    TimeMin = 32, "TIME_MIN", I64;
    /// Time of day in seconds.
    TimeSec = 33, "TIME_SEC", I64;
    /// Time of day in milliseconds.
    TimeMs = 34, "TIME_MS", I64;
    /// Time of day in microseconds.
    TimeUs = 35, "TIME_US", I64;
    /// Time of day in nanoseconds.
    TimeNs = 36, "TIME_NS", I64;
    /// Time of day in picoseconds.
    TimePs = 37, "TIME_PS", I64;
    /// Time of day in femtoseconds.
    TimeFs = 38, "TIME_FS", I64;
    /// Time of day in attoseconds.
    TimeAs = 39, "TIME_AS", I64;
    /// Opaque bytes.
    Blob = 40, "BLOB", U8;
    /// A boolean in one byte, 0 or 1.
    Bool = 41, "BOOL", U8;
    /// Geometry in well-known binary.
    GeomWkb = 42, "GEOM_WKB", U8;
    /// Geometry in well-known text.
    GeomWkt = 43, "GEOM_WKT", U8;
}

/// The machine type of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum PhysicalKind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Datatype {
    /// The on-disk tag.
    pub fn tag(self) -> u8 {
        self as u8
    }

    /// The datatype of a [`Datatype::name`], in any case of letters.
    pub fn from_name(name: &str) -> Option<Datatype> {
        Datatype::ALL.iter().copied().find(|datatype| datatype.name().eq_ignore_ascii_case(name))
    }

    /// Bytes of one value.
    pub fn byte_len(self) -> usize {
        match self.physical() {
            PhysicalKind::I8 | PhysicalKind::U8 => 1,
            PhysicalKind::I16 | PhysicalKind::U16 => 2,
            PhysicalKind::I32 | PhysicalKind::U32 | PhysicalKind::F32 => 4,
            PhysicalKind::I64 | PhysicalKind::U64 | PhysicalKind::F64 => 8,
        }
    }

    /// A plain integer type: no text, bytes, date or time.
    pub fn is_integer(self) -> bool {
        use Datatype::*;
        matches!(self, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
    }

    /// A 32 or 64-bit float.
    pub fn is_float(self) -> bool {
        matches!(self, Datatype::Float32 | Datatype::Float64)
    }

    /// A date and time, stored as a signed 64-bit count since 1970.
    pub fn is_datetime(self) -> bool {
        (Datatype::DateTimeYear..=Datatype::DateTimeAs).contains(&self)
    }

    /// A time of day, stored as a signed 64-bit count.
    pub fn is_time(self) -> bool {
        (Datatype::TimeHr..=Datatype::TimeAs).contains(&self)
    }

    /// Text in any encoding: ASCII, UTF-8, UTF-16, UTF-32, UCS-2 or UCS-4.
    pub fn is_string(self) -> bool {
        (Datatype::StringAscii..=Datatype::StringUcs4).contains(&self)
    }

    /// One of the types whose values are single bytes of text or opaque data.
    pub fn is_bytes(self) -> bool {
        use Datatype::*;
        matches!(self, Char | StringAscii | StringUtf8 | Any | Blob | GeomWkb | GeomWkt)
    }

    /// What text of this type has to be and these bytes are not: `ASCII` or `UTF-8`. `None` for bytes that will do, and for
    /// types that take all bytes. Stricter than libtiledb, which stores any bytes as text: so what is there already may be of
    /// another kind, and writes ask.
    pub fn text_fault(self, bytes: &[u8]) -> Option<&'static str> {
        match self {
            Datatype::StringAscii => (!bytes.is_ascii()).then_some("ASCII"),
            Datatype::StringUtf8 | Datatype::GeomWkt => {
                std::str::from_utf8(bytes).is_err().then_some("UTF-8")
            }
            _ => None,
        }
    }

    /// The bytes of the default fill value of one value (specification: `array_schema.md`, fill values).
    ///
    /// Integers: the minimum of signed and the maximum of unsigned types; floats: NaN; `CHAR`: byte 0x80;
    /// booleans, text and opaque bytes: 0.
    pub fn default_fill(self) -> Vec<u8> {
        use Datatype::*;
        match self {
            Char => vec![0x80],
            Bool => vec![0],
            StringAscii | StringUtf8 | Blob | GeomWkb | GeomWkt => vec![0],
            StringUtf16 | StringUcs2 => vec![0; 2],
            StringUtf32 | StringUcs4 => vec![0; 4],
            Any => vec![0],
            _ => match self.physical() {
                PhysicalKind::I8 => i8::MIN.to_le_bytes().to_vec(),
                PhysicalKind::I16 => i16::MIN.to_le_bytes().to_vec(),
                PhysicalKind::I32 => i32::MIN.to_le_bytes().to_vec(),
                PhysicalKind::I64 => i64::MIN.to_le_bytes().to_vec(),
                PhysicalKind::U8 => u8::MAX.to_le_bytes().to_vec(),
                PhysicalKind::U16 => u16::MAX.to_le_bytes().to_vec(),
                PhysicalKind::U32 => u32::MAX.to_le_bytes().to_vec(),
                PhysicalKind::U64 => u64::MAX.to_le_bytes().to_vec(),
                PhysicalKind::F32 => f32::NAN.to_le_bytes().to_vec(),
                PhysicalKind::F64 => f64::NAN.to_le_bytes().to_vec(),
            },
        }
    }

    /// The [`Physical::ordinal`] of the little-endian value at the start of `bytes`.
    ///
    /// # Errors
    /// `Corrupt` when `bytes` is shorter than one value.
    pub fn ordinal(self, bytes: &[u8]) -> Result<u64> {
        fn read<T: Physical>(bytes: &[u8]) -> Option<u64> {
            Some(bytemuck::try_pod_read_unaligned::<T>(bytes.get(..size_of::<T>())?).ok()?.ordinal())
        }
        crate::dispatch_physical!(self, T => read::<T>(bytes)).ok_or_else(|| {
            Error::corrupt(format!("{} bytes are too few for a value of type {self}", bytes.len()))
        })
    }

    /// The little-endian bytes of the value with this [`Physical::ordinal`].
    pub fn bytes_of_ordinal(self, ordinal: u64) -> ValueBytes {
        crate::dispatch_physical!(self, T => ValueBytes::of(<T as Physical>::from_ordinal(ordinal)))
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs an expression with a type alias bound to the machine type of a [`Datatype`].
///
/// `dispatch_physical!(datatype, T => f::<T>(x))`
#[macro_export]
macro_rules! dispatch_physical {
    ($datatype:expr, $T:ident => $body:expr) => {
        match $datatype.physical() {
            $crate::PhysicalKind::I8 => {
                type $T = i8;
                $body
            }
            $crate::PhysicalKind::I16 => {
                type $T = i16;
                $body
            }
            $crate::PhysicalKind::I32 => {
                type $T = i32;
                $body
            }
            $crate::PhysicalKind::I64 => {
                type $T = i64;
                $body
            }
            $crate::PhysicalKind::U8 => {
                type $T = u8;
                $body
            }
            $crate::PhysicalKind::U16 => {
                type $T = u16;
                $body
            }
            $crate::PhysicalKind::U32 => {
                type $T = u32;
                $body
            }
            $crate::PhysicalKind::U64 => {
                type $T = u64;
                $body
            }
            $crate::PhysicalKind::F32 => {
                type $T = f32;
                $body
            }
            $crate::PhysicalKind::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}

/// How many values a cell of a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellValNum {
    /// The same number in every cell.
    Fixed(NonZeroU32),
    /// A number of its own in every cell, given by an offsets tile.
    Var,
}

impl CellValNum {
    /// One value a cell.
    pub const ONE: CellValNum = CellValNum::Fixed(NonZeroU32::MIN);

    /// The number from its on-disk form, where `u32::MAX` means variable; 0 is no number.
    pub fn from_raw(raw: u32) -> Option<CellValNum> {
        if raw == u32::MAX { Some(CellValNum::Var) } else { NonZeroU32::new(raw).map(CellValNum::Fixed) }
    }

    /// The on-disk form.
    pub fn raw(self) -> u32 {
        match self {
            CellValNum::Fixed(count) => count.get(),
            CellValNum::Var => u32::MAX,
        }
    }

    /// Whether the number varies from cell to cell.
    pub fn is_var(self) -> bool {
        self == CellValNum::Var
    }

    /// The fixed number, if it is fixed.
    pub fn fixed(self) -> Option<usize> {
        match self {
            CellValNum::Fixed(count) => Some(count.get() as usize),
            CellValNum::Var => None,
        }
    }
}
