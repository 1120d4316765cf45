//! Consolidation of fragments: choose, merge, publish.

use super::fit::{Fit, is_same_shape, span};
use super::policy::Choice;
use super::publish::{Published, publish};
use super::verify::verify_merge;
use smalti_array::{ArrayPlace, Fragment, NewFragment, Snapshot, UpkeepLock};
use smalti_format::Attribute;
use smalti_format::names::{CommitKind, commit_file_name};
use smalti_query::{MergeRequest, Phase, Progress, Unit, merge};
use smalti_types::{Error, Result, TimeRange};
use std::ops::Range;
use std::sync::Arc;

/// How fragments are consolidated.
#[derive(Debug, Clone)]
pub struct FragmentOptions {
    /// Which fragments are merged.
    pub choice: Choice,
    /// Only fragments that lie wholly in this range of times are merged.
    pub time: TimeRange,
    /// Leave out deleted cells, also when one fragment is left, and what was dropped from the schema. What was so cannot be
    /// read as of earlier times any more; such reads are refused. A deleted cell stays, marked as deleted, where a fragment that is
    /// not merged may hold an older version of it, which would show again.
    pub purges: bool,
    /// The most bytes that a merge holds at once; `None` for the default of reads.
    pub memory_byte_len: Option<usize>,
    /// Begin another fragment when one has this many bytes of data. Sparse arrays only.
    pub max_fragment_byte_len: Option<u64>,
    /// Read every merge back before it is published, and check that it shows what its inputs show.
    pub verifies: bool,
    /// Where merges tell how far they are, and listen for the word to stop.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl Default for FragmentOptions {
    fn default() -> Self {
        FragmentOptions {
            choice: Choice::default(),
            time: TimeRange::ALL,
            purges: false,
            memory_byte_len: None,
            max_fragment_byte_len: None,
            verifies: true,
            progress: None,
            more: (),
        }
    }
}

/// Fragments that are to become one.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// Their names, oldest first.
    pub inputs: Vec<String>,
    /// The file name of the schema that the merged fragment is written with.
    pub schema_name: String,
    /// The bytes of the inputs.
    pub read_byte_len: u64,
    /// About the bytes that will be written.
    pub write_byte_len: u64,
}

/// What a consolidation would do.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FragmentPlan {
    /// The merges, oldest fragments first. A consolidation in several steps is planned for its first step.
    pub merges: Vec<Merge>,
}

/// A merge that was carried out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MergedFragments {
    /// The names of what was merged, oldest first.
    pub inputs: Vec<String>,
    /// The names of the new fragments: one, or more where their bytes are limited, or none when all cells were purged.
    pub outputs: Vec<String>,
    /// Whether deleted cells were left out. If not, although it was asked for, they may hide older versions in other fragments.
    pub purged: bool,
    /// The cells that were written, every version counted.
    pub cell_count: u64,
    /// The bytes of the inputs.
    pub read_byte_len: u64,
}

/// What a consolidation did.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Consolidation {
    /// The merges, in their order.
    pub merges: Vec<MergedFragments>,
}

/// Says what a consolidation of fragments would merge.
///
/// # Errors
/// As [`consolidate_fragments`].
pub fn plan_fragments(snapshot: &Snapshot, options: &FragmentOptions) -> Result<FragmentPlan> {
    let fit = Fit::new(snapshot, options.time, options.purges);
    let mut sets: Vec<Vec<usize>> = match &options.choice {
        Choice::Tiered(tiers) => {
            tiers.check()?;
            tiers.choose(&fit)?.into_iter().map(Range::collect).collect()
        }
        Choice::Steps(steps) => {
            steps.check()?;
            let is_due = steps.count > 0;
            is_due
                .then(|| steps.choose(&fit))
                .transpose()?
                .flatten()
                .into_iter()
                .map(Range::collect)
                .collect()
        }
        Choice::Listed(names) => vec![listed(&fit, names)?],
    };
    sets.retain(|set| set.len() > 1);
    if options.purges {
        add_lone(snapshot, &fit, &mut sets)?;
    }
    let merges = sets.iter().map(|set| {
        let schema_name = fit.check_places(set)?;
        let inputs: Vec<Arc<Fragment>> =
            set.iter().flat_map(|&place| fit.fragments(place..place + 1)).collect();
        let read_byte_len = inputs.iter().map(|input| input.data_byte_len()).sum();
        let factor = match (set.first(), set.last()) {
            (Some(first), Some(last)) => fit.amplification(*first..last + 1)?,
            _ => 1.0,
        };
        Ok(Merge {
            inputs: inputs.iter().map(|input| input.name().to_string()).collect(),
            schema_name,
            read_byte_len,
            write_byte_len: (read_byte_len as f64 * factor.min(1.0)) as u64,
        })
    });
    Ok(FragmentPlan { merges: merges.collect::<Result<_>>()? })
}

