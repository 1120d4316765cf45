//! Closed intervals on a dimension, and lists of rectangles.

use crate::{Datatype, Error, Result, Scalar};

/// A closed interval on one dimension. Numbers are [ordinals](crate::Physical::ordinal).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Extent {
    /// On a numeric dimension, both ends included.
    Num {
        /// Ordinal of the least value.
        lo: u64,
        /// Ordinal of the greatest value.
        hi: u64,
    },
    /// On a string dimension, in the order of bytes, both ends included.
    Str {
        /// The least string.
        lo: Box<[u8]>,
        /// The greatest string; `None` for no upper end.
        hi: Option<Box<[u8]>>,
    },
}

/// A borrowed [`Extent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in Extent")]
pub enum ExtentRef<'a> {
    Num { lo: u64, hi: u64 },
    Str { lo: &'a [u8], hi: Option<&'a [u8]> },
}

impl Extent {
    /// Every value of a numeric type, or every string.
    pub fn all(is_string: bool) -> Extent {
        if is_string {
            Extent::Str { lo: Box::default(), hi: None }
        } else {
            Extent::Num { lo: 0, hi: u64::MAX }
        }
    }

    /// Between two numbers of a type. For floats a zero end takes in both zeros.
    ///
    /// # Errors
    /// `InvalidArgument` when the ends are inverted or not numbers.
    pub fn between(lo: Scalar, hi: Scalar) -> Result<Extent> {
        let (mut from, mut to) = (lo.ordinal(), hi.ordinal());
        match (lo, hi) {
            (Scalar::F64(_), _) | (Scalar::F32(_), _) => {
                if lo.as_f64().is_nan() || hi.as_f64().is_nan() {
                    return Err(Error::invalid("a range cannot end in NaN"));
                }
                if lo.as_f64() == 0.0 {
                    from = negative_zero(lo).ordinal();
                }
                if hi.as_f64() == 0.0 {
                    to = positive_zero(hi).ordinal();
                }
            }
            _ => {}
        }
        if from > to {
            return Err(Error::invalid(format!("the range {lo}:{hi} is inverted; give the lower end first")));
        }
        Ok(Extent::Num { lo: from, hi: to })
    }

    /// Between two strings.
    ///
    /// # Errors
    /// `InvalidArgument` when the ends are inverted.
    pub fn between_strings(lo: &[u8], hi: &[u8]) -> Result<Extent> {
        if lo > hi {
            return Err(Error::invalid(format!(
                "the range {:?}:{:?} is inverted; give the lower end first",
                String::from_utf8_lossy(lo),
                String::from_utf8_lossy(hi)
            )));
        }
        Ok(Extent::Str { lo: lo.into(), hi: Some(hi.into()) })
    }

    /// The interval, borrowed.
    pub fn as_ref(&self) -> ExtentRef<'_> {
        match self {
            Extent::Num { lo, hi } => ExtentRef::Num { lo: *lo, hi: *hi },
            Extent::Str { lo, hi } => ExtentRef::Str { lo, hi: hi.as_deref() },
        }
    }
}

fn negative_zero(of: Scalar) -> Scalar {
    if matches!(of, Scalar::F32(_)) { Scalar::F32(-0.0) } else { Scalar::F64(-0.0) }
}

fn positive_zero(of: Scalar) -> Scalar {
    if matches!(of, Scalar::F32(_)) { Scalar::F32(0.0) } else { Scalar::F64(0.0) }
}

impl ExtentRef<'_> {
    /// The interval with owned ends.
    pub fn to_owned(self) -> Extent {
        match self {
            ExtentRef::Num { lo, hi } => Extent::Num { lo, hi },
            ExtentRef::Str { lo, hi } => Extent::Str { lo: lo.into(), hi: hi.map(Into::into) },
        }
    }

    /// The least interval around both; this one if they are of different kinds.
    pub fn hull(self, other: ExtentRef<'_>) -> Extent {
        match (self, other) {
            (ExtentRef::Num { lo: a, hi: b }, ExtentRef::Num { lo: c, hi: d }) => {
                Extent::Num { lo: a.min(c), hi: b.max(d) }
            }
            (ExtentRef::Str { lo: a, hi: b }, ExtentRef::Str { lo: c, hi: d }) => {
                Extent::Str { lo: a.min(c).into(), hi: b.zip(d).map(|(b, d)| b.max(d).into()) }
            }
            (this, _) => this.to_owned(),
        }
    }

    /// Whether the two share a value. Intervals of different kinds share none.
    pub fn overlaps(self, other: ExtentRef<'_>) -> bool {
        match (self, other) {
            (ExtentRef::Num { lo: a, hi: b }, ExtentRef::Num { lo: c, hi: d }) => a <= d && c <= b,
            (ExtentRef::Str { lo: a, hi: b }, ExtentRef::Str { lo: c, hi: d }) => {
                d.is_none_or(|d| a <= d) && b.is_none_or(|b| c <= b)
            }
            _ => false,
        }
    }

    /// Whether `other` lies wholly inside.
    pub fn covers(self, other: ExtentRef<'_>) -> bool {
        match (self, other) {
            (ExtentRef::Num { lo: a, hi: b }, ExtentRef::Num { lo: c, hi: d }) => a <= c && d <= b,
            (ExtentRef::Str { lo: a, hi: b }, ExtentRef::Str { lo: c, hi: d }) => {
                a <= c && b.is_none_or(|b| d.is_some_and(|d| d <= b))
            }
            _ => false,
        }
    }
}

