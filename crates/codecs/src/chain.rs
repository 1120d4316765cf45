//! Which filters may follow which: the datatypes that each accepts, produces and acts on.
//!
//! The rules are those of the reference (`accepts_input_datatype` and `output_datatype` of each filter, and
//! `FilterPipeline::check_filter_types`), except that a dictionary on anything but var-sized ASCII or UTF-8, and levels
//! that gzip or bzip2 do not know, are refused here when the schema is made and not only when it is first written.

use crate::field::{FieldKind, TileRole};
use smalti_types::{Datatype, Error, Filter, FilterPipeline, Result, ScaleWidth};

/// Checks that every filter of a pipeline accepts what the one before it produces, as a schema must be made.
///
/// # Errors
/// `InvalidArgument`; the message names filter, position and datatype and lists what would be accepted.
pub(crate) fn check(pipeline: &FilterPipeline, field: FieldKind) -> Result<()> {
    check_each(pipeline, field, |_, _| false)
}

/// Checks the coordinate filters of a schema as a dimension inherits them: the integer filters may meet datatypes that
/// they leave alone.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_inherited(pipeline: &FilterPipeline, field: FieldKind) -> Result<()> {
    check_each(pipeline, field, |filter, datatype| !has_effect(filter, datatype, true))
}

fn check_each(
    pipeline: &FilterPipeline,
    field: FieldKind,
    is_harmless: impl Fn(&Filter, Datatype) -> bool,
) -> Result<()> {
    let mut datatype = field.datatype;
    for (position, filter) in pipeline.filters.iter().enumerate() {
        if let Some(wanted) = refusal(filter, field, datatype)
            && !is_harmless(filter, datatype)
        {
            return Err(Error::invalid(format!(
                "filter {filter} at position {position} of the pipeline does not accept {datatype}: {wanted}"
            )));
        }
        if is_string_codec(filter) && field.is_var_string() && position > 0 {
            return Err(Error::invalid(format!(
                "filter {filter} is at position {position} of the pipeline; on var-sized strings it must be the first filter"
            )));
        }
        datatype = output_datatype(filter, datatype);
    }
    Ok(())
}

/// Why a filter does not accept a datatype: a phrase that says what it accepts.
fn refusal(filter: &Filter, field: FieldKind, datatype: Datatype) -> Option<String> {
    let accepts = |accepted: bool, wanted: &str| (!accepted).then(|| wanted.to_owned());
    match *filter {
        Filter::BitWidthReduction { .. } | Filter::PositiveDelta { .. } => accepts(
            counts(datatype) || matches!(datatype, Datatype::Bool) || opaque(datatype),
            "it accepts integers, dates, times, BOOL, BLOB, GEOM_WKB and GEOM_WKT",
        ),
        Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => {
            let seen = seen_as(reinterpret, datatype);
            if seen.is_float() {
                return Some(
                    "it accepts integers, dates, times and bytes, or a reinterpretation as one of them"
                        .to_owned(),
                );
            }
            accepts(
                datatype.byte_len().is_multiple_of(seen.byte_len()),
                &format!("its size must be a multiple of that of the reinterpretation {seen}"),
            )
        }
        Filter::ScaleFloat(_) => {
            accepts(matches!(datatype.byte_len(), 4 | 8), "it accepts types of 4 or 8 bytes")
        }
        Filter::Webp { .. } => accepts(datatype == Datatype::UInt8, "it accepts UINT8"),
        Filter::Dictionary { .. } => accepts(
            field.is_var_string() || field.role != TileRole::Data,
            "it accepts var-sized STRING_ASCII and STRING_UTF8",
        ),
        Filter::Gzip { level } => accepts(level <= 9, "its level is at most 9"),
        Filter::Bzip2 { level } => accepts(level <= 9, "its level is at most 9"),
        Filter::Deprecated => Some("no release supports this filter any more".to_owned()),
        _ => None,
    }
}

/// The datatype of a filter's output, which the next filter sees.
pub(crate) fn output_datatype(filter: &Filter, datatype: Datatype) -> Datatype {
    let signed_of_width = |byte_len: usize| match byte_len {
        1 => Datatype::Int8,
        2 => Datatype::Int16,
        4 => Datatype::Int32,
        _ => Datatype::Int64,
    };
    match filter {
        Filter::ScaleFloat(scale) => match scale.width {
            ScaleWidth::One => Datatype::Int8,
            ScaleWidth::Two => Datatype::Int16,
            ScaleWidth::Four => Datatype::Int32,
            ScaleWidth::Eight => Datatype::Int64,
        },
        Filter::Xor => signed_of_width(datatype.byte_len()),
        Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => {
            seen_as(*reinterpret, datatype)
        }
        _ => datatype,
    }
}

