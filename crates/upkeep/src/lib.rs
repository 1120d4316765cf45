//! Keeping arrays fast and whole: consolidation, vacuum, checks and repair.
//!
//! Nothing here changes what an array says, except for operations on single fragments: every other one ends in the same cells,
//! metadata and members.
#![forbid(unsafe_code)]

mod consolidate;
mod diff;
mod digest;
mod fragments;
mod fsck;
mod grace;
mod manifest;
mod repair;
mod report;
mod retire;
mod salvage;
mod vacuum;

pub use consolidate::{
    Choice, Consolidation, ConsolidationPart, FragmentOptions, FragmentPlan, Merge, MergedFragments,
    PartOptions, SharedConsolidation, Steps, Tiers, consolidate_commits, consolidate_fragment_meta,
    consolidate_fragments, consolidate_metadata, ignore_taken, merge_part, plan_fragments,
    share_consolidation, verify_merge,
};
pub use diff::{CellDifference, Change, DiffFields, DiffOptions, DiffSummary, FieldDifference, Side, diff};
pub use digest::{Digest, DigestBuilder, DigestOptions, digest};
pub use fragments::{DeletedFragments, FragmentChoice, FragmentDeletion, copy_fragments, delete_fragments};
pub use fsck::{Class, Finding, FindingKind, FsckOptions, FsckReport, MemberReport, Remedy, Step, fsck};
pub use manifest::{WrittenManifest, remove_manifest, write_manifest};
pub use repair::{Mended, MendedMember, RepairOptions, RepairReport, repair};
pub use report::{FileReport, Options, Report};
pub use salvage::{LostCells, Older, OlderCells, Salvage, salvage};
pub use vacuum::{
    VacuumOptions, VacuumedFragments, vacuum_commits, vacuum_fragment_meta, vacuum_fragments, vacuum_metadata,
};
