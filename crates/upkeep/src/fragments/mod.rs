//! Operations on single fragments.

mod copy;
mod delete;

pub use copy::copy_fragments;
pub use delete::{DeletedFragments, FragmentChoice, FragmentDeletion, delete_fragments};
