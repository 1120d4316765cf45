//! Vacuum: removing files that others have replaced. Only what our own listing showed is ever removed; a name that a file
//! gives selects among it.

mod commits;
mod fragment_meta;
mod fragments;
mod metadata;

pub use commits::vacuum_commits;
pub use fragment_meta::vacuum_fragment_meta;
pub use fragments::{VacuumOptions, VacuumedFragments, vacuum_fragments};
pub use metadata::vacuum_metadata;
