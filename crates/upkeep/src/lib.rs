//! Keeping arrays fast and whole: consolidation, vacuum, checks and repair.
//!
//! Nothing here changes what an array says: every operation ends in the same cells, metadata and members.
#![forbid(unsafe_code)]
