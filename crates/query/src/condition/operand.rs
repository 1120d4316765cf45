//! Values of conditions in the type of their field.

use super::tree::{Literal, Relation};
use smalti_format::CompareOp;
use smalti_tile::CellShape;
use smalti_types::text::parse_date_time;
use smalti_types::{CellValNum, Datatype, Error, Result, Scalar, dispatch_physical};

/// What a comparison of a field with a value comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    /// A comparison with little-endian bytes.
    Value(Relation, Vec<u8>),
    /// True for every cell that is not null, or false for every cell.
    Always(bool),
}

/// How the cells of a field can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparability {
    /// As single numbers.
    Number,
    /// As text, in the order of its bytes.
    Text,
    /// As bytes that are equal or not.
    Bytes,
    /// Not at all; only null tests.
    NullOnly,
}

impl Comparability {
    pub(super) fn of(shape: CellShape) -> Self {
        use Datatype::*;
        match shape.datatype {
            Char | StringAscii | StringUtf8 => Comparability::Text,
            Blob | GeomWkb | GeomWkt | Any => Comparability::Bytes,
            datatype if datatype.is_string() || shape.cell_val_num != CellValNum::ONE => {
                Comparability::NullOnly
            }
            _ => Comparability::Number,
        }
    }
}

impl From<Relation> for CompareOp {
    fn from(relation: Relation) -> CompareOp {
        match relation {
            Relation::Lt => CompareOp::Lt,
            Relation::Le => CompareOp::Le,
            Relation::Gt => CompareOp::Gt,
            Relation::Ge => CompareOp::Ge,
            Relation::Eq => CompareOp::Eq,
            Relation::Ne => CompareOp::Ne,
        }
    }
}

/// A value as a field of a shape compares it.
///
/// Integers beyond the range of the type are moved to its end where the order allows: of bytes, `a < 300` is `a <= 255`.
///
/// # Errors
/// `InvalidArgument` when the value does not fit the field, or the field has no such comparison.
pub(super) fn operand(shape: CellShape, relation: Relation, value: &Literal) -> Result<Operand> {
    let datatype = shape.datatype;
    match Comparability::of(shape) {
        Comparability::Number if datatype.is_float() => {
            Ok(Operand::Value(relation, float(datatype, relation, value)?))
        }
        Comparability::Number => integer(datatype, relation, value),
        Comparability::Text => Ok(Operand::Value(relation, bytes(shape, relation, value)?)),
        Comparability::Bytes if relation.is_ordered() => Err(Error::invalid(format!(
            "values of type {datatype} have no order; compare them with == or != or a set"
        ))),
        Comparability::Bytes => Ok(Operand::Value(relation, bytes(shape, relation, value)?)),
        Comparability::NullOnly => Err(incomparable(shape)),
    }
}

/// The members of a set, one after the other, and where each starts.
///
/// # Errors
/// As [`operand`].
pub(super) fn members(shape: CellShape, members: &[Literal]) -> Result<(Vec<u8>, Vec<u64>)> {
    if Comparability::of(shape) == Comparability::NullOnly {
        return Err(incomparable(shape));
    }
    let (mut value, mut offsets) = (Vec::new(), Vec::with_capacity(members.len()));
    for member in members {
        if let Operand::Value(_, bytes) = operand(shape, Relation::Eq, member)? {
            offsets.push(value.len() as u64);
            value.extend(bytes);
        }
    }
    Ok((value, offsets))
}

fn incomparable(shape: CellShape) -> Error {
    let what = if shape.datatype.is_string() {
        format!("text of type {}", shape.datatype)
    } else {
        format!("several values of type {} a cell", shape.datatype)
    };
    Error::invalid(format!("{what} cannot be compared; only is null and is not null"))
}

fn misfit(value: &Literal, datatype: Datatype, hint: &str) -> Error {
    Error::invalid(format!("{value} is no value of type {datatype}{hint}"))
}

