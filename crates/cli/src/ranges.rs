//! Ranges of dimensions from the command line.
//!
//! `--range d=lo:hi`, both ends included, either may be left out, `d=x` is one coordinate. Bare integers are stored
//! values, also on dates and times, which otherwise are ISO 8601; both ends are written in the same way. Colons inside
//! dates are told from the one between the ends; strings that hold colons are put in single or double quotes.

use crate::failure::{Failure, Outcome};
use serde::de::DeserializeSeed;
use serde_json::Value;
use smalti::format::{ArraySchema, CurrentDomain, Dimension, DimensionLabel};
use smalti::json::{CellSeed, ParsedCell};
use smalti::text::parse_date_time;
use smalti::{Extent, LabelRange, Scalar};

/// One list of ranges per dimension; an empty list means all of it.
pub(crate) type Ranges = Vec<Vec<Extent>>;

/// The ranges of `--range` and `--ranges-json`.
///
/// # Errors
/// When a dimension is unknown, or a range is not one of its type.
pub(crate) fn parse(schema: &ArraySchema, range: &[String], ranges_json: Option<&str>) -> Outcome<Ranges> {
    let mut ranges = vec![Vec::new(); schema.dimensions.len()];
    for text in range {
        let (idx, dimension, ends) = named_dimension(schema, "--range", text)?;
        let range = parse_text(schema, idx, dimension, ends)
            .map_err(|problem| Failure::usage(format!("--range {text}: {problem}")))?;
        ranges[idx].push(range);
    }
    if let Some(json) = ranges_json {
        parse_json(schema, json, &mut ranges)?;
    }
    Ok(ranges)
}

/// Ranges of dimensions, and of dimension labels, which may stand in the same places.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_with_labels(
    schema: &ArraySchema,
    range: &[String],
    ranges_json: Option<&str>,
) -> Outcome<(Ranges, Vec<LabelRange>)> {
    if schema.dimension_labels.is_empty() {
        return Ok((parse(schema, range, ranges_json)?, Vec::new()));
    }
    // Labels count as dimensions behind the others.
    let labels = schema.dimension_labels.iter().map(DimensionLabel::as_dimension);
    let mut known = schema.clone();
    known.dimensions.extend(labels);
    let mut ranges = parse(&known, range, ranges_json)?;
    let of_labels = ranges.split_off(schema.dimensions.len());
    let named = schema.dimension_labels.iter().zip(of_labels).filter(|(_, ranges)| !ranges.is_empty());
    let label_ranges = named.map(|(label, ranges)| LabelRange { label: label.name.clone(), ranges });
    Ok((ranges, label_ranges.collect()))
}

/// The one range of each dimension that a dense write fills: the given ones, or the whole domain.
///
/// # Errors
/// When a dimension has several ranges, or one that leaves its domain.
pub(crate) fn one_each(schema: &ArraySchema, ranges: Ranges) -> Outcome<Vec<Extent>> {
    let one = |(idx, mut list): (usize, Vec<Extent>)| match (list.pop(), list.is_empty()) {
        (Some(range), true) => {
            let (whole, dimension) = (whole(schema, idx), &schema.dimensions[idx]);
            if whole.as_ref().covers(range.as_ref()) {
                return Ok(range);
            }
            Err(Failure::invalid(format!(
                "the range {} to write leaves the domain {} of dimension {:?}",
                dimension.shown(range.as_ref()),
                dimension.shown(whole.as_ref()),
                dimension.name
            )))
        }
        (None, _) => Ok(whole(schema, idx)),
        _ => Err(Failure::usage(format!(
            "a write fills one range of dimension {:?}; write the parts one after the other",
            schema.dimensions[idx].name
        ))),
    };
    ranges.into_iter().enumerate().map(one).collect()
}

/// The sides of a current domain that are named, with their dimensions: an end that is left out is that of the current
/// domain, or of the domain.
///
/// # Errors
/// When a dimension is unknown, is named twice, or a range has no meaning.
pub(crate) fn current_domain_sides(
    schema: &ArraySchema,
    ranges: &[String],
) -> Outcome<Vec<(String, Extent)>> {
    let mut sides: Vec<(String, Extent)> = Vec::new();
    for text in ranges {
        let (idx, dimension, ends) = named_dimension(schema, "--current-domain", text)?;
        let wrong = |problem: String| Failure::usage(format!("--current-domain {text}: {problem}"));
        if sides.iter().any(|(name, _)| *name == dimension.name) {
            return Err(wrong("the dimension is named twice".into()));
        }
        let side = parse_text(schema, idx, dimension, ends).map_err(wrong)?;
        if let Extent::Str { hi: None, .. } = side {
            return Err(wrong("give the last string too".into()));
        }
        sides.push((dimension.name.clone(), dimension.within_zeros(side)));
    }
    Ok(sides)
}

