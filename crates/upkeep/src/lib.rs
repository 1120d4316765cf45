//! Keeping arrays fast and whole: consolidation, vacuum, checks and repair.
//!
//! Nothing here changes what an array says: every operation ends in the same cells, metadata and members.
#![forbid(unsafe_code)]

mod consolidate;
mod report;
mod vacuum;

pub use consolidate::{consolidate_commits, consolidate_fragment_meta, consolidate_metadata, ignore_taken};
pub use report::{FileReport, Options, Report};
pub use vacuum::{vacuum_commits, vacuum_fragment_meta, vacuum_metadata};