/// Whether a filter changes anything on its datatype. Where it does not, it leaves no metadata either.
pub(crate) fn has_effect(filter: &Filter, datatype: Datatype, dates: bool) -> bool {
    let date = datatype.is_datetime() || datatype.is_time();
    match filter {
        Filter::None => false,
        Filter::BitWidthReduction { .. } => {
            (datatype.is_integer() && datatype.byte_len() > 1) || (date && dates)
        }
        Filter::PositiveDelta { .. } => {
            datatype.is_integer() || datatype == Datatype::Bool || opaque(datatype) || (date && dates)
        }
        _ => true,
    }
}

/// Rle and dictionary, which treat var-sized strings string by string.
pub(crate) fn is_string_codec(filter: &Filter) -> bool {
    matches!(filter, Filter::Rle { .. } | Filter::Dictionary { .. })
}

/// The datatype that a delta reads; `ANY` on disk stands for the field's own.
pub(crate) fn seen_as(reinterpret: Option<Datatype>, datatype: Datatype) -> Datatype {
    reinterpret.filter(|&reinterpret| reinterpret != Datatype::Any).unwrap_or(datatype)
}

fn counts(datatype: Datatype) -> bool {
    datatype.is_integer() || datatype.is_datetime() || datatype.is_time()
}

fn opaque(datatype: Datatype) -> bool {
    matches!(datatype, Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::{CellValNum, FloatScale};

    fn scale(width: ScaleWidth) -> Filter {
        Filter::ScaleFloat(FloatScale { factor: 1.0, offset: 0.0, width })
    }

    fn checked(datatype: Datatype, cell_val_num: CellValNum, filters: &[Filter]) -> Result<()> {
        check(&FilterPipeline::new(filters.to_vec()), FieldKind::data(datatype, cell_val_num))
    }

    #[test]
    fn integer_filters_accept_the_output_of_float_scaling_but_not_floats() {
        let delta = Filter::PositiveDelta { max_window: 64 };
        let one = CellValNum::ONE;
        checked(Datatype::Float64, one, &[scale(ScaleWidth::Four), delta]).unwrap();
        let error = checked(Datatype::Float64, one, &[Filter::Byteshuffle, delta]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "filter positive_delta at position 1 of the pipeline does not accept FLOAT64: \
             it accepts integers, dates, times, BOOL, BLOB, GEOM_WKB and GEOM_WKT"
        );
        checked(Datatype::Int16, one, &[scale(ScaleWidth::Four)]).unwrap_err();
        let inherited = FilterPipeline::new(vec![Filter::Byteshuffle, delta]);
        check_inherited(&inherited, FieldKind::data(Datatype::Float64, one)).unwrap();
        let inherited = FilterPipeline::new(vec![Filter::DoubleDelta { level: -1, reinterpret: None }]);
        check_inherited(&inherited, FieldKind::data(Datatype::Float64, one)).unwrap_err();
        checked(Datatype::Float32, one, &[Filter::Xor, delta]).unwrap();
    }

    #[test]
    fn deltas_reinterpret_by_whole_values() {
        let one = CellValNum::ONE;
        let delta = |reinterpret| Filter::Delta { level: -1, reinterpret };
        checked(Datatype::UInt32, one, &[delta(Some(Datatype::UInt16))]).unwrap();
        checked(Datatype::UInt16, one, &[delta(Some(Datatype::UInt32))]).unwrap_err();
        checked(Datatype::Float32, one, &[delta(None)]).unwrap_err();
        checked(Datatype::Float32, one, &[delta(Some(Datatype::Int32))]).unwrap();
    }

    #[test]
    fn string_codecs_come_first_on_strings() {
        let rle = Filter::Rle { level: -1 };
        let zstd = Filter::Zstd { level: 3 };
        checked(Datatype::StringAscii, CellValNum::Var, &[rle, zstd]).unwrap();
        checked(Datatype::StringAscii, CellValNum::Var, &[zstd, rle]).unwrap_err();
        checked(Datatype::Int32, CellValNum::Var, &[zstd, rle]).unwrap();
        checked(Datatype::Int32, CellValNum::ONE, &[Filter::Dictionary { level: -1 }]).unwrap_err();
    }
}
