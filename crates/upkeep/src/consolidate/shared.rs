//! Consolidation of fragments by several processes: one plans and publishes, the others merge.
//!
//! A merge is divided as a read is: by boxes of whole tiles, or by the global order. What goes to the others is a [`Split`], which names what
//! is merged, and what all of them share; what comes back are names of fragments. Readers see none of these before one commit shows
//! all of them and hides what they replace.

use super::fragments::{Consolidation, FragmentOptions, MergedFragments, Prepared, plan_fragments};
use super::verify::verify_merge;
use smalti_array::{ArrayPlace, Fragment, NewFragment, SharedWrite, Snapshot, UpkeepLock, intervals};
use smalti_format::Rule;
use smalti_format::names::TimestampedName;
use smalti_query::{MergePart, MergeRequest, Phase, Progress, Split, merge, split_merge};
use smalti_types::{Error, Extent, Result, TimeRange};
use std::sync::Arc;

/// A consolidation under way, by the process that plans it. While it lives no other consolidation or vacuum runs; dropped, it leaves what the
/// others have merged as folders that no reader sees.
pub struct SharedConsolidation {
    lock: UpkeepLock,
    merges: Vec<SharedMerge>,
}

struct SharedMerge {
    prepared: Prepared,
    share: SharedWrite,
    splits: Vec<Split>,
}

/// A part of a consolidation, for another process.
#[derive(Debug, Clone)]
pub struct ConsolidationPart {
    /// What is merged.
    pub split: Split,
    /// What the parts of one merge share.
    pub share: SharedWrite,
    /// Whether deleted cells are left out.
    pub purges: bool,
}

/// How a part is merged.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartOptions {
    /// The most bytes that the merge holds at once; `None` for the default of reads.
    pub memory_byte_len: Option<usize>,
    /// Read the part back, and check that it shows what its inputs show.
    pub verifies: bool,
    /// Where the merge tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<Progress>>,
}

impl Default for PartOptions {
    fn default() -> Self {
        PartOptions { memory_byte_len: None, verifies: true, progress: None }
    }
}

impl std::fmt::Debug for SharedConsolidation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedConsolidation").field("merges", &self.merges.len()).finish_non_exhaustive()
    }
}

/// Plans a consolidation, each merge of which is divided into at most so many parts of about as many bytes. Of one in several steps
/// the first is planned.
///
/// # Errors
/// As [`plan_fragments`]; `Io` when another consolidation or vacuum is running; `Unsupported` in format versions before 12, which
/// cannot commit several fragments at once.
pub fn share_consolidation(
    place: &ArrayPlace,
    options: &FragmentOptions,
    part_count: usize,
) -> Result<SharedConsolidation> {
    let lock = place.upkeep_lock()?;
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL)?;
    let shared = |planned| {
        let prepared = Prepared::new(&snapshot, planned, options.purges)?;
        let share = SharedWrite::merging(&prepared.part, prepared.time)?;
        let splits = split_merge(&prepared.part, part_count)?;
        Ok(SharedMerge { prepared, share, splits })
    };
    let planned = plan_fragments(&snapshot, options)?.merges;
    let mut merges = planned.into_iter().map(shared).collect::<Result<Vec<SharedMerge>>>()?;
    merges.retain(|merge| options.purges || !merge.is_done());
    Ok(SharedConsolidation { lock, merges })
}

impl SharedConsolidation {
    /// The parts, those of the merge of the oldest fragments first.
    pub fn parts(&self) -> Vec<ConsolidationPart> {
        let of_merge = |merge: &SharedMerge| {
            let (share, purges) = (merge.share, merge.prepared.purges_cells);
            let parts = merge.splits.clone().into_iter();
            parts.map(move |split| ConsolidationPart { split, share, purges }).collect::<Vec<_>>()
        };
        self.merges.iter().flat_map(of_merge).collect()
    }

