//! What readers are shown of an array, whatever it was made with.

use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::MetadataValue;
use smalti_types::{Result, TimeRange};
use smalti_upkeep::{Digest, DigestOptions, digest};
use std::collections::BTreeMap;

/// An array at a time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    digest: Digest,
    metadata: BTreeMap<String, MetadataValue>,
    /// Attributes, each with the elements of its enumeration.
    attributes: Vec<(String, Vec<Vec<u8>>)>,
}

fn try_shown(place: &ArrayPlace, end: u64) -> Result<Shown> {
    let snapshot = Snapshot::open(place.clone(), TimeRange::until(end))?;
    let mut attributes = Vec::new();
    for attribute in &snapshot.schema().attributes {
        let elements = match &attribute.enumeration {
            Some(name) => snapshot.enumeration(name)?.elements().map(<[u8]>::to_vec).collect(),
            None => Vec::new(),
        };
        attributes.push((attribute.name.clone(), elements));
    }
    let metadata = place.metadata(TimeRange::until(end))?;
    Ok(Shown { digest: digest(&snapshot, &DigestOptions::default())?, metadata, attributes })
}

/// What is shown at each of several times; `None` for an error.
pub(super) fn shown(place: &ArrayPlace, times: &[u64]) -> Vec<Option<Shown>> {
    times.iter().map(|&end| try_shown(place, end).ok()).collect()
}
