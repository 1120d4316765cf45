//! Vacuum: what consolidation replaced, removed.

mod fragments;

pub use fragments::{VacuumOptions, VacuumedFragments, vacuum_fragments};
