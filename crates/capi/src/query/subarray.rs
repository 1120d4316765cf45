//! Subarrays: ranges on each dimension.

use crate::array::ArrayHandle;
use crate::boundary::handle::{kinds, seen};
use crate::config::Config;
use crate::failure::{Failure, Fallible, fail};
use crate::values::{extent, inverted, number};
use smalti::format::{ArraySchema, Dimension};
use smalti::{Extent, LabelRange};

/// Ranges on the dimensions and labels of an array.
#[derive(Debug, Clone)]
pub(crate) struct SubarrayHandle {
    pub(super) schema: ArraySchema,
    /// Ranges that were set, for each dimension.
    pub(super) ranges: Vec<Vec<Extent>>,
    /// Ranges on labels, in the order in which labels were first named.
    pub(super) labels: Vec<LabelRange>,
    /// Dimensions that ranges on labels took no position of.
    pub(super) unmet: Vec<usize>,
    pub(super) coalesces: bool,
    refuses_oob: bool,
}

kinds! { SubarrayHandle => "subarray" }

/// What failures of subarrays are told by.
pub(super) const ORIGIN: &str = "Subarray";

impl SubarrayHandle {
    /// Ranges on nothing yet.
    pub(super) fn new(array: &ArrayHandle) -> Fallible<SubarrayHandle> {
        let open = array.opened("Cannot create subarray;")?;
        let schema = seen(&open.schema).schema.clone();
        Ok(SubarrayHandle {
            ranges: vec![Vec::new(); schema.dimensions.len()],
            schema,
            labels: Vec::new(),
            unmet: Vec::new(),
            coalesces: true,
            // What the array is configured with is for queries; a subarray crops ranges only where it is told to.
            refuses_oob: true,
        })
    }

    /// Takes settings.
    pub(super) fn configure(&mut self, config: &Config) -> Fallible<()> {
        self.refuses_oob = refuses_oob(config)?;
        Ok(())
    }

    /// The dimension of a number.
    pub(super) fn dimension(&self, idx: usize) -> Fallible<&Dimension> {
        let found = self.schema.dimensions.get(idx);
        found.ok_or_else(|| Failure::told(ORIGIN, "Cannot add range; Invalid dimension index"))
    }

    /// The number of a dimension.
    pub(super) fn idx_of(&self, name: &str) -> Fallible<usize> {
        let found = self.schema.dimensions.iter().position(|dimension| dimension.name == name);
        found.ok_or_else(|| {
            Failure::told("TileDB internal", "Cannot get dimension index; Invalid dimension name")
        })
    }

    /// Whether any range was set.
    pub(super) fn is_set(&self) -> bool {
        self.ranges.iter().any(|ranges| !ranges.is_empty()) || !self.labels.is_empty()
    }

