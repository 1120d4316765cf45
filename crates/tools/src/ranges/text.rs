//! Ranges as people write them.

use super::{Piece, whole};
use smalti::format::{ArraySchema, Dimension};
use smalti::text::{parse_date_span, parse_date_time, steps_in_seconds};
use smalti::{Extent, Scalar};

/// An end of a range; `None` where it is left out.
type End<T> = Option<T>;

/// What stands behind `d=`: ranges with commas between them.
pub(super) fn parse_text(
    schema: &ArraySchema,
    idx: usize,
    dimension: &Dimension,
    text: &str,
) -> Result<Vec<Piece>, String> {
    if dimension.datatype.is_string() {
        return string_ranges(text);
    }
    let is_list = text.contains(',');
    let piece = |text: &str| {
        let found = number_range(schema, idx, dimension, text);
        // In a list the problem is with one of many.
        found.map_err(|problem| if is_list { format!("{:?}: {problem}", text.trim()) } else { problem })
    };
    text.split(',').map(piece).collect()
}

pub(super) fn string_extent(lo: End<Vec<u8>>, hi: End<Vec<u8>>) -> Result<Extent, String> {
    let lo = lo.unwrap_or_default();
    match hi {
        Some(hi) => Extent::between_strings(&lo, &hi).map_err(|error| error.message().into()),
        None => Ok(Extent::Str { lo: lo.into(), hi: None }),
    }
}

pub(super) fn number_extent(
    schema: &ArraySchema,
    idx: usize,
    lo: End<Scalar>,
    hi: End<Scalar>,
) -> Result<Extent, String> {
    let Extent::Num { lo: least, hi: greatest } = whole(schema, idx) else {
        return Err("the dimension has no domain".into());
    };
    if let (Some(lo), Some(hi)) = (lo, hi) {
        return Extent::between(lo, hi).map_err(|error| {
            let (dimension, ends) =
                (&schema.dimensions[idx], Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() });
            match dimension.datatype.is_datetime() || dimension.datatype.is_time() {
                true => format!(
                    "the range {} is inverted; give the lower end first",
                    dimension.shown(ends.as_ref())
                ),
                false => error.message().into(),
            }
        });
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

fn string_ranges(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (extent, behind) = string_range(text)?;
        pieces.push(Piece::from(extent));
        rest = behind;
    }
    Ok(pieces)
}

/// The first of some ranges, and those behind its comma.
fn string_range(text: &str) -> Result<(Extent, Option<&str>), String> {
    let in_quotes =
        || "put strings that hold colons, commas or quotes in quotes, or use --ranges-json".to_string();
    let (lo, rest) = string_end(text)?;
    let (hi, rest) = match rest.strip_prefix(':') {
        Some(rest) => string_end(rest)?,
        None if lo.is_some() => (lo, rest),
        None => return Err("a string is missing; write '' for the empty one".into()),
    };
    let behind = match rest.strip_prefix(',') {
        Some(behind) => Some(behind),
        None if rest.is_empty() => None,
        None => return Err(in_quotes()),
    };
    Ok((string_extent(lo.map(Vec::from), hi.map(Vec::from))?, behind))
}

/// A string up to the next colon or comma, or up to its closing quote.
fn string_end(text: &str) -> Result<(End<&[u8]>, &str), String> {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote) {
            let (string, rest) = inner.split_once(quote).ok_or("a quote is not closed")?;
            return Ok((Some(string.as_bytes()), rest));
        }
    }
    let (string, rest) = text.split_at(text.find([':', ',']).unwrap_or(text.len()));
    Ok(((!string.is_empty()).then_some(string.as_bytes()), rest))
}

/// One range of numbers, dates or times, with its step.
fn number_range(
    schema: &ArraySchema,
    idx: usize,
    dimension: &Dimension,
    text: &str,
) -> Result<Piece, String> {
    let (ends, step) = match (number_ends(dimension, text), text.rsplit_once(':')) {
        (Ok(ends), _) => (ends, 1),
        (Err(problem), Some((ends, last))) if ends.contains(':') => match step(dimension, last.trim()) {
            Some(step) => match number_ends(dimension, ends) {
                Ok(ends) => (ends, step?),
                Err(_) => return Err(problem),
            },
            None => return Err(problem),
        },
        (Err(problem), _) => return Err(problem),
    };
    if let (Some(lo), Some(hi)) = ends
        && dimension.datatype.is_datetime()
        && hi.ordinal().checked_add(1) == Some(lo.ordinal())
    {
        return Err(format!("no value of type {} lies in it", dimension.datatype));
    }
    Ok(Piece { extent: number_extent(schema, idx, ends.0, ends.1)?, step })
}

