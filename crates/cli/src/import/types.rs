//! Which field of an array a column of a table becomes.

use super::kind::Kind;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, TimeUnit};
use smalti::arrow::{ArrowForm, DATATYPE_KEY, arrow_field};
use smalti::{CellShape, CellValNum, Datatype};

/// What a column becomes.
#[derive(Debug, Clone)]
pub(super) struct FieldType {
    pub(super) shape: CellShape,
    /// Whether its values are labels of an enumeration.
    pub(super) is_enumerated: bool,
    /// The Arrow type that its arrays are converted to before they are written.
    pub(super) arrow: DataType,
}

/// The type of a field for a column.
///
/// # Errors
/// What the column is that no field can hold.
pub(super) fn field_type(field: &Field) -> Result<FieldType, String> {
    let is_enumerated = matches!(field.data_type(), DataType::Dictionary(..));
    let values = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        other => other.clone(),
    };
    let (datatype, cell_val_num, converted) = told(field, &values).map_or_else(|| of_arrow(&values), Ok)?;
    let arrow = match field.data_type() {
        DataType::Dictionary(..) => field.data_type().clone(),
        _ => converted,
    };
    let shape = CellShape { datatype, cell_val_num, is_nullable: field.is_nullable() };
    Ok(FieldType { shape, is_enumerated, arrow })
}

/// The datatype that smalti itself put into the field's metadata.
fn told(field: &Field, values: &DataType) -> Option<(Datatype, CellValNum, DataType)> {
    let datatype = Datatype::from_name(field.metadata().get(DATATYPE_KEY)?)?;
    let fixed = match values {
        DataType::FixedSizeList(_, count) | DataType::FixedSizeBinary(count) => u32::try_from(*count).ok(),
        _ => Some(1),
    };
    [fixed.and_then(CellValNum::from_raw), Some(CellValNum::Var)].into_iter().flatten().find_map(
        |cell_val_num| {
            let shape = CellShape { datatype, cell_val_num, is_nullable: field.is_nullable() };
            let own = arrow_field("", shape, ArrowForm::default());
            let is_alike = match (own.data_type(), values) {
                (DataType::LargeUtf8, DataType::Utf8 | DataType::Utf8View) => true,
                (DataType::LargeBinary, DataType::Binary | DataType::BinaryView) => true,
                (own, values) => own.equals_datatype(values),
            };
            is_alike.then(|| (datatype, cell_val_num, values.clone()))
        },
    )
}

fn of_arrow(data_type: &DataType) -> Result<(Datatype, CellValNum, DataType), String> {
    use Datatype as D;
    let one = |datatype: Datatype| Ok((datatype, CellValNum::ONE, data_type.clone()));
    let var = |datatype: Datatype| Ok((datatype, CellValNum::Var, data_type.clone()));
    match data_type {
        DataType::Null => Ok((D::StringUtf8, CellValNum::Var, DataType::Utf8)),
        DataType::Boolean => one(D::Bool),
        DataType::Int8 => one(D::Int8),
        DataType::Int16 => one(D::Int16),
        DataType::Int32 => one(D::Int32),
        DataType::Int64 => one(D::Int64),
        DataType::UInt8 => one(D::UInt8),
        DataType::UInt16 => one(D::UInt16),
        DataType::UInt32 => one(D::UInt32),
        DataType::UInt64 => one(D::UInt64),
        // The format has no half floats; these hold all of their values.
        DataType::Float16 => Ok((D::Float32, CellValNum::ONE, DataType::Float32)),
        DataType::Float32 => one(D::Float32),
        DataType::Float64 => one(D::Float64),
        DataType::Date32 => one(D::DateTimeDay),
        DataType::Date64 => one(D::DateTimeMs),
        DataType::Timestamp(unit, _) => one(match unit {
            TimeUnit::Second => D::DateTimeSec,
            TimeUnit::Millisecond => D::DateTimeMs,
            TimeUnit::Microsecond => D::DateTimeUs,
            TimeUnit::Nanosecond => D::DateTimeNs,
        }),
        DataType::Time32(TimeUnit::Second) | DataType::Duration(TimeUnit::Second) => one(D::TimeSec),
        DataType::Time32(_) | DataType::Duration(TimeUnit::Millisecond) => one(D::TimeMs),
        DataType::Time64(TimeUnit::Nanosecond) | DataType::Duration(TimeUnit::Nanosecond) => one(D::TimeNs),
        DataType::Time64(_) | DataType::Duration(_) => one(D::TimeUs),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => var(D::StringUtf8),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => var(D::Blob),
        DataType::FixedSizeBinary(count) => fixed(D::Blob, *count, data_type),
        DataType::List(item) | DataType::LargeList(item) => var(item_type(item, data_type)?),
        DataType::FixedSizeList(item, count) => fixed(item_type(item, data_type)?, *count, data_type),
        other => Err(unsupported(other)),
    }
}