fn integer(datatype: Datatype, relation: Relation, value: &Literal) -> Result<Operand> {
    let is_clock = datatype.is_datetime() || datatype.is_time();
    match value {
        Literal::Bool(value) if datatype == Datatype::Bool => {
            Ok(Operand::Value(relation, vec![u8::from(*value)]))
        }
        Literal::Int(wide) if datatype == Datatype::Bool && !(0..=1).contains(wide) => {
            Err(misfit(value, datatype, "; write true or false"))
        }
        Literal::Float(_) if datatype == Datatype::Bool => {
            Err(misfit(value, datatype, "; write true or false"))
        }
        Literal::Int(wide) => whole(datatype, relation, *wide),
        Literal::Float(float) => rounded(datatype, relation, *float),
        Literal::Text(text) if is_clock => {
            let stored = parse_date_time(datatype, text)?;
            Ok(Operand::Value(relation, stored.to_le_bytes().to_vec()))
        }
        Literal::Bool(_) => {
            Err(misfit(value, datatype, "; write a number, and an operator: only booleans stand alone"))
        }
        Literal::Text(_) if datatype == Datatype::Bool => {
            Err(misfit(value, datatype, "; write true or false, without quotes"))
        }
        Literal::Text(_) => Err(misfit(value, datatype, "; write numbers without quotes")),
        Literal::Bytes(_) => Err(misfit(value, datatype, "")),
    }
}

/// The least and greatest value of an integer type.
fn limits(datatype: Datatype) -> (i128, i128) {
    fn ends<T: smalti_types::Physical + Into<Scalar>>() -> (i128, i128) {
        let end = |ordinal| T::from_ordinal(ordinal).into().as_i128().unwrap_or_default();
        (end(0), end(u64::MAX))
    }
    dispatch_physical!(datatype, T => ends::<T>())
}

fn whole(datatype: Datatype, relation: Relation, wide: i128) -> Result<Operand> {
    use Relation::*;
    let (min, max) = limits(datatype);
    let (relation, wide) = match relation {
        _ if (min..=max).contains(&wide) => (relation, wide),
        Lt | Le if wide > max => (Le, max),
        Lt | Le => (Lt, min),
        Gt | Ge if wide > max => (Gt, max),
        Gt | Ge => (Ge, min),
        Eq | Ne => {
            return Err(Error::invalid(format!(
                "{wide} is no value of type {datatype}, which has {min} to {max}"
            )));
        }
    };
    // Little-endian integers of all widths start alike.
    let mut bytes = wide.to_le_bytes().to_vec();
    bytes.truncate(datatype.byte_len());
    Ok(Operand::Value(relation, bytes))
}

/// A float against integers: exact where it is whole, else between its two neighbours.
fn rounded(datatype: Datatype, relation: Relation, float: f64) -> Result<Operand> {
    use Relation::*;
    let value = Literal::Float(float);
    if float.is_nan() {
        return Err(misfit(&value, datatype, ""));
    }
    // The conversion saturates, far beyond every type.
    match relation {
        _ if float.fract() == 0.0 => whole(datatype, relation, float as i128),
        Eq | Ne => Err(misfit(&value, datatype, "; write a whole number")),
        Lt | Le => whole(datatype, Le, float.floor() as i128),
        Gt | Ge => whole(datatype, Ge, float.ceil() as i128),
    }
}

fn float(datatype: Datatype, relation: Relation, value: &Literal) -> Result<Vec<u8>> {
    let (wide, narrow) = match value {
        Literal::Int(value) => (*value as f64, *value as f32),
        Literal::Float(value) => (*value, *value as f32),
        Literal::Text(_) => return Err(misfit(value, datatype, "; write numbers without quotes")),
        Literal::Bool(_) | Literal::Bytes(_) => return Err(misfit(value, datatype, "; write a number")),
    };
    if wide.is_nan() && relation.is_ordered() {
        return Err(Error::invalid("nan is neither less nor greater than anything"));
    }
    if datatype == Datatype::Float64 {
        return Ok(wide.to_le_bytes().to_vec());
    }
    if narrow.is_infinite() && wide.is_finite() {
        return Err(misfit(value, datatype, &format!(", which has {:e} to {:e}", f32::MIN, f32::MAX)));
    }
    Ok(narrow.to_le_bytes().to_vec())
}

fn bytes(shape: CellShape, relation: Relation, value: &Literal) -> Result<Vec<u8>> {
    let bytes = match value {
        Literal::Text(text) => text.as_bytes(),
        Literal::Bytes(bytes) => bytes,
        Literal::Int(_) | Literal::Float(_) | Literal::Bool(_) => {
            return Err(misfit(value, shape.datatype, "; write text in single quotes, bytes as x'00ff'"));
        }
    };
    match shape.cell_val_num.fixed() {
        Some(count) if count != bytes.len() && !relation.is_ordered() => Err(Error::invalid(format!(
            "{value} has {} bytes, and every cell {count}; pad it as the cells are",
            bytes.len()
        ))),
        _ => Ok(bytes.to_vec()),
    }
}
