//! Reads of sparse arrays do not leave the current domain.
//!
//! Every write keeps to it, so there is something to do only where it was set after cells had been written outside. The
//! reference refuses ranges that leave it; here they are cut, like ranges that leave the domain.

use crate::request::ReadRequest;
use smalti_array::Snapshot;
use smalti_types::{Extent, ExtentRef};
use std::borrow::Cow;

/// A sparse read with its ranges cut to the current domain; `None` when nothing is left of a dimension.
pub(crate) fn narrowed<'r>(snapshot: &Snapshot, request: &'r ReadRequest) -> Option<Cow<'r, ReadRequest>> {
    let Some(current) = snapshot.schema().current_domain.rectangle() else {
        return Some(Cow::Borrowed(request));
    };
    let covers = |domain: &[Extent]| {
        current.iter().zip(domain).all(|(side, other)| side.as_ref().covers(other.as_ref()))
    };
    if snapshot.fragments().iter().all(|fragment| covers(fragment.non_empty_domain())) {
        return Some(Cow::Borrowed(request));
    }
    let mut ranges = request.ranges.clone();
    // Ranges of dimensions that are not there are the plan's to refuse.
    ranges.resize(ranges.len().max(current.len()), Vec::new());
    for (asked, side) in ranges.iter_mut().zip(current) {
        if asked.is_empty() {
            asked.push(side.clone());
            continue;
        }
        let within = |range: &Extent| intersection(range.as_ref(), side.as_ref());
        *asked = asked.iter().filter_map(within).collect();
        if asked.is_empty() {
            return None;
        }
    }
    Some(Cow::Owned(ReadRequest { ranges, ..request.clone() }))
}

/// What two intervals share. A range of the wrong kind stays, for the plan to refuse.
pub(crate) fn intersection(range: ExtentRef<'_>, side: ExtentRef<'_>) -> Option<Extent> {
    match (range, side) {
        (ExtentRef::Num { lo, hi }, ExtentRef::Num { lo: first, hi: last }) => {
            let inside = lo > hi || range.overlaps(side);
            inside.then(|| {
                // An inverted range too is for the plan to refuse.
                if lo > hi { range.to_owned() } else { Extent::Num { lo: lo.max(first), hi: hi.min(last) } }
            })
        }
        (ExtentRef::Str { lo, hi }, ExtentRef::Str { lo: first, hi: last }) => {
            range.overlaps(side).then(|| Extent::Str {
                lo: lo.max(first).into(),
                hi: match (hi, last) {
                    (Some(hi), Some(last)) => Some(hi.min(last).into()),
                    (hi, last) => hi.or(last).map(Into::into),
                },
            })
        }
        _ => Some(range.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_current_domain() {
        let number = |lo, hi| ExtentRef::Num { lo, hi };
        assert_eq!(intersection(number(0, 9), number(3, 5)), Some(Extent::Num { lo: 3, hi: 5 }));
        assert_eq!(intersection(number(4, 9), number(3, 5)), Some(Extent::Num { lo: 4, hi: 5 }));
        assert_eq!(intersection(number(6, 9), number(3, 5)), None);
        let text = |lo: &'static str, hi: Option<&'static str>| ExtentRef::Str {
            lo: lo.as_bytes(),
            hi: hi.map(str::as_bytes),
        };
        assert_eq!(
            intersection(text("a", None), text("b", Some("d"))),
            Some(text("b", Some("d")).to_owned())
        );
        assert_eq!(intersection(text("e", None), text("b", Some("d"))), None);
    }
}
