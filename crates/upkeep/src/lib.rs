//! Keeping arrays fast and whole: consolidation, vacuum, checks and repair.
//!
//! Nothing here changes what an array says, except for operations on single fragments: every other one ends in the same cells,
//! metadata and members.
#![forbid(unsafe_code)]

mod consolidate;
mod fragments;
mod retire;
mod vacuum;

pub use consolidate::{
    Choice, Consolidation, FragmentOptions, FragmentPlan, Merge, MergedFragments, Steps, Tiers,
    consolidate_fragments, plan_fragments,
};
pub use fragments::{DeletedFragments, FragmentChoice, FragmentDeletion, copy_fragments, delete_fragments};
pub use vacuum::{VacuumOptions, VacuumedFragments, vacuum_fragments};
