//! Consolidation: many files into one that says the same.

mod commits;
mod fit;
mod fragment_meta;
mod fragments;
mod hulls;
mod metadata;
mod policy;
mod publish;
mod shared;
mod verify;

pub(crate) use commits::{commit_at_once, put_ignore_file, sync_commits};
pub use commits::{consolidate_commits, ignore_taken};
pub use fragment_meta::consolidate_fragment_meta;
pub use fragments::{
    Consolidation, FragmentOptions, FragmentPlan, Merge, MergedFragments, consolidate_fragments,
    plan_fragments,
};
pub use metadata::consolidate_metadata;
pub use policy::{Choice, Steps, Tiers};
pub(crate) use publish::finish_pending;
pub use shared::{ConsolidationPart, PartOptions, SharedConsolidation, merge_part, share_consolidation};
pub use verify::verify_merge;

use smalti_format::names::TimestampedName;
use smalti_types::TimeRange;

/// The least time range around all of some names; `None` for no names.
pub(crate) fn hull<'n>(names: impl IntoIterator<Item = &'n TimestampedName>) -> Option<TimeRange> {
    names
        .into_iter()
        .map(TimestampedName::range)
        .reduce(|a, b| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) })
}
