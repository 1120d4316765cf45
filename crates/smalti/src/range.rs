//! Ranges of dimensions, from Rust's ranges.

use smalti_format::Dimension;
use smalti_types::{Error, Extent, Result, Scalar};
use std::ops::{Bound, RangeBounds};

/// A type that ends of ranges have: the ten numbers, and text.
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
        End::Number(number) => Err(Error::invalid(format!("{number} is no text; the dimension is one of strings"))),
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
    let (least, greatest) = dimension
        .domain
        .ok_or_else(|| Error::corrupt("a numeric dimension without a domain"))?;
    let datatype = dimension.datatype;
    let number = |end: End<'_>| match end {
        End::Number(number) => Ok(number),
        End::Text(text) => Err(Error::invalid(format!(
            "{:?} is no number; the dimension is of type {datatype}",
            String::from_utf8_lossy(text)
        ))),
    };
    let lo = match lo {
        Bound::Unbounded => Extent::between(least, least)?,
        Bound::Included(end) | Bound::Excluded(end) => clipped(number(end)?, dimension, least)?,
    };
    let hi = match hi {
        Bound::Unbounded => Extent::between(greatest, greatest)?,
        Bound::Included(end) | Bound::Excluded(end) => clipped(number(end)?, dimension, greatest)?,
    };
    todo(lo, hi)
}
