//! Consolidation: many files into one that says the same.

mod commits;
mod fragment_meta;
mod metadata;

pub(crate) use commits::sync_commits;
pub use commits::{consolidate_commits, ignore_taken};
pub use fragment_meta::consolidate_fragment_meta;
pub use metadata::consolidate_metadata;

use smalti_format::names::TimestampedName;
use smalti_types::TimeRange;

/// The least time range around all of some names; `None` for no names.
pub(crate) fn hull<'n>(names: impl IntoIterator<Item = &'n TimestampedName>) -> Option<TimeRange> {
    names
        .into_iter()
        .map(TimestampedName::range)
        .reduce(|a, b| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) })
}