/// The current domain of a new array: the sides that are named, in place of what its schema says.
///
/// # Errors
/// As [`current_domain_sides`].
pub(crate) fn current_domain(schema: &ArraySchema, ranges: &[String]) -> Outcome<CurrentDomain> {
    let mut rectangle: Vec<Extent> = (0..schema.dimensions.len()).map(|idx| whole(schema, idx)).collect();
    for (name, side) in current_domain_sides(schema, ranges)? {
        if let Some((idx, _)) = schema.dimension(&name) {
            rectangle[idx] = side;
        }
    }
    Ok(CurrentDomain::Rectangle(rectangle))
}

/// The whole of a dimension: its current domain, or its domain.
pub(crate) fn whole(schema: &ArraySchema, idx: usize) -> Extent {
    if let CurrentDomain::Rectangle(extents) = &schema.current_domain
        && let Some(extent) = extents.get(idx)
    {
        return extent.clone();
    }
    match schema.dimensions.get(idx).and_then(|dimension| dimension.domain) {
        Some((lo, hi)) => Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() },
        // Of strings, or a label.
        None => Extent::all(schema.dimensions.get(idx).is_none_or(Dimension::is_var)),
    }
}

/// The dimension in front of a `=`, and what follows. Names may hold `=` themselves: the longest name wins.
fn named_dimension<'a>(
    schema: &'a ArraySchema,
    option: &str,
    text: &'a str,
) -> Outcome<(usize, &'a Dimension, &'a str)> {
    let named = |(idx, dimension): (usize, &'a Dimension)| {
        let ends = text.strip_prefix(dimension.name.as_str())?.strip_prefix('=')?;
        Some((idx, dimension, ends))
    };
    let found = schema.dimensions.iter().enumerate().filter_map(named);
    found.max_by_key(|(_, dimension, _)| dimension.name.len()).ok_or_else(|| {
        let Some((name, _)) = text.split_once('=') else {
            return Failure::usage(format!("{option} {text}: write it like d=1:10"));
        };
        unknown_dimension(schema, name)
    })
}

fn unknown_dimension(schema: &ArraySchema, name: &str) -> Failure {
    let known: Vec<&str> = schema.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    Failure::invalid(format!("there is no dimension {name:?}; there are {}", known.join(", ")))
}

/// An end of a range; `None` where it is left out.
type End<T> = Option<T>;

fn parse_text(schema: &ArraySchema, idx: usize, dimension: &Dimension, text: &str) -> Result<Extent, String> {
    if dimension.datatype.is_string() {
        let (lo, hi) = string_ends(text)?;
        return string_extent(lo.map(Vec::from), hi.map(Vec::from));
    }
    let (lo, hi) = number_ends(dimension, text)?;
    number_extent(schema, idx, lo, hi)
}

fn string_extent(lo: End<Vec<u8>>, hi: End<Vec<u8>>) -> Result<Extent, String> {
    let lo = lo.unwrap_or_default();
    match hi {
        Some(hi) => Extent::between_strings(&lo, &hi).map_err(|error| error.message().into()),
        None => Ok(Extent::Str { lo: lo.into(), hi: None }),
    }
}