/// Merges fragments of an array. After an error, or when it is stopped, the merge under way has left nothing; those before are
/// complete.
///
/// # Errors
/// `InvalidArgument` for fragments that are not there, or that cannot be merged without changing the array; `Io` when another
/// consolidation is running; `Cancelled`; what reading and writing report.
pub fn consolidate_fragments(place: &ArrayPlace, options: &FragmentOptions) -> Result<Consolidation> {
    let progress = options.progress.clone().unwrap_or_default();
    let _announced = progress.announce(match options.verifies {
        true => &[Phase::Choosing, Phase::Merging, Phase::Verifying, Phase::Publishing],
        false => &[Phase::Choosing, Phase::Merging, Phase::Publishing],
    });
    let lock = place.upkeep_lock()?;
    let mut done = Consolidation::default();
    let step_count = match &options.choice {
        Choice::Steps(steps) => steps.count,
        _ => 1,
    };
    for _ in 0..step_count {
        progress.enter(Phase::Choosing, Unit::Steps, Some(2));
        let snapshot = Snapshot::open(place.clone(), TimeRange::ALL)?;
        progress.reach(Phase::Choosing, Unit::Steps, 1);
        let plan = plan_fragments(&snapshot, options)?;
        progress.complete(Phase::Choosing);
        if plan.merges.is_empty() {
            break;
        }
        let merge_count = plan.merges.len() as u64;
        for (number, planned) in (1..).zip(plan.merges) {
            progress.check()?;
            progress.part(number, merge_count);
            done.merges.push(carry_out(&snapshot, planned, options, &lock, &progress)?);
        }
    }
    Ok(done)
}

/// A planned merge with what is read for it.
pub(super) struct Prepared {
    pub(super) planned: Merge,
    /// The array as if it had only what is merged.
    pub(super) part: Snapshot,
    pub(super) time: TimeRange,
    /// Whether deleted cells are left out.
    pub(super) purges_cells: bool,
    /// See [`purged_at`].
    pub(super) purged_at: Option<u64>,
}

impl Prepared {
    pub(super) fn new(snapshot: &Snapshot, planned: Merge, purges: bool) -> Result<Self> {
        let is_input =
            |fragment: &&Arc<Fragment>| planned.inputs.iter().any(|name| name == fragment.name().as_str());
        let inputs: Vec<Arc<Fragment>> = snapshot.fragments().iter().filter(is_input).cloned().collect();
        let time = span(&inputs.iter().map(|input| &**input).collect::<Vec<_>>());
        let purges_cells = purges && !may_hide_others(snapshot, &inputs);
        let part = snapshot.of_fragments(inputs, &planned.schema_name)?;
        let purged_at = if purges { purged_at(snapshot, &part, time, purges_cells)? } else { None };
        Ok(Prepared { planned, part, time, purges_cells, purged_at })
    }

    /// Makes the merged fragments visible in place of the others.
    pub(super) fn publish(
        self,
        merged: &[NewFragment],
        cell_count: u64,
        progress: &Progress,
    ) -> Result<MergedFragments> {
        progress.enter(Phase::Publishing, Unit::Fragments, Some(merged.len() as u64));
        publish(&self.part, &Published { merged, time: self.time, purged_at: self.purged_at })?;
        progress.complete(Phase::Publishing);
        Ok(MergedFragments {
            outputs: merged.iter().map(|fragment| fragment.name().to_string()).collect(),
            inputs: self.planned.inputs,
            purged: self.purges_cells,
            cell_count,
            read_byte_len: self.planned.read_byte_len,
        })
    }
}

