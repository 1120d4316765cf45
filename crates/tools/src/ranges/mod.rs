//! Ranges of dimensions as people write them.
//!
//! `--range d=lo:hi`, both ends included, either may be left out, `d=x` is one coordinate, `d=lo:hi:step` every step-th from
//! `lo` on, and commas stand between several of these. Bare integers are stored values, also on dates and times, which otherwise are
//! ISO 8601; both ends are written in the same way. Bare dates mean whole days. Colons inside dates are told from the one
//! between the ends; strings that hold colons or commas are put in single or double quotes.

mod cut;
mod json;
mod text;

pub use cut::{RangeOptions, of_read};

use crate::failure::{Failure, Outcome};
use json::parse_json;
use smalti::Extent;
use smalti::format::{ArraySchema, CurrentDomain, Dimension, DimensionLabel};
pub(crate) use text::ends;
use text::parse_text;

/// One list of ranges per dimension; an empty list means all of it.
pub type Ranges = Vec<Vec<Extent>>;

/// One list of pieces per dimension.
type Pieces = Vec<Vec<Piece>>;

/// A range as it is asked for: all values between its ends, or every so many of them.
#[derive(Debug, Clone, PartialEq)]
struct Piece {
    extent: Extent,
    /// How many values on the next one is; 1 for all.
    step: u64,
}

impl From<Extent> for Piece {
    fn from(extent: Extent) -> Self {
        Piece { extent, step: 1 }
    }
}

/// Ranges of a dimension that strides may become: an engine's plan holds each.
const MAX_RANGE_COUNT: usize = 500_000;

impl Piece {
    /// Its ranges: itself, or one for each value of its stride.
    fn ranges(&self, out: &mut Vec<Extent>) -> Result<(), String> {
        let (Extent::Num { lo, hi }, 2..) = (&self.extent, self.step) else {
            out.push(self.extent.clone());
            return Ok(());
        };
        let count = (hi - lo) / self.step;
        let total = usize::try_from(count).unwrap_or(usize::MAX).saturating_add(out.len());
        if total >= MAX_RANGE_COUNT {
            return Err(format!(
                "the stride makes more than {MAX_RANGE_COUNT} ranges; take a larger step or a shorter range, or read all and \
                 choose from that"
            ));
        }
        out.extend((0..=count).map(|nth| {
            let at = lo + nth * self.step;
            Extent::Num { lo: at, hi: at }
        }));
        Ok(())
    }
}

/// The ranges of `--range` and `--ranges-json`.
///
/// # Errors
/// When a dimension is unknown, a range is not one of its type, or strides make too many.
pub fn parse(schema: &ArraySchema, range: &[String], ranges_json: Option<&str>) -> Outcome<Ranges> {
    expanded(&schema.dimensions, &parse_pieces(schema, range, ranges_json)?)
}

fn expanded(dimensions: &[Dimension], pieces: &Pieces) -> Outcome<Ranges> {
    let one = |(dimension, pieces): (&Dimension, &Vec<Piece>)| {
        let mut ranges = Vec::with_capacity(pieces.len());
        let ranges_of = |piece: &Piece| piece.ranges(&mut ranges);
        let done = pieces.iter().try_for_each(ranges_of);
        let wrong = |problem| Failure::usage(format!("dimension {:?}: {problem}", dimension.name));
        done.map(|()| ranges).map_err(wrong)
    };
    dimensions.iter().zip(pieces).map(one).collect()
}

fn parse_pieces(schema: &ArraySchema, range: &[String], ranges_json: Option<&str>) -> Outcome<Pieces> {
    let mut pieces = vec![Vec::new(); schema.dimensions.len()];
    for text in range {
        let (idx, dimension, list) = named_dimension(schema, "--range", text)?;
        let list = parse_text(schema, idx, dimension, list)
            .map_err(|problem| Failure::usage(format!("--range {text}: {problem}")))?;
        pieces[idx].extend(list);
    }
    if let Some(json) = ranges_json {
        parse_json(schema, json, &mut pieces)?;
    }
    Ok(pieces)
}

/// The dimensions of an array with its labels behind them: ranges may name both alike.
fn with_labels(schema: &ArraySchema) -> ArraySchema {
    let mut known = schema.clone();
    known.dimensions.extend(schema.dimension_labels.iter().map(DimensionLabel::as_dimension));
    known
}

