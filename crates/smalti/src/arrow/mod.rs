//! Cells as Arrow arrays and back.
//!
//! # Which Arrow type a field becomes
//!
//! One value a cell:
//!
//! | datatype | Arrow type | copied |
//! |---|---|---|
//! | `INT8` to `UINT64`, `FLOAT32`, `FLOAT64` | the same | no |
//! | `BOOL` | Boolean | yes, bytes become bits |
//! | `DATETIME_SEC`, `_MS`, `_US`, `_NS` | Timestamp of that unit, without time zone | no |
//! | `DATETIME_DAY` | Int64; [Date32](ArrowForm::days_as_dates) if asked for | no; yes |
//! | other `DATETIME_*` | Int64: no Arrow type holds all their values | no |
//! | `TIME_US`, `TIME_NS` | Time64 of that unit | no |
//! | other `TIME_*` | Int64 | no |
//! | `STRING_UTF16`, `STRING_UCS2` | UInt16 code units | no |
//! | `STRING_UTF32`, `STRING_UCS4` | UInt32 code units | no |
//! | `CHAR`, `STRING_ASCII`, `STRING_UTF8`, `ANY`, `BLOB`, `GEOM_WKB`, `GEOM_WKT` | FixedSizeBinary(1) | no |
//!
//! More values a cell:
//!
//! | cells | Arrow type | copied |
//! |---|---|---|
//! | *n* bytes of `CHAR` to `GEOM_WKT` | FixedSizeBinary(*n*) | no |
//! | *n* values of another type | FixedSizeList(*n*) of the type above | as above |
//! | any number of `STRING_ASCII`, `STRING_UTF8`, `GEOM_WKT` | LargeUtf8; [LargeBinary](ArrowForm::text_as_binary) if asked for | no |
//! | any number of `CHAR`, `ANY`, `BLOB`, `GEOM_WKB` | LargeBinary | no |
//! | any number of values of another type | LargeList of the type above | as above |
//!
//! Attributes with an enumeration are dictionaries: their integers are the keys, the labels the values, of the type above; or
//! [plain integers](ArrowForm::codes_as_integers) if asked for. A code that has no label, such as most fill values, is null
//! in a dictionary.
//!
//! The validity bytes of nullable fields become bits. Every Arrow field carries the name of its datatype in its metadata
//! under [`DATATYPE_KEY`], so that nothing is forgotten.
//!
//! # Which Arrow arrays a field takes
//!
//! All that hold its values without loss: the type above; for text and bytes also the 32-bit and the view types, and
//! fixed-size cells from var-sized ones of just that length; integers of any width whose values fit; Float32 for `FLOAT64`;
//! Date32 for `DATETIME_DAY`, Date64 for `DATETIME_MS`, Time32 and Duration for the `TIME_*` of the same unit, Int64 for
//! every date and time; dictionaries and run-end encoded arrays of any of these. Slices are taken as they are.
//!
//! An attribute with an enumeration takes integers as codes, and dictionaries and whatever is not integers as labels.

mod dictionary;
mod export;
mod import;
mod measure;
mod numbers;

pub(crate) use dictionary::Dictionary;
pub use dictionary::ENUMERATION_KEY;
pub(crate) use export::array_of;
pub(crate) use import::column_of;
pub use measure::unpacked_byte_len;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, TimeUnit};
use smalti_space::UNSTOPPED;
use smalti_tile::{CellShape, Column};
use smalti_types::{CellValNum, Datatype, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The key in an Arrow field's metadata under which the name of the datatype stands.
pub const DATATYPE_KEY: &str = "tiledb:datatype";

/// Choices where several Arrow types fit a field. The default loses nothing and copies least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArrowForm {
    text_as_binary: bool,
    days_as_dates: bool,
    codes_as_integers: bool,
}

impl ArrowForm {
    /// Text as LargeBinary, for arrays whose text is not valid UTF-8. By default such text is an error that names the cell.
    #[must_use]
    pub fn text_as_binary(mut self, yes: bool) -> Self {
        self.text_as_binary = yes;
        self
    }

    /// `DATETIME_DAY` as Date32. Days beyond its 32 bits are then an error; null dates (`NaT`) become null.
    #[must_use]
    pub fn days_as_dates(mut self, yes: bool) -> Self {
        self.days_as_dates = yes;
        self
    }
}

impl ArrowForm {
    /// Attributes with an enumeration as the plain integers that are stored. By default they are dictionaries of the labels.
    #[must_use]
    pub fn codes_as_integers(mut self, yes: bool) -> Self {
        self.codes_as_integers = yes;
        self
    }

    pub(crate) fn has_dictionaries(self) -> bool {
        !self.codes_as_integers
    }
}

/// The Arrow field of a field with a name.
///
/// ```
/// use smalti::arrow::{ArrowForm, arrow_field};
/// use smalti::CellShape;
/// use smalti::{CellValNum, Datatype};
///
/// let shape = CellShape { datatype: Datatype::StringUtf8, cell_val_num: CellValNum::Var, is_nullable: true };
/// let field = arrow_field("name", shape, ArrowForm::default());
/// assert_eq!(field.data_type().to_string(), "LargeUtf8");
/// assert!(field.is_nullable());
/// ```
pub fn arrow_field(name: &str, shape: CellShape, form: ArrowForm) -> Field {
    let is_nullable = shape.is_nullable || is_date32(shape, form);
    let metadata = HashMap::from([(DATATYPE_KEY.to_owned(), shape.datatype.name().to_owned())]);
    Field::new(name, data_type(shape, form), is_nullable).with_metadata(metadata)
}

