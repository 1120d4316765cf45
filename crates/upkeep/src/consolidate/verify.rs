//! Reading a merge back before anybody else can.

use crate::digest::{Digest, DigestOptions, digest_in, digest_of_versions};
use smalti_array::{Fragment, ListedFragment, Snapshot};
use smalti_format::Rule;
use smalti_query::{MergeRequest, Merged, Phase, Unit};
use smalti_types::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Checks that the merged fragments show what those of `part` show at the latest time: coordinates and values of all cells, and
/// in sparse arrays their times, as far as the format version keeps these. Both are read from the store. Where a merge keeps all
/// that it reads, every version of every cell is compared, whatever hides whatever: that proves more, and takes no merging.
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
    let compared = |digest: &dyn Fn(&Snapshot) -> Result<Digest>| {
        progress.enter(Phase::Verifying, Unit::Cells, cell_count.and_then(|count| count.checked_mul(2)));
        let expected = digest(part)?;
        progress.reach(Phase::Verifying, Unit::Cells, cell_count.unwrap_or(0));
        Ok::<_, Error>((expected, digest(&written)?))
    };
    // A version that is missing though nothing shows it any more does no harm: then what is shown decides.
    let is_same = keeps_all(part, request, options.includes_times)? && {
        let (expected, found) = compared(&|of| digest_of_versions(of, &options, Phase::Verifying))?;
        expected == found
    };
    if !is_same {
        let digest = |of: &Snapshot| digest_in(of, &options, Phase::Verifying, request.part.as_ref());
        let (expected, found) = compared(&digest)?;
        if expected != found {
            return Err(differs(part, expected, found));
        }
    }
    progress.complete(Phase::Verifying);
    Ok(())
}

/// Whether every version of every cell that a merge reads is in what it writes: no delete takes any out, and older versions have a time to be
/// kept with, or none hides another.
fn keeps_all(part: &Snapshot, request: &MergeRequest, keeps_times: bool) -> Result<bool> {
    let schema = part.schema();
    if schema.is_dense() || request.part.is_some() || !(keeps_times || schema.allows_dups) {
        return Ok(false);
    }
    let has_marks = part.fragments().iter().any(|fragment| fragment.outline().includes_delete_metadata);
    Ok(!has_marks && part.deletes()?.is_empty())
}

fn differs(part: &Snapshot, expected: Digest, found: Digest) -> Error {
    let told = |digest: Digest| format!("{} cells with the digest {digest}", digest.cell_count);
    Error::new(
        ErrorKind::Corrupt,
        format!(
            "the merged fragment does not hold the cells that were merged: {}, not {}; nothing was changed. Memory or disk may \
             be failing: `smalti fsck --data` checks the array, and consolidating again tells whether this repeats itself",
            told(found),
            told(expected)
        ),
    )
    .at_uri(part.place().uri())
}