fn carry_out(
    snapshot: &Snapshot,
    planned: Merge,
    options: &FragmentOptions,
    lock: &UpkeepLock,
    progress: &Arc<Progress>,
) -> Result<MergedFragments> {
    let prepared = Prepared::new(snapshot, planned, options.purges)?;
    let part = &prepared.part;
    let request = MergeRequest {
        purges: prepared.purges_cells,
        memory_byte_len: options.memory_byte_len,
        max_fragment_byte_len: options.max_fragment_byte_len.filter(|_| !part.schema().is_dense()),
        part: None,
        progress: Some(Arc::clone(progress)),
    };
    let merged = merge(part, &request)?;
    let verified = if options.verifies { verify_merge(part, &merged, &request) } else { Ok(()) };
    if let Err(error) = verified.and_then(|()| progress.check()).and_then(|()| lock.confirm()) {
        merged.discard();
        return Err(error);
    }
    prepared.publish(&merged.fragments, merged.cell_count, progress)
}

/// The time from which on a purged fragment shows what its inputs showed: that of the latest delete or change of the schema that
/// took something out.
fn purged_at(
    snapshot: &Snapshot,
    part: &Snapshot,
    time: TimeRange,
    purges_cells: bool,
) -> Result<Option<u64>> {
    let deletes = snapshot.deletes()?.iter().map(|delete| delete.at());
    let deletes = deletes.filter(|at| purges_cells && *at >= time.start).max();
    let schema = part.schema();
    let drops = |fragment: &Arc<Fragment>| {
        let is_there =
            |own: &Attribute| schema.attribute(&own.name).is_some_and(|(_, found)| is_same_shape(own, found));
        !fragment.schema().attributes.iter().all(is_there)
    };
    let evolved = part.fragments().iter().any(drops).then(|| {
        let name = smalti_format::names::TimestampedName::parse(part.schema_name());
        name.map_or(0, |name| name.range().end)
    });
    Ok(deletes.max(evolved))
}

/// The places of fragments that were asked for by name.
fn listed(fit: &Fit<'_>, names: &[String]) -> Result<Vec<usize>> {
    let mut places = names
        .iter()
        .map(|name| {
            let name = smalti_format::names::last_part(name);
            fit.place(name).ok_or_else(|| {
                Error::invalid(format!(
                    "there is no fragment {name:?} to merge; `smalti fragments` lists those that are"
                ))
            })
        })
        .collect::<Result<Vec<_>>>()?;
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// Adds fragments that nothing is merged with but of which cells can be purged.
fn add_lone(snapshot: &Snapshot, fit: &Fit<'_>, sets: &mut Vec<Vec<usize>>) -> Result<()> {
    if snapshot.schema().is_dense() {
        return Ok(());
    }
    for place in 0..fit.byte_lens().len() {
        if sets.iter().any(|set| set.contains(&place)) {
            continue;
        }
        let fragments = fit.fragments(place..place + 1);
        let mut is_due = false;
        for fragment in &fragments {
            is_due |= has_deleted_cells(snapshot, fragment)?;
        }
        is_due &= !may_hide_others(snapshot, &fragments);
        if is_due {
            sets.push(vec![place]);
        }
    }
    sets.sort();
    Ok(())
}

/// Whether cells of some fragments may hide older versions in others.
fn may_hide_others(snapshot: &Snapshot, fragments: &[Arc<Fragment>]) -> bool {
    let schema = snapshot.schema();
    if schema.is_dense() || schema.allows_dups {
        return false;
    }
    let is_among = |other: &Arc<Fragment>| fragments.iter().any(|fragment| fragment.name() == other.name());
    let mut others = snapshot.fragments().iter().filter(|other| !is_among(other));
    others.any(|other| {
        fragments.iter().any(|fragment| {
            let mut sides = fragment.non_empty_domain().iter().zip(other.non_empty_domain());
            other.time().start <= fragment.time().end && sides.all(|(a, b)| a.as_ref().overlaps(b.as_ref()))
        })
    })
}

/// Whether a fragment says of cells that they were deleted, or a delete that it does not know of may have met some.
fn has_deleted_cells(snapshot: &Snapshot, fragment: &Fragment) -> Result<bool> {
    if fragment.outline().includes_delete_metadata {
        return Ok(true);
    }
    let processed = fragment.processed_deletes()?;
    for delete in snapshot.deletes()? {
        let file = commit_file_name(&delete.name, CommitKind::Delete, delete.name.fragment_version()?);
        if delete.at() >= fragment.time().start && !processed.contains(&file) {
            return Ok(true);
        }
    }
    Ok(false)
}