/// The cells of a field as an Arrow array of the type that [`arrow_field`] tells, without a copy where the
/// [tables](crate::arrow) say so. The column must have `cell_count` cells of the shape, as every read gives them.
///
/// # Errors
/// `Corrupt` when text is not UTF-8 (the message names the cell), or the column does not fit the shape; `Unsupported` for dates that
/// Date32 cannot hold and cells of more than 2³¹ values.
///
/// ```
/// use smalti::arrow::{ArrowForm, arrow_array};
/// use smalti::{CellShape, Column};
/// use smalti::{AlignedBuf, CellValNum, Datatype};
///
/// let mut data = AlignedBuf::zeroed(8)?;
/// data.values_mut::<u32>().copy_from_slice(&[7, 9]);
/// let shape = CellShape { datatype: Datatype::UInt32, cell_val_num: CellValNum::ONE, is_nullable: false };
/// let array = arrow_array(Column { data, ..Column::default() }, shape, 2, ArrowForm::default())?;
/// assert_eq!(array.len(), 2);
/// # Ok::<(), smalti::Error>(())
/// ```
pub fn arrow_array(column: Column, shape: CellShape, cell_count: usize, form: ArrowForm) -> Result<ArrayRef> {
    export::array_of(column, shape, cell_count, form, UNSTOPPED)
}

/// The cells of an Arrow array as a column of a field: [`arrow_array()`] backwards, for every type that the field
/// [takes](crate::arrow). The bytes are copied.
///
/// # Errors
/// `InvalidArgument` when the field cannot hold the cells without loss; `OutOfMemory`.
///
/// ```
/// use smalti::arrow_array::{ArrayRef, StringArray};
/// use smalti::{CellShape, CellValNum, Datatype};
///
/// let shape = CellShape { datatype: Datatype::StringUtf8, cell_val_num: CellValNum::Var, is_nullable: true };
/// let array: ArrayRef = std::sync::Arc::new(StringArray::from(vec![Some("ab"), None]));
/// let column = smalti::arrow::arrow_column(&array, shape)?;
/// assert_eq!((column.as_ref().cell(0, 0), column.as_ref().is_valid(1)), (&b"ab"[..], false));
/// # Ok::<(), smalti::Error>(())
/// ```
pub fn arrow_column(array: &ArrayRef, shape: CellShape) -> Result<Column> {
    column_of(array, shape)?.to_column()
}

fn is_date32(shape: CellShape, form: ArrowForm) -> bool {
    form.days_as_dates && shape.datatype == Datatype::DateTimeDay && shape.cell_val_num == CellValNum::ONE
}

/// Whether var-sized cells of a datatype are text in Arrow.
fn is_arrow_text(datatype: Datatype) -> bool {
    matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8 | Datatype::GeomWkt)
}

fn data_type(shape: CellShape, form: ArrowForm) -> DataType {
    let CellShape { datatype, cell_val_num, .. } = shape;
    if is_date32(shape, form) {
        return DataType::Date32;
    }
    match cell_val_num {
        CellValNum::Var if is_arrow_text(datatype) && !form.text_as_binary => DataType::LargeUtf8,
        CellValNum::Var if datatype.is_bytes() => DataType::LargeBinary,
        CellValNum::Var => DataType::LargeList(item(datatype)),
        CellValNum::Fixed(count) if datatype.is_bytes() => DataType::FixedSizeBinary(list_size(count.get())),
        CellValNum::ONE => value_type(datatype),
        CellValNum::Fixed(count) => DataType::FixedSizeList(item(datatype), list_size(count.get())),
    }
}

/// Arrow's sizes have 31 bits; [`arrow_array()`] refuses larger ones.
fn list_size(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn item(datatype: Datatype) -> Arc<Field> {
    Arc::new(Field::new_list_field(value_type(datatype), false))
}

/// The Arrow type of one value of a datatype that is not bytes.
fn value_type(datatype: Datatype) -> DataType {
    use smalti_types::PhysicalKind::*;
    match datatype {
        Datatype::Bool => DataType::Boolean,
        Datatype::DateTimeSec => DataType::Timestamp(TimeUnit::Second, None),
        Datatype::DateTimeMs => DataType::Timestamp(TimeUnit::Millisecond, None),
        Datatype::DateTimeUs => DataType::Timestamp(TimeUnit::Microsecond, None),
        Datatype::DateTimeNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        Datatype::TimeUs => DataType::Time64(TimeUnit::Microsecond),
        Datatype::TimeNs => DataType::Time64(TimeUnit::Nanosecond),
        _ => match datatype.physical() {
            I8 => DataType::Int8,
            I16 => DataType::Int16,
            I32 => DataType::Int32,
            I64 => DataType::Int64,
            U8 => DataType::UInt8,
            U16 => DataType::UInt16,
            U32 => DataType::UInt32,
            U64 => DataType::UInt64,
            F32 => DataType::Float32,
            F64 => DataType::Float64,
        },
    }
}