/// The one range of each dimension that a dense write fills: the given ones, or the whole domain.
///
/// # Errors
/// When a dimension has several ranges, or one that leaves its domain.
pub fn one_each(schema: &ArraySchema, ranges: Ranges) -> Outcome<Vec<Extent>> {
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
pub fn current_domain_sides(schema: &ArraySchema, ranges: &[String]) -> Outcome<Vec<(String, Extent)>> {
    let mut sides: Vec<(String, Extent)> = Vec::new();
    for text in ranges {
        let (idx, dimension, ends) = named_dimension(schema, "--current-domain", text)?;
        let wrong = |problem: String| Failure::usage(format!("--current-domain {text}: {problem}"));
        if sides.iter().any(|(name, _)| *name == dimension.name) {
            return Err(wrong("the dimension is named twice".into()));
        }
        let mut pieces = parse_text(schema, idx, dimension, ends).map_err(wrong)?;
        let (Some(Piece { extent: side, step: 1 }), true) = (pieces.pop(), pieces.is_empty()) else {
            return Err(wrong("write one range of all values, like d=1:10".into()));
        };
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
pub fn current_domain(schema: &ArraySchema, ranges: &[String]) -> Outcome<CurrentDomain> {
    let mut rectangle: Vec<Extent> = (0..schema.dimensions.len()).map(|idx| whole(schema, idx)).collect();
    for (name, side) in current_domain_sides(schema, ranges)? {
        if let Some((idx, _)) = schema.dimension(&name) {
            rectangle[idx] = side;
        }
    }
    Ok(CurrentDomain::Rectangle(rectangle))
}

/// The whole of a dimension: its current domain, or its domain.
pub fn whole(schema: &ArraySchema, idx: usize) -> Extent {
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

#[cfg(test)]
mod tests {
    use super::*;
    use smalti::{Datatype, Scalar};

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
        assert_eq!(integers("t=1970-01-01:1970-01-02"), (0, 2879), "bare dates are whole days");
        assert_eq!(integers("t=1970-01-02"), (1440, 2879));
        assert_eq!(integers("t=1970-01-02:"), (1440, 100_000_000));
        assert_eq!(integers("t=:1970-01-02"), (-10_000_000, 2879));
        assert_eq!(integers("t=1970-01:1970-01"), (0, 44_639));
        assert_eq!(integers("t=1970-01-02T00:00:1970-01-03T00:00"), (1440, 2880));
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

    /// Stored values of single coordinates and ends of ranges.
    fn list(text: &str) -> Vec<(i128, i128)> {
        let schema = schema();
        let ranges = parse(&schema, &[text.to_string()], None).unwrap();
        let (idx, list) = ranges.into_iter().enumerate().find(|(_, list)| !list.is_empty()).unwrap();
        let datatype = schema.dimensions[idx].datatype;
        let value =
            |ordinal| Scalar::read(datatype, &datatype.bytes_of_ordinal(ordinal)).unwrap().as_i128().unwrap();
        let ends = |extent: Extent| match extent {
            Extent::Num { lo, hi } => (value(lo), value(hi)),
            Extent::Str { .. } => panic!("{text}"),
        };
        list.into_iter().map(ends).collect()
    }

    #[test]
    fn strides_and_lists_are_ranges_of_their_own() {
        assert_eq!(list("i=3,17"), [(3, 3), (17, 17)]);
        assert_eq!(list("i=-5:10,20, -30:-20:5"), [(-5, 10), (20, 20), (-30, -30), (-25, -25), (-20, -20)]);
        assert_eq!(list("i=0:9:4"), [(0, 0), (4, 4), (8, 8)]);
        assert_eq!(list("i=90::5"), [(90, 90), (95, 95), (100, 100)]);
        assert_eq!(list("i=:-99:1"), [(-100, -99)]);
        assert_eq!(list("i=::200"), [(-100, -100), (100, 100)]);
        assert_eq!(list("u=0:18446744073709551615:18446744073709551615").len(), 2);
        assert_eq!(list("t=1970-01-01:1970-01-03:1d"), [(0, 0), (1440, 1440), (2880, 2880)]);
        assert_eq!(list("t=0:100:1h"), [(0, 0), (60, 60)]);
        assert_eq!(list("t=0:100:50"), [(0, 0), (50, 50), (100, 100)]);
        assert_eq!(list("t=1970-01-01T00:00:1970-01-01T01:00:30m"), [(0, 0), (30, 30), (60, 60)]);
        let range = |lo: &str, hi: &str| Extent::between_strings(lo.as_bytes(), hi.as_bytes()).unwrap();
        let strings = parse(&schema(), &["s=a,b:c,'d,e','f':".to_string()], None).unwrap().swap_remove(2);
        let open = Extent::Str { lo: b"f".as_slice().into(), hi: None };
        assert_eq!(strings, [range("a", "a"), range("b", "c"), range("d,e", "d,e"), open]);
        let json = r#"{"i": [[0, 9, 4], [20, 21]]}"#;
        assert_eq!(parse(&schema(), &[], Some(json)).unwrap()[0].len(), 4);
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
            ("i=1:5:0", "a step is at least 1"),
            ("i=1:5:-1", "\"5:-1\" is no value"),
            ("i=1:5:2:3", "no value"),
            ("i=1,,2", "it is empty"),
            ("i=1,x", "\"x\": \"x\" is no value"),
            ("f=0:1:2", "strides count values"),
            ("u=0:18446744073709551615:2", "more than 500000 ranges"),
            ("t=0:100:7s", "no whole number of steps"),
            ("s=a,,b", "a string is missing"),
            ("s='a'b", "in quotes"),
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