fn fixed(
    datatype: Datatype,
    count: i32,
    data_type: &DataType,
) -> Result<(Datatype, CellValNum, DataType), String> {
    let count =
        u32::try_from(count).ok().and_then(CellValNum::from_raw).ok_or_else(|| unsupported(data_type))?;
    Ok((datatype, count, data_type.clone()))
}

fn item_type(item: &Field, data_type: &DataType) -> Result<Datatype, String> {
    match of_arrow(item.data_type()) {
        Ok((datatype, CellValNum::ONE, arrow)) if arrow == *item.data_type() => Ok(datatype),
        _ => Err(unsupported(data_type)),
    }
}

fn unsupported(data_type: &DataType) -> String {
    match data_type {
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => {
            format!("decimals ({data_type}), which the format has no type for")
        }
        DataType::Struct(fields) if fields.is_empty() => "nested values, which no cell can hold".into(),
        other => format!("values of type {other}, which no cell can hold"),
    }
}

/// The kind that text is read as for a field that is there; the shape is that of labels where there are some.
///
/// # Errors
/// Types that text is not imported to.
pub(super) fn kind_of_field(name: &str, shape: CellShape) -> Result<Kind, String> {
    let datatype = shape.datatype;
    let is_one = shape.cell_val_num == CellValNum::ONE;
    let arrow = arrow_field(name, shape, ArrowForm::default()).data_type().clone();
    match arrow {
        DataType::LargeUtf8 => Ok(Kind::Fixed(DataType::Utf8)),
        DataType::Timestamp(unit, _) if is_one => Ok(Kind::Fixed(DataType::Timestamp(unit, None))),
        _ if is_one && datatype == Datatype::DateTimeDay => Ok(Kind::Fixed(DataType::Date32)),
        _ if is_one && (datatype.is_datetime() || datatype.is_time()) => Ok(Kind::Stored(datatype)),
        other if is_one && (other.is_numeric() || other == DataType::Boolean) => Ok(Kind::Fixed(other)),
        _ => Err(format!(
            "the field {name:?} of type {datatype} takes no text in an import; `smalti write` reads it, and so do Arrow and Parquet"
        )),
    }
}

/// An array in another Arrow type, where both hold the same values.
///
/// # Errors
/// A value that the type does not hold.
pub(super) fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    let from = array.data_type();
    // The engine reads these as they are, zones and layouts of text included.
    let is_known = from == to
        || matches!((from, to), (DataType::Timestamp(a, _), DataType::Timestamp(b, _)) if a == b)
        || matches!((from, to), (DataType::Dictionary(..), DataType::Dictionary(..)))
        || is_text(from) && is_text(to);
    if is_known {
        return Ok(array.clone());
    }
    let options = arrow_cast::CastOptions { safe: false, ..arrow_cast::CastOptions::default() };
    let cast = arrow_cast::cast_with_options(array, to, &options).map_err(|error| error.to_string())?;
    match cast.null_count() > array.null_count() {
        true => Err(format!("values of {from} that {to} does not hold")),
        false => Ok(cast),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
