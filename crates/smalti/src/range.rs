//! Ranges of dimensions, from Rust's ranges.

use smalti_format::Dimension;
use smalti_types::{Datatype, Error, Extent, Result, Scalar};
use std::ops::{Bound, RangeBounds};

/// A type that ends of ranges have: the ten numbers, and text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no end of a range of a dimension",
    label = "no type of range ends",
    note = "ends are the ten number types from `i8` to `f64`, `&str` and `String`: `.range(\"x\", 0..10)`, `.range(\"name\", \"a\"..=\"c\")`",
    note = "dates and times are `i64` in the unit of the dimension; a single coordinate is the range `x..=x`"
)]
pub trait RangeEnd {
    /// The end, as the engine knows it.
    #[doc(hidden)]
    fn end(&self) -> End<'_>;
}

/// An end of a range.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum End<'a> {
    Number(Scalar),
    Text(&'a [u8]),
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl RangeEnd for $t {
            fn end(&self) -> End<'_> {
                End::Number(Scalar::from(*self))
            }
        }
    )*};
}
numbers!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl RangeEnd for Scalar {
    fn end(&self) -> End<'_> {
        End::Number(*self)
    }
}

impl RangeEnd for &str {
    fn end(&self) -> End<'_> {
        End::Text(self.as_bytes())
    }
}

impl RangeEnd for String {
    fn end(&self) -> End<'_> {
        End::Text(self.as_bytes())
    }
}

impl RangeEnd for &[u8] {
    fn end(&self) -> End<'_> {
        End::Text(self)
    }
}

/// A range that waits for its dimension.
#[derive(Debug, Clone)]
pub(crate) struct Side(Bound<OwnedEnd>, Bound<OwnedEnd>);

#[derive(Debug, Clone)]
enum OwnedEnd {
    Number(Scalar),
    Text(Vec<u8>),
}

impl RangeEnd for OwnedEnd {
    fn end(&self) -> End<'_> {
        match self {
            OwnedEnd::Number(number) => End::Number(*number),
            OwnedEnd::Text(text) => End::Text(text),
        }
    }
}

impl Side {
    pub(crate) fn of<T: RangeEnd>(range: &impl RangeBounds<T>) -> Side {
        let owned = |bound: Bound<&T>| {
            bound.map(|end| match end.end() {
                End::Number(number) => OwnedEnd::Number(number),
                End::Text(text) => OwnedEnd::Text(text.to_vec()),
            })
        };
        Side(owned(range.start_bound()), owned(range.end_bound()))
    }

    /// The side of a current domain on a dimension.
    ///
    /// # Errors
    /// As [`extent_of`].
    pub(crate) fn on(&self, dimension: &Dimension) -> Result<Extent> {
        current_domain_side(dimension, &(self.0.clone(), self.1.clone()))
    }
}

/// The side of a current domain on a dimension: as [`extent_of`], without a zero that lies beyond the domain.
///
/// # Errors
/// As [`extent_of`].
pub(crate) fn current_domain_side<T: RangeEnd>(
    dimension: &Dimension,
    range: &impl RangeBounds<T>,
) -> Result<Extent> {
    extent_of(dimension, range).map(|extent| dimension.within_zeros(extent))
}

/// The values of a dimension that lie in a range.
///
/// # Errors
/// `InvalidArgument` when the ends are of the wrong type, or no value lies between them.
pub(crate) fn extent_of<T: RangeEnd>(dimension: &Dimension, range: &impl RangeBounds<T>) -> Result<Extent> {
    let (lo, hi) = (end_of(range.start_bound()), end_of(range.end_bound()));
    let extent = if dimension.is_var() { text_extent(lo, hi) } else { number_extent(dimension, lo, hi) };
    extent.map_err(|error| error.context(format_args!("dimension {:?}", dimension.name)))
}

fn end_of<T: RangeEnd>(bound: Bound<&T>) -> Bound<End<'_>> {
    bound.map(RangeEnd::end)
}

fn text_extent(lo: Bound<End<'_>>, hi: Bound<End<'_>>) -> Result<Extent> {
    let text = |end: End<'_>| match end {
        End::Text(text) => Ok(text.to_vec()),
        End::Number(number) => {
            Err(Error::invalid(format!("{number} is no text; the dimension is one of strings")))
        }
    };
    let lo = match lo {
        Bound::Unbounded => Vec::new(),
        Bound::Included(end) => text(end)?,
        // The least string behind another is that one with a zero byte.
        Bound::Excluded(end) => text(end)?.into_iter().chain([0]).collect(),
    };
    let hi = match hi {
        Bound::Unbounded => None,
        Bound::Included(end) => Some(text(end)?),
        Bound::Excluded(end) => {
            return Err(Error::invalid(format!(
                "there is no greatest string before {:?}; end the range with ..=",
                String::from_utf8_lossy(&text(end)?)
            )));
        }
    };
    match hi {
        Some(hi) => Extent::between_strings(&lo, &hi),
        None => Ok(Extent::Str { lo: lo.into(), hi: None }),
    }
}

