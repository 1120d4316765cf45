//! Keeping arrays fast and whole: consolidation, vacuum, checks and repair.
//!
//! Nothing here changes what an array says: every operation ends in the same cells, metadata and members.
#![forbid(unsafe_code)]

mod diff;
mod digest;
mod fsck;
mod repair;
mod salvage;

pub use diff::{CellDifference, Change, DiffFields, DiffOptions, DiffSummary, FieldDifference, Side, diff};
pub use digest::{Digest, DigestBuilder, DigestOptions, digest};
pub use fsck::{Class, Finding, FindingKind, FsckOptions, FsckProgress, FsckReport, Remedy, Step, fsck};
pub use repair::{Mended, RepairOptions, RepairReport, repair};
pub use salvage::{LostCells, Salvage, salvage};