/// A list of rectangles of the same dimensions, stored flat: MBRs of tiles, nodes of R-trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RectList {
    /// Whether each dimension is of strings.
    is_string: Box<[bool]>,
    /// Per rectangle and dimension the low and high ordinal; for strings two indices into `ends`.
    numbers: Vec<u64>,
    /// End of each string in `bytes`; a string starts where the one before ends.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    len: usize,
}

impl RectList {
    /// An empty list of rectangles with one entry of `is_string` per dimension.
    pub fn new(is_string: impl Into<Box<[bool]>>) -> Self {
        RectList {
            is_string: is_string.into(),
            numbers: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            len: 0,
        }
    }

    /// The number of rectangles.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no rectangle.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of dimensions.
    pub fn dim_count(&self) -> usize {
        self.is_string.len()
    }

    /// Whether dimension `dim` is of strings.
    pub fn is_string(&self, dim: usize) -> bool {
        self.is_string[dim]
    }

    /// Appends one dimension of the next rectangle: dimensions come in order, and the rectangle counts once the
    /// last one is there.
    ///
    /// # Errors
    /// `InvalidArgument` when the interval's kind is not the dimension's, or a string interval has no upper end.
    pub fn push_extent(&mut self, extent: ExtentRef<'_>) -> Result<()> {
        let dims = self.is_string.len();
        let dim = self.numbers.len() / 2 - self.len * dims;
        match (extent, self.is_string[dim]) {
            (ExtentRef::Num { lo, hi }, false) => self.numbers.extend([lo, hi]),
            (ExtentRef::Str { lo, hi: Some(hi) }, true) => {
                for end in [lo, hi] {
                    self.bytes.extend_from_slice(end);
                    self.numbers.push(self.ends.len() as u64);
                    self.ends.push(self.bytes.len());
                }
            }
            _ => return Err(Error::invalid(format!("the interval does not fit dimension {dim}"))),
        }
        if dim + 1 == dims {
            self.len += 1;
        }
        Ok(())
    }

    /// Appends a whole rectangle.
    ///
    /// # Errors
    /// As [`push_extent`](RectList::push_extent).
    pub fn push(&mut self, rect: &[Extent]) -> Result<()> {
        rect.iter().try_for_each(|extent| self.push_extent(extent.as_ref()))
    }

    /// The interval of rectangle `idx` on dimension `dim`.
    ///
    /// # Panics
    /// When either is out of range.
    pub fn extent(&self, idx: usize, dim: usize) -> ExtentRef<'_> {
        let at = (idx * self.is_string.len() + dim) * 2;
        let (lo, hi) = (self.numbers[at], self.numbers[at + 1]);
        if self.is_string[dim] {
            ExtentRef::Str { lo: self.string(lo as usize), hi: Some(self.string(hi as usize)) }
        } else {
            ExtentRef::Num { lo, hi }
        }
    }

    /// Low and high ordinals of all dimensions of rectangle `idx`, alternating; meaningless for string dimensions.
    ///
    /// # Panics
    /// When `idx` is out of range.
    pub fn ordinals(&self, idx: usize) -> &[u64] {
        let width = self.is_string.len() * 2;
        &self.numbers[idx * width..(idx + 1) * width]
    }

    fn string(&self, idx: usize) -> &[u8] {
        let start = if idx == 0 { 0 } else { self.ends[idx - 1] };
        &self.bytes[start..self.ends[idx]]
    }
}

impl Datatype {
    /// The closed interval from the little-endian bytes of a low and a high value.
    ///
    /// # Errors
    /// `Corrupt` when there are too few bytes.
    pub fn extent_of_bytes(self, bytes: &[u8]) -> Result<Extent> {
        let lo = self.ordinal(bytes)?;
        let hi = self.ordinal(bytes.get(self.byte_len()..).unwrap_or_default())?;
        Ok(Extent::Num { lo, hi })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_end_of_a_float_range_takes_in_both_zeros() {
        let range = Extent::between(Scalar::F64(0.0), Scalar::F64(-0.0)).unwrap();
        assert!(
            range
                .as_ref()
                .covers(ExtentRef::Num { lo: Scalar::F64(-0.0).ordinal(), hi: Scalar::F64(0.0).ordinal() })
        );
    }

    #[test]
    fn rectangles_of_mixed_dimensions_come_back() {
        let mut list = RectList::new([false, true]);
        let rects = [
            [Extent::Num { lo: 1, hi: 5 }, Extent::between_strings(b"a", b"bc").unwrap()],
            [Extent::Num { lo: 2, hi: 2 }, Extent::between_strings(b"", b"z").unwrap()],
        ];
        for rect in &rects {
            list.push(rect).unwrap();
        }
        assert_eq!(list.len(), 2);
        for (i, rect) in rects.iter().enumerate() {
            for (d, extent) in rect.iter().enumerate() {
                assert_eq!(&list.extent(i, d).to_owned(), extent);
            }
        }
    }
}
