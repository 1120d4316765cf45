//! Handles of schemas and their parts.
//!
//! Attributes, dimensions and enumerations are the format's own records; handles hold a copy of their own, so that what is
//! changed later changes nothing that was added before.

mod attribute;
mod current_domain;
mod dimension;
mod domain;
mod dump;
mod enumeration;
mod evolution;
mod filters_fit;
mod labels;
mod state;
mod whole;

pub(crate) use enumeration::EnumerationHandle;
pub(crate) use evolution::EvolutionHandle;
pub(crate) use state::SchemaHandle;