/// That a dimension has no strides.
pub(super) fn no_stride(dimension: &Dimension) -> String {
    format!(
        "strides count values, which type {} does not do; give ranges or single values",
        dimension.datatype
    )
}

/// A step: so many values, or on dates and times so many `s`, `m`, `h`, `d` or `w`. `None` where it is none of the kind.
fn step(dimension: &Dimension, text: &str) -> Option<Result<u64, String>> {
    let datatype = dimension.datatype;
    let (count, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_lowercase()).len());
    let count: u64 = count.parse().ok()?;
    if datatype.is_float() {
        return Some(Err(no_stride(dimension)));
    }
    let seconds = match unit {
        "" => None,
        "s" => Some(1_u64),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        "w" => Some(7 * 86_400),
        _ => return None,
    };
    let step = match seconds {
        None => Some(count),
        Some(seconds) => count.checked_mul(seconds).and_then(|seconds| steps_in_seconds(datatype, seconds)),
    };
    Some(match step {
        Some(0) => Err("a step is at least 1".into()),
        Some(step) => Ok(step),
        None => Err(format!("{text} is no whole number of steps of type {datatype}")),
    })
}

/// How an end of a range is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Written {
    Stored,
    Iso,
}

/// The values that an end stands for, the first and the last: a bare date is a whole day.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: Scalar,
    last: Scalar,
    written: Written,
}

impl Span {
    fn stored(value: Scalar) -> Self {
        Span { first: value, last: value, written: Written::Stored }
    }
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
    let colons: Vec<usize> = text.match_indices(':').map(|(at, _)| at).take(MAX_COLONS).collect();
    let split = |at: usize| {
        let (lo, hi) = (end(dimension, &text[..at]).ok()?, end(dimension, &text[at + 1..]).ok()?);
        let written = |end: &End<Span>| end.map(|span| span.written);
        let alike = lo.is_none() || hi.is_none() || written(&lo) == written(&hi);
        alike.then_some((lo.map(|span| span.first), hi.map(|span| span.last)))
    };
    let found: Vec<(usize, (End<Scalar>, End<Scalar>))> =
        colons.iter().enumerate().filter_map(|(nth, &at)| Some((nth, split(at)?))).collect();
    if found.is_empty() {
        let (lo, hi) = text.split_once(':').unwrap_or((text, text));
        let point = end(dimension, text);
        let problem = match (&point, colons.is_empty()) {
            (Ok(Some(span)), _) => return Ok((Some(span.first), Some(span.last))),
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

/// Colons that are tried as the one between the ends; dates have fewer.
const MAX_COLONS: usize = 16;

/// The value of one end, and how it is written.
fn end(dimension: &Dimension, text: &str) -> Result<End<Span>, String> {
    let (text, datatype) = (text.trim(), dimension.datatype);
    if text.is_empty() {
        return Ok(None);
    }
    let no_value = || format!("{text:?} is no value of type {datatype}");
    if datatype.is_float() {
        let value: f64 = text.parse().map_err(|_| no_value())?;
        let value = Scalar::F64(value).cast(datatype).map_err(|_| no_value())?;
        return Ok(Some(Span::stored(value)));
    }
    if let Ok(wide) = text.parse::<i128>() {
        let value = u64::try_from(wide).map(Scalar::U64).or_else(|_| i64::try_from(wide).map(Scalar::I64));
        let value = value.ok().and_then(|value| value.cast(datatype).ok()).ok_or_else(no_value)?;
        return Ok(Some(Span::stored(value)));
    }
    let message = |error: smalti::Error| error.message().to_string();
    if let Some((first, last)) = parse_date_span(datatype, text).map_err(message)? {
        let (first, last) = (Scalar::I64(first), Scalar::I64(last));
        return Ok(Some(Span { first, last, written: Written::Iso }));
    }
    if datatype.is_datetime() || datatype.is_time() {
        let value = Scalar::I64(parse_date_time(datatype, text).map_err(message)?);
        return Ok(Some(Span { first: value, last: value, written: Written::Iso }));
    }
    Err(no_value())
}
