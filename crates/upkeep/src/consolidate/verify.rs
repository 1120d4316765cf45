//! Reading a merge back before anybody else can.

use crate::digest::{Digest, DigestOptions, digest_in};
use smalti_array::{Fragment, ListedFragment, Snapshot};
use smalti_format::Rule;
use smalti_query::{MergeRequest, Merged, Phase, Unit};
use smalti_types::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Checks that the merged fragments show what those of `part` show at the latest time: coordinates and values of all cells, and
/// in sparse arrays their times, as far as the format version keeps these. Both are read from the store.
///
/// # Errors
/// `Corrupt` when they differ; what reading reports, `Cancelled` too.
pub fn verify_merge(part: &Snapshot, merged: &Merged, request: &MergeRequest) -> Result<()> {
    let schema = part.schema();
    let options = DigestOptions {
        includes_times: !schema.is_dense() && schema.write_version().has(Rule::CellTimestamps),
        memory_byte_len: request.memory_byte_len,
        progress: request.progress.clone(),
        ..DigestOptions::default()
    };
    let open = |new: &smalti_array::NewFragment| {
        let listed = ListedFragment::named(new.name().clone())?;
        Fragment::open_alone(part.place(), &listed, |_| Ok(Arc::clone(schema))).map(Arc::new)
    };
    let fragments = merged.fragments.iter().map(open).collect::<Result<Vec<_>>>()?;
    let written = part.of_fragments(fragments, part.schema_name())?;
    let progress = request.progress.clone().unwrap_or_default();
    // The same cells twice, some of which only the old fragments hold.
    let cell_count = part.held_cell_count().filter(|_| request.part.is_none());
    progress.enter(Phase::Verifying, Unit::Cells, cell_count.and_then(|count| count.checked_mul(2)));
    let expected = digest_in(part, &options, Phase::Verifying, request.part.as_ref())?;
    progress.reach(Phase::Verifying, Unit::Cells, cell_count.unwrap_or(0));
    let found = digest_in(&written, &options, Phase::Verifying, request.part.as_ref())?;
    progress.complete(Phase::Verifying);
    if expected == found {
        return Ok(());
    }
    let told = |digest: Digest| format!("{} cells with the digest {digest}", digest.cell_count);
    Err(Error::new(
        ErrorKind::Corrupt,
        format!(
            "the merged fragment does not hold the cells that were merged: {}, not {}; nothing was changed. Memory or disk may \
             be failing: `smalti fsck --data` checks the array, and consolidating again tells whether this repeats itself",
            told(found),
            told(expected)
        ),
    )
    .at_uri(part.place().uri()))
}