fn number_extent(
    schema: &ArraySchema,
    idx: usize,
    lo: End<Scalar>,
    hi: End<Scalar>,
) -> Result<Extent, String> {
    let Extent::Num { lo: least, hi: greatest } = whole(schema, idx) else {
        return Err("the dimension has no domain".into());
    };
    if let (Some(lo), Some(hi)) = (lo, hi) {
        return Extent::between(lo, hi).map_err(|error| error.message().into());
    }
    // Each given end against itself: the engine's own treatment of NaN and of the two zeros.
    let own = |end: Scalar| match Extent::between(end, end).map_err(|error| error.message().to_string())? {
        Extent::Num { lo, hi } => Ok((lo, hi)),
        Extent::Str { .. } => Err("a string".to_string()),
    };
    let lo = lo.map(own).transpose()?.map_or(least, |(lo, _)| lo);
    let hi = hi.map(own).transpose()?.map_or(greatest, |(_, hi)| hi);
    if lo > hi {
        let domain = Extent::Num { lo: least, hi: greatest };
        let domain = schema.dimensions[idx].shown(domain.as_ref());
        return Err(format!("it lies outside the domain {domain}"));
    }
    Ok(Extent::Num { lo, hi })
}

fn string_ends(text: &str) -> Result<(End<&[u8]>, End<&[u8]>), String> {
    let (lo, rest) = string_end(text)?;
    let Some(rest) = rest.strip_prefix(':') else {
        if rest.is_empty() && lo.is_some() {
            return Ok((lo, lo));
        }
        return Err("put strings that hold colons or quotes in quotes, or use --ranges-json".into());
    };
    let (hi, rest) = string_end(rest)?;
    if !rest.is_empty() {
        return Err("put strings that hold colons in quotes, or use --ranges-json".into());
    }
    Ok((lo, hi))
}

/// A string up to the next colon, or up to its closing quote.
fn string_end(text: &str) -> Result<(End<&[u8]>, &str), String> {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote) {
            let (string, rest) = inner.split_once(quote).ok_or("a quote is not closed")?;
            return Ok((Some(string.as_bytes()), rest));
        }
    }
    let (string, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
    Ok(((!string.is_empty()).then_some(string.as_bytes()), rest))
}

/// How an end of a range is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Written {
    Stored,
    Iso,
}

/// The ends of a range of numbers or times; `None` where one is left out.
///
/// # Errors
/// Text that is no range of the dimension's type.
pub(crate) fn ends(dimension: &Dimension, text: &str) -> Result<(Option<Scalar>, Option<Scalar>), String> {
    if text.trim() == ":" {
        return Ok((None, None));
    }
    number_ends(dimension, text)
}

/// Tries every colon as the one between the ends. Where several work, the middle one is meant.
fn number_ends(dimension: &Dimension, text: &str) -> Result<(End<Scalar>, End<Scalar>), String> {
    let colons: Vec<usize> = text.match_indices(':').map(|(at, _)| at).collect();
    let split = |at: usize| {
        let (lo, hi) = (end(dimension, &text[..at]).ok()?, end(dimension, &text[at + 1..]).ok()?);
        let alike = lo.is_none() || hi.is_none() || lo.map(|(_, w)| w) == hi.map(|(_, w)| w);
        alike.then_some((lo.map(|(value, _)| value), hi.map(|(value, _)| value)))
    };
    let found: Vec<(usize, (End<Scalar>, End<Scalar>))> =
        colons.iter().enumerate().filter_map(|(nth, &at)| Some((nth, split(at)?))).collect();
    if found.is_empty() {
        let (lo, hi) = text.split_once(':').unwrap_or((text, text));
        let point = end(dimension, text);
        let problem = match (&point, colons.is_empty()) {
            (Ok(Some((value, _))), _) => return Ok((Some(*value), Some(*value))),
            (Ok(None), _) => "it is empty".to_string(),
            (Err(problem), true) => problem.clone(),
            (_, false) => end(dimension, lo)
                .and(end(dimension, hi))
                .err()
                .unwrap_or_else(|| "write both ends alike".into()),
        };
        return Err(problem);
    }
    let middle = found.iter().find(|(nth, _)| 2 * nth + 1 == colons.len());
    match (middle, found.as_slice()) {
        (Some((_, ends)), _) | (None, [(_, ends)]) => Ok(*ends),
        _ => Err("it can be read in several ways; use --ranges-json".into()),
    }
}