    /// Publishes what came of the parts, in the order of [`parts`](SharedConsolidation::parts): the names of the fragments of each. Those
    /// of a merge take the place of what was merged by one commit.
    ///
    /// # Errors
    /// `InvalidArgument` for more or fewer parts, for names of other merges, or where the fragments do not hold as many cells as what was
    /// merged; `NotFound` and `Corrupt` for fragments that are not there as a whole; `Io` when the claim on the array was lost; what the store
    /// reports. Merges before the one that fails are complete, the others have left nothing.
    pub fn commit(self, parts: &[Vec<TimestampedName>]) -> Result<Consolidation> {
        let part_count = self.merges.iter().map(|merge| merge.splits.len()).sum::<usize>();
        if parts.len() != part_count {
            self.clear();
            return Err(Error::invalid(format!(
                "the consolidation has {part_count} parts, and {} came back: nothing was changed",
                parts.len()
            )));
        }
        let SharedConsolidation { lock, merges } = self;
        let (mut done, mut rest) = (Consolidation::default(), parts);
        let mut merges = merges.into_iter();
        while let Some(merge) = merges.next() {
            let (own, others) = rest.split_at(merge.splits.len().min(rest.len()));
            rest = others;
            let (share, part) = (merge.share, merge.prepared.part.clone());
            match merge.publish(own, &lock) {
                Ok(merged) => done.merges.push(merged),
                Err(error) => {
                    // A commit whose effect is unknown may show them.
                    if share.sealed(&part, &[]).is_ok() {
                        share.clear(&part, &[]);
                    }
                    merges.for_each(|merge| merge.share.clear(&merge.prepared.part, &[]));
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    /// Removes what was merged so far.
    pub fn abandon(self) {
        self.clear();
    }

    fn clear(&self) {
        for merge in &self.merges {
            merge.share.clear(&merge.prepared.part, &[]);
        }
    }
}

impl SharedMerge {
    /// Whether what is to be merged are the parts of such a merge already.
    fn is_done(&self) -> bool {
        let inputs = self.prepared.part.fragments();
        let made = inputs.first().and_then(|first| SharedWrite::of(first.name()));
        let is_of_one = made.is_some_and(|made| inputs.iter().all(|input| made.owns(input.name())));
        is_of_one && self.splits.len() >= inputs.len()
    }

    fn publish(self, parts: &[Vec<TimestampedName>], lock: &UpkeepLock) -> Result<MergedFragments> {
        let SharedMerge { prepared, share, splits } = self;
        let part = prepared.part.clone();
        let names: Vec<TimestampedName> = parts.concat();
        let (new, fragments): (Vec<NewFragment>, Vec<Fragment>) =
            share.sealed(&part, &names)?.into_iter().unzip();
        let cell_count = match part.schema().is_dense() {
            true => boxes(&splits, parts, &fragments)?,
            false => {
                let count: u64 = fragments.iter().filter_map(Fragment::cell_count).sum();
                check_cells(&prepared, count)?;
                count
            }
        };
        lock.confirm()?;
        let merged = prepared.publish(&new, cell_count, &Progress::new())?;
        share.clear(&part, &names);
        Ok(merged)
    }
}

/// Checks that each part of a dense merge has its box, and counts the cells.
fn boxes(splits: &[Split], parts: &[Vec<TimestampedName>], fragments: &[Fragment]) -> Result<u64> {
    let mut cell_count = 0_u64;
    let mut fragments = fragments.iter();
    for (split, names) in splits.iter().zip(parts) {
        let wanted: Vec<Extent> = split.request().ranges.iter().flatten().cloned().collect();
        let found = fragments.next().filter(|_| names.len() == 1);
        let is_its = found.is_some_and(|fragment| fragment.non_empty_domain() == wanted.as_slice());
        if !is_its {
            return Err(Error::invalid(format!(
                "part {} of the consolidation came back with cells of another: nothing was changed",
                split.number()
            )));
        }
        cell_count =
            cell_count.saturating_add(smalti_space::cell_count(&intervals(&wanted)?).unwrap_or(u64::MAX));
    }
    Ok(cell_count)
}

/// Checks that no cell of a sparse merge is missing, and none there twice, where all versions of all cells are kept.
fn check_cells(prepared: &Prepared, cell_count: u64) -> Result<()> {
    let schema = prepared.part.schema();
    let keeps_all = !prepared.purges_cells && schema.write_version().has(Rule::CellTimestamps);
    let held = prepared.part.held_cell_count().filter(|_| keeps_all);
    match held {
        Some(held) if held != cell_count => Err(Error::invalid(format!(
            "the parts of the consolidation hold {cell_count} cells, and what they were made of {held}: nothing was changed"
        ))),
        _ => Ok(()),
    }
}

/// Merges a part of a consolidation: the names of its fragments, for the process that planned it. None when no cell is left.
///
/// # Errors
/// As [`consolidate_fragments`](super::fragments::consolidate_fragments). Nothing is left then.
pub fn merge_part(
    place: &ArrayPlace,
    part: &ConsolidationPart,
    options: &PartOptions,
) -> Result<Vec<String>> {
    let progress = options.progress.clone().unwrap_or_default();
    let _announced = progress.announce(match options.verifies {
        true => &[Phase::Merging, Phase::Verifying],
        false => &[Phase::Merging],
    });
    let snapshot = part.split.snapshot(place)?;
    let request = MergeRequest {
        purges: part.purges,
        memory_byte_len: options.memory_byte_len,
        max_fragment_byte_len: None,
        part: Some(MergePart::new(&part.split, part.share)?),
        progress: Some(Arc::clone(&progress)),
    };
    let merged = merge(&snapshot, &request)?;
    let verified = if options.verifies { verify_merge(&snapshot, &merged, &request) } else { Ok(()) };
    if let Err(error) = verified.and_then(|()| progress.check()) {
        merged.discard();
        return Err(error);
    }
    Ok(merged.fragments.iter().map(|fragment| fragment.name().to_string()).collect())
}