    /// The ranges of a dimension; where none was set, all of its domain.
    pub(super) fn ranges_of(&self, idx: usize) -> Vec<Extent> {
        let set = self.ranges.get(idx).cloned().unwrap_or_default();
        if !set.is_empty() {
            return set;
        }
        if let Some(side) = self.current_side(idx) {
            return vec![side];
        }
        let domain = self.schema.dimensions.get(idx).and_then(|dimension| dimension.domain);
        match domain {
            Some((lo, hi)) => vec![Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }],
            None => vec![Extent::Str { lo: Box::default(), hi: Some(Box::default()) }],
        }
    }

    /// Adds a range, after a check.
    pub(super) fn add(&mut self, idx: usize, lo: &[u8], hi: &[u8]) -> Fallible<()> {
        let dimension = self.dimension(idx)?.clone();
        if self.has_labels_on(idx) {
            return fail(
                ORIGIN,
                format!(
                    "Cannot add range to to dimension '{}'; A range is already set on a dimension label for this dimension",
                    dimension.name
                ),
            );
        }
        let added = self.checked(&dimension, lo, hi)?;
        let Some(ranges) = self.ranges.get_mut(idx) else { return Ok(()) };
        let last = ranges.last_mut();
        match (last, &added) {
            (Some(Extent::Num { hi: end, .. }), Extent::Num { lo, hi })
                if self.coalesces && end.checked_add(1) == Some(*lo) && !dimension.datatype.is_float() =>
            {
                *end = *hi;
            }
            _ => ranges.push(added),
        }
        Ok(())
    }

    fn checked(&self, dimension: &Dimension, lo: &[u8], hi: &[u8]) -> Fallible<Extent> {
        let datatype = dimension.datatype;
        if datatype.is_string() {
            // libtiledb takes strings in any order; what is upside down selects nothing.
            return Ok(Extent::Str { lo: lo.into(), hi: Some(hi.into()) });
        }
        let scalar = |bytes: &[u8]| smalti::Scalar::read(datatype, bytes);
        let (low, high) = (scalar(lo)?, scalar(hi)?);
        if low.as_f64().is_nan() || high.as_f64().is_nan() {
            return fail("TileDB internal", "Range contains NaN");
        }
        if low.ordinal() > high.ordinal() {
            return Err(inverted(low, high));
        }
        let Some((first, last)) = dimension.domain else {
            return extent(datatype, lo, hi);
        };
        let (from, until) = (low.ordinal(), high.ordinal());
        let (least, most) = (first.ordinal(), last.ordinal());
        if from < least || until > most {
            let words = format!(
                "Range [{}, {}] is out of domain bounds [{}, {}]",
                number(low),
                number(high),
                number(first),
                number(last)
            );
            if self.refuses_oob {
                return fail(ORIGIN, format!("Cannot add range to dimension '{}'; {words}", dimension.name));
            }
            let (lo, hi) = (from.clamp(least, most), until.clamp(least, most));
            return Ok(Extent::Num { lo, hi });
        }
        Ok(Extent::Num { lo: from, hi: until })
    }

    /// Whether a dimension has ranges on one of its labels, and so none of its own yet.
    pub(super) fn has_labels_on(&self, idx: usize) -> bool {
        self.labels.iter().any(|label| self.label_dimension(&label.label) == Some(idx))
    }

    /// The number of the dimension that a label is for.
    pub(super) fn label_dimension(&self, name: &str) -> Option<usize> {
        let found = self.schema.dimension_labels.iter().find(|label| label.name == name)?;
        usize::try_from(found.dimension_idx).ok()
    }

    /// What the current domain takes of a dimension, where there is one.
    fn current_side(&self, idx: usize) -> Option<Extent> {
        self.schema.current_domain.rectangle().and_then(|sides| sides.get(idx)).cloned()
    }

    /// Ranges for the engine: whole dimensions where none was set, or what the current domain takes of them.
    ///
    /// Fails for ranges that leave the current domain.
    pub(super) fn wanted(&self) -> Fallible<Vec<Vec<Extent>>> {
        let ranges = self.ranges.iter().enumerate().map(|(idx, ranges)| match self.current_side(idx) {
            Some(side) if ranges.is_empty() => Ok(vec![side]),
            Some(side) if ranges.iter().any(|range| !side.as_ref().covers(range.as_ref())) => {
                fail("Query", "A range was set outside of the current domain.")
            }
            _ => Ok(without_inverted(ranges)),
        });
        ranges.collect()
    }

    /// The rectangle of a dense write, if one was set.
    pub(super) fn rectangle(&self) -> Fallible<Option<Vec<Extent>>> {
        if !self.is_set() {
            return Ok(None);
        }
        let sides = (0..self.ranges.len()).map(|idx| {
            let mut ranges = self.ranges_of(idx);
            match (ranges.pop(), ranges.pop()) {
                (Some(side), None) => Ok(side),
                _ => fail("Query", "Multi-range dense writes are not supported"),
            }
        });
        sides.collect::<Fallible<_>>().map(Some)
    }
}

/// Ranges without those of texts that end before they begin, as they select nothing, where others are left.
fn without_inverted(ranges: &[Extent]) -> Vec<Extent> {
    let is_inverted = |range: &Extent| matches!(range, Extent::Str { lo, hi: Some(hi) } if hi < lo);
    let kept: Vec<_> = ranges.iter().filter(|range| !is_inverted(range)).cloned().collect();
    if kept.is_empty() { ranges.to_vec() } else { kept }
}

fn refuses_oob(config: &Config) -> Fallible<bool> {
    match config.own("sm.read_range_oob").as_str() {
        "warn" => Ok(false),
        "error" => Ok(true),
        other => fail(
            ORIGIN,
            format!("Invalid value {other} for sm.read_range_obb. Acceptable values are 'error' or 'warn'."),
        ),
    }
}
