//! Consolidation: many small things made one large one that says the same.

mod fit;
mod fragments;
mod policy;
mod publish;

pub use fragments::{
    Consolidation, FragmentOptions, FragmentPlan, Merge, MergedFragments, consolidate_fragments,
    plan_fragments,
};
pub use policy::{Choice, Steps, Tiers};
pub(crate) use publish::finish_pending;