/// The value of one end, and how it is written.
fn end(dimension: &Dimension, text: &str) -> Result<End<(Scalar, Written)>, String> {
    let (text, datatype) = (text.trim(), dimension.datatype);
    if text.is_empty() {
        return Ok(None);
    }
    let no_value = || format!("{text:?} is no value of type {datatype}");
    if datatype.is_float() {
        let value: f64 = text.parse().map_err(|_| no_value())?;
        let value = Scalar::F64(value).cast(datatype).map_err(|_| no_value())?;
        return Ok(Some((value, Written::Stored)));
    }
    if let Ok(wide) = text.parse::<i128>() {
        let value = u64::try_from(wide).map(Scalar::U64).or_else(|_| i64::try_from(wide).map(Scalar::I64));
        let value = value.ok().and_then(|value| value.cast(datatype).ok()).ok_or_else(no_value)?;
        return Ok(Some((value, Written::Stored)));
    }
    if datatype.is_datetime() || datatype.is_time() {
        let value = parse_date_time(datatype, text).map_err(|error| error.message().to_string())?;
        return Ok(Some((Scalar::I64(value), Written::Iso)));
    }
    Err(no_value())
}

/// `{"d": [[lo, hi], ...], ...}`; null leaves an end open.
fn parse_json(schema: &ArraySchema, json: &str, ranges: &mut Ranges) -> Outcome {
    let usage = |problem: String| Failure::usage(format!("--ranges-json: {problem}"));
    let value = smalti::json::value_from_json(json)
        .map_err(|error| usage(format!("no JSON: {}", error.message())))?;
    let object = value.as_object().ok_or_else(|| usage("write it like {\"d\": [[1, 10]]}".into()))?;
    for (name, list) in object {
        let (idx, dimension) = schema.dimension(name).ok_or_else(|| unknown_dimension(schema, name))?;
        let list = list.as_array().ok_or_else(|| usage(format!("{name}: a list of ranges is expected")))?;
        for pair in list {
            let range = json_range(schema, idx, dimension, pair);
            ranges[idx].push(range.map_err(|problem| usage(format!("{name}: {pair}: {problem}")))?);
        }
    }
    Ok(())
}