fn number_extent(dimension: &Dimension, lo: Bound<End<'_>>, hi: Bound<End<'_>>) -> Result<Extent> {
    // Labels have no domain.
    let domain = dimension.domain.map_or((0, u64::MAX), |(lo, hi)| (lo.ordinal(), hi.ordinal()));
    let at = |end| Position::of(end, dimension.datatype);
    let lo = match lo {
        Bound::Unbounded => Some(domain.0),
        Bound::Included(end) => match at(end)? {
            Position::Below => Some(0),
            Position::At { first, .. } => Some(first),
            Position::Above => None,
        },
        Bound::Excluded(end) => match at(end)? {
            Position::Below => Some(0),
            Position::At { last, .. } => last.checked_add(1),
            Position::Above => None,
        },
    };
    let hi = match hi {
        Bound::Unbounded => Some(domain.1),
        Bound::Included(end) => match at(end)? {
            Position::Below => None,
            Position::At { last, .. } => Some(last),
            Position::Above => Some(u64::MAX),
        },
        Bound::Excluded(end) => match at(end)? {
            Position::Below => None,
            Position::At { first, .. } => first.checked_sub(1),
            Position::Above => Some(u64::MAX),
        },
    };
    match (lo, hi) {
        (Some(lo), Some(hi)) if lo <= hi => Ok(Extent::Num { lo, hi }),
        _ => Err(Error::invalid(match dimension.domain {
            Some((lo, hi)) => {
                format!("the range is empty; give the lower end first, in the domain {lo}:{hi}")
            }
            None => "the range is empty; give the lower end first".to_owned(),
        })),
    }
}

/// Where a number lies among the values of a datatype, in ordinals.
enum Position {
    /// Below all of them.
    Below,
    /// At a value: a zero of floats at two.
    At { first: u64, last: u64 },
    /// Above all of them.
    Above,
}

impl Position {
    fn of(end: End<'_>, datatype: Datatype) -> Result<Position> {
        let number = match end {
            End::Number(number) => number,
            End::Text(text) => {
                let text = String::from_utf8_lossy(text);
                return Err(Error::invalid(format!(
                    "{text:?} is no number; the dimension is of type {datatype}"
                )));
            }
        };
        match (number.cast(datatype), number.as_i128()) {
            (Ok(value), _) => match Extent::between(value, value)? {
                Extent::Num { lo: first, hi: last } => Ok(Position::At { first, last }),
                Extent::Str { .. } => Err(Error::invalid("numbers make no range of strings")),
            },
            (Err(_), Some(wide)) if wide < 0 => Ok(Position::Below),
            (Err(_), Some(_)) => Ok(Position::Above),
            (Err(error), None) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, Dimension, Schema};
    use smalti_types::ErrorKind;

    fn shown<T: RangeEnd>(dimension: Dimension, range: impl RangeBounds<T>) -> Result<String> {
        let schema = Schema::sparse().dimension(dimension).attribute(Attribute::of::<u8>("a")).build()?;
        let extent = extent_of(&schema.dimensions[0], &range)?;
        Ok(crate::Interval::from_extent(schema.dimensions[0].datatype, &extent)?.to_string())
    }

    #[test]
    fn rusts_ranges_become_closed_intervals() {
        let line = || Dimension::new("x", 0..=99_u8);
        assert_eq!(shown(line(), 5..10).unwrap(), "5..=9");
        assert_eq!(shown(line(), 5..=10).unwrap(), "5..=10");
        assert_eq!(shown(line(), 5..).unwrap(), "5..=99");
        assert_eq!(shown(line(), ..7_i64).unwrap(), "0..=6");
        assert_eq!(shown(line(), -5..=1000).unwrap(), "0..=255");
        assert_eq!(shown(line(), (Bound::Excluded(5), Bound::Unbounded)).unwrap(), "6..=99");
        let globe = || Dimension::new("lat", -90.0..=90.0);
        assert_eq!(shown(globe(), 40..=50).unwrap(), "40.0..=50.0");
        assert_eq!(shown(globe(), ..0.0).unwrap(), "-90.0..=-5e-324");
        assert_eq!(shown(globe(), 0.0..=0.0).unwrap(), "-0.0..=0.0");
        let names = || Dimension::string("name");
        assert_eq!(shown(names(), "a"..="b").unwrap(), r#""a"..="b""#);
        assert_eq!(shown(names(), String::from("a")..).unwrap(), r#""a".."#);
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "an inverted range is what is refused")]
    fn ranges_that_make_no_sense_are_refused_by_name() {
        let line = || Dimension::new("x", 0..=99_u8);
        for error in [
            shown(line(), 5..5).unwrap_err(),
            shown(line(), 10..=5).unwrap_err(),
            shown(line(), 256..).unwrap_err(),
            shown(line(), ..=-1).unwrap_err(),
            shown(line(), "a"..).unwrap_err(),
            shown(line(), 0.5..).unwrap_err(),
            shown(Dimension::new("x", 0.0..=1.0), f64::NAN..).unwrap_err(),
            shown(Dimension::string("x"), "a".."b").unwrap_err(),
            shown(Dimension::string("x"), 1..).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("\"x\""), "{error}");
        }
    }
}