fn json_range(
    schema: &ArraySchema,
    idx: usize,
    dimension: &Dimension,
    pair: &Value,
) -> Result<Extent, String> {
    let Some([lo, hi]) = pair.as_array().map(Vec::as_slice) else {
        return Err("a range is a list of two values".into());
    };
    let end = |value: &Value| {
        let (datatype, cell_val_num) = (dimension.datatype, dimension.cell_val_num);
        let mut bytes = Vec::new();
        let parsed = CellSeed { datatype, cell_val_num, out: &mut bytes }.deserialize(value);
        match parsed.map_err(|error| error.to_string())? {
            ParsedCell::Value => Ok(Some(bytes)),
            ParsedCell::Null => Ok(None),
            ParsedCell::Code(_) => Err("dimensions have no codes".to_string()),
        }
    };
    let (lo, hi) = (end(lo)?, end(hi)?);
    if dimension.datatype.is_string() {
        return string_extent(lo, hi);
    }
    let scalar = |bytes: Option<Vec<u8>>| {
        let read = bytes.map(|bytes| Scalar::read(dimension.datatype, &bytes)).transpose();
        read.map_err(|error| error.message().to_string())
    };
    number_extent(schema, idx, scalar(lo)?, scalar(hi)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti::Datatype;

    fn schema() -> ArraySchema {
        let text = r#"{"array_type": "sparse", "attrs": [], "dims": [
            {"name": "i", "type": "INT8", "domain": [-100, 100]},
            {"name": "f", "type": "FLOAT64", "domain": [-90.0, 90.0]},
            {"name": "s", "type": "STRING_ASCII"},
            {"name": "t", "type": "DATETIME_MIN", "domain": [-10000000, 100000000]},
            {"name": "c", "type": "TIME_SEC", "domain": [0, 86399]},
            {"name": "u", "type": "UINT64", "domain": [0, 18446744073709551615]},
            {"name": "i=x", "type": "INT8", "domain": [1, 2]}]}"#;
        smalti::json::schema_from_json(text).unwrap().schema
    }

    fn one(text: &str) -> Outcome<(Extent, Datatype)> {
        let schema = schema();
        let ranges = parse(&schema, &[text.to_string()], None)?;
        let (idx, list) = ranges.into_iter().enumerate().find(|(_, list)| !list.is_empty()).unwrap();
        Ok((list.into_iter().next().unwrap(), schema.dimensions[idx].datatype))
    }

    /// Stored ends of a range of integers.
    fn integers(text: &str) -> (i128, i128) {
        let (extent, datatype) = one(text).unwrap();
        let Extent::Num { lo, hi } = extent else { panic!("{text}") };
        let value =
            |ordinal| Scalar::read(datatype, &datatype.bytes_of_ordinal(ordinal)).unwrap().as_i128().unwrap();
        (value(lo), value(hi))
    }

    #[test]
    fn numbers_may_be_negative_and_open() {
        assert_eq!(integers("i=-5:-1"), (-5, -1));
        assert_eq!(integers("i=-5"), (-5, -5));
        assert_eq!(integers("i=:7"), (-100, 7));
        assert_eq!(integers("i=7:"), (7, 100));
        assert_eq!(integers("i=:"), (-100, 100));
        assert_eq!(integers("i=x=1:2"), (1, 2));
        assert_eq!(integers("u=0:18446744073709551615"), (0, u64::MAX.into()));
        let expected = Extent::between(Scalar::F64(-1e3), Scalar::F64(f64::INFINITY)).unwrap();
        assert_eq!(one("f=-1e3:inf").unwrap().0, expected);
    }

    #[test]
    fn colons_inside_dates_and_times_are_told_apart() {
        assert_eq!(integers("t=1970-01-01T00:01:1970-01-01T01:00"), (1, 60));
        assert_eq!(integers("t=1970-01-01T00:05"), (5, 5));
        assert_eq!(integers("t=1970-01-01:1970-01-02"), (0, 1440));
        assert_eq!(integers("t=1970-01-01T00:05:"), (5, 100_000_000));
        assert_eq!(integers("t=-5:10"), (-5, 10));
        assert_eq!(integers("c=00:00:10:00:01:00"), (10, 60));
        assert_eq!(integers("c=10:20"), (10, 20));
        assert_eq!(integers("c=10:00:11:00"), (36_000, 39_600));
    }

    #[test]
    fn strings_that_hold_colons_are_quoted() {
        let range = |lo: &str, hi: &str| Extent::between_strings(lo.as_bytes(), hi.as_bytes()).unwrap();
        assert_eq!(one("s=a:b").unwrap().0, range("a", "b"));
        assert_eq!(one("s=a").unwrap().0, range("a", "a"));
        assert_eq!(one("s='a:b':\"c:d\"").unwrap().0, range("a:b", "c:d"));
        assert_eq!(one("s=a:").unwrap().0, Extent::Str { lo: b"a".as_slice().into(), hi: None });
        assert_eq!(one("s=:b").unwrap().0, range("", "b"));
    }

    #[test]
    fn wrong_ranges_say_what_is_wrong() {
        for (text, words) in [
            ("i", "write it like d=1:10"),
            ("x=1:2", "no dimension \"x\"; there are i, f, s"),
            ("i=1:300", "\"300\" is no value of type INT8"),
            ("i=5:1", "inverted"),
            ("i=a:1", "\"a\" is no value"),
            ("f=nan:1", "NaN"),
            ("s=a:b:c", "in quotes"),
            ("s='a", "not closed"),
            ("t=2020-13-01:", "months go from"),
            ("t=5:1970-01-02", "alike"),
        ] {
            let failure = one(text).unwrap_err();
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }

    #[test]
    fn json_ranges_are_exact() {
        let json = r#"{"u": [[18446744073709551614, 18446744073709551615], [1, 2]], "s": [["a:b", null]],
            "t": [["1970-01-01T00:05", 7]], "f": [[null, 0.1]]}"#;
        let ranges = parse(&schema(), &[], Some(json)).unwrap();
        assert_eq!(ranges[5], [Extent::Num { lo: u64::MAX - 1, hi: u64::MAX }, Extent::Num { lo: 1, hi: 2 }]);
        assert_eq!(ranges[2], [Extent::Str { lo: b"a:b".as_slice().into(), hi: None }]);
        assert_eq!(ranges[3], [Extent::between(Scalar::I64(5), Scalar::I64(7)).unwrap()]);
        assert_eq!(ranges[1], [Extent::between(Scalar::F64(-90.0), Scalar::F64(0.1)).unwrap()]);
        for json in ["[]", "{\"i\": 5}", "{\"i\": [[1]]}", "{\"i\": [[1.5, 2]]}", "{"] {
            assert!(matches!(parse(&schema(), &[], Some(json)), Err(Failure::Usage(_))), "{json}");
        }
    }
}
