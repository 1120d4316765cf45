//! Vacuum of fragments.
//!
//! Order: what will be gone of the array's history is written down; an ignore file takes back commits that stand in consolidated
//! files; commit files are unlinked. Up to here readers see no change, as the vacuum files hide the fragments all the time. Then the
//! folders go, and the vacuum files last: as long as one of the fragments that it lists is there, it stays.

use crate::Report;
use crate::consolidate::{finish_pending, ignore_taken};
use crate::retire::take_back_commits;
use smalti_array::{
    ArrayPlace, CommitPlace, Commits, ListedVacuum, Listing, ReplacedFragment, gone_file, purged_at,
};
use smalti_format::Rule;
use smalti_format::names::{TimestampedName, gone_path};
use smalti_query::{Phase, Progress, Unit};
use smalti_types::{ErrorKind, Result, TimeRange};
use std::collections::HashSet;
use std::sync::Arc;

/// Folders that are removed between two questions whether to go on.
const FOLDERS_AT_ONCE: usize = 64;

/// How fragments are vacuumed.
#[derive(Debug, Clone)]
pub struct VacuumOptions {
    /// Only what was replaced by fragments that lie in this range of times is removed.
    pub time: TimeRange,
    /// Say what would be removed, and remove nothing.
    pub is_dry_run: bool,
    /// Remove fragments although snapshots of the array are open on this machine, whose reads will fail then.
    pub ignores_readers: bool,
    /// Where the vacuum tells how far it is, and listens for the word to stop. What it has not removed by then stays hidden, and the
    /// next vacuum goes on.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl Default for VacuumOptions {
    fn default() -> Self {
        VacuumOptions {
            time: TimeRange::ALL,
            is_dry_run: false,
            ignores_readers: false,
            progress: None,
            more: (),
        }
    }
}

/// What a vacuum removed, or would remove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VacuumedFragments {
    /// The names of fragments.
    pub fragments: Vec<String>,
    /// Their bytes on disk.
    pub byte_len: u64,
    /// The paths of vacuum files, relative to the array.
    pub vacuum_files: Vec<String>,
    /// The times of writes that are not told apart any more without what is removed: merged fragments whose cells have no times of
    /// their own, such as those of dense arrays. Reads as of a time inside of such a range are refused afterwards.
    pub lost_history: Vec<TimeRange>,
    /// Nothing was removed, because snapshots of the array are open: vacuum again when they are closed.
    pub waits_for_readers: bool,
}

/// Removes fragments that others replace.
///
/// # Errors
/// `Io` when another consolidation or vacuum is running; `Cancelled`; what the store reports. What was not removed is still hidden
/// then, and the next vacuum goes on.
pub fn vacuum_fragments(place: &ArrayPlace, options: &VacuumOptions) -> Result<VacuumedFragments> {
    let progress = options.progress.clone().unwrap_or_default();
    let _announced = progress.announce(&[Phase::Choosing, Phase::Removing]);
    let is_dense = place.newest_schema()?.is_dense();
    let lock = if options.is_dry_run { None } else { Some(place.upkeep_lock()?) };
    let listing = Listing::read(place, TimeRange::ALL, is_dense)?;
    if !options.is_dry_run {
        finish_pending(place, &listing)?;
    }
    let listing = Listing::read(place, TimeRange::ALL, is_dense)?;
    let due = Due::of(&listing, options);
    let report = due.report(place, &listing, is_dense, &progress)?;
    if options.is_dry_run || due.vacuums.is_empty() {
        return Ok(report);
    }
    let away = if options.ignores_readers { None } else { place.readers_away()? };
    if away.is_none() && !options.ignores_readers {
        return Ok(VacuumedFragments { waits_for_readers: true, ..VacuumedFragments::default() });
    }
    progress.check()?;
    progress.enter(Phase::Removing, Unit::Fragments, Some(due.fragments.len() as u64));
    due.tell_what_goes(place, &listing, is_dense)?;
    let commits: Vec<(&TimestampedName, &CommitPlace)> =
        due.fragments.iter().map(|replaced| (&replaced.fragment.name, &replaced.commit)).collect();
    if let Some(lock) = &lock {
        lock.confirm()?;
    }
    take_back_commits(place, &commits)?;
    // Snapshots that are opened from here on do not know the fragments.
    drop(away);
    let folders: Vec<String> = due.fragments.iter().map(|replaced| replaced.fragment.path(place)).collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    for folders in folders.chunks(FOLDERS_AT_ONCE) {
        progress.check()?;
        place.store().delete_folders(folders)?;
        progress.advance(Phase::Removing, Unit::Fragments, folders.len() as u64);
    }
    let taken = due.fragments.iter().map(|replaced| &replaced.fragment.name);
    ignore_taken(place, taken, &mut Report::default())?;
    let files: Vec<String> = due.vacuums.iter().map(|vacuum| place.join(&vacuum.path)).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    place.store().delete_files(&files)?;
    due.forget_gone(place, is_dense)?;
    Ok(report)
}

/// What is to be removed.
struct Due<'a> {
    vacuums: Vec<&'a ListedVacuum>,
    fragments: Vec<&'a ReplacedFragment>,
}

impl<'a> Due<'a> {
    /// A vacuum finishes consolidations that were cut short; a dry run counts on that, and takes pending vacuum files for finished.
    fn of(listing: &'a Listing, options: &VacuumOptions) -> Self {
        let counts = |vacuum: &&ListedVacuum| {
            let has_proper =
                || listing.vacuums.iter().any(|other| !other.is_pending && other.name == vacuum.name);
            !vacuum.is_pending || (options.is_dry_run && !has_proper())
        };
        let vacuums: Vec<&ListedVacuum> = listing
            .vacuums
            .iter()
            .filter(|vacuum| counts(vacuum) && options.time.contains(vacuum.name.range()))
            .collect();
        let names: HashSet<&str> =
            vacuums.iter().flat_map(|vacuum| &vacuum.replaces).map(String::as_str).collect();
        let is_due = |replaced: &&ReplacedFragment| names.contains(replaced.fragment.name.as_str());
        let fragments = listing.replaced.iter().filter(is_due).collect();
        Due { vacuums, fragments }
    }

    fn report(
        &self,
        place: &ArrayPlace,
        listing: &Listing,
        is_dense: bool,
        progress: &Progress,
    ) -> Result<VacuumedFragments> {
        let mut byte_len = 0;
        let present: Vec<_> = self.fragments.iter().filter(|replaced| replaced.is_present).collect();
        progress.enter(Phase::Choosing, Unit::Fragments, Some(present.len() as u64));
        for replaced in present {
            progress.check()?;
            progress.advance(Phase::Choosing, Unit::Fragments, 1);
            for entry in place.store().list_recursive(&replaced.fragment.path(place))? {
                byte_len += entry.byte_len;
            }
        }
        Ok(VacuumedFragments {
            fragments: self.fragments.iter().map(|replaced| replaced.fragment.name.to_string()).collect(),
            byte_len,
            vacuum_files: self.vacuums.iter().map(|vacuum| vacuum.path.clone()).collect(),
            lost_history: self.merged_times(listing, is_dense)?.iter().map(|name| name.range()).collect(),
            waits_for_readers: false,
        })
    }

    /// The merged fragments of which the times cannot be told apart without what they replace: those of which cells have no times of
    /// their own.
    fn merged_times(&self, listing: &Listing, is_dense: bool) -> Result<Vec<&'a TimestampedName>> {
        let mut merged = Vec::new();
        for vacuum in &self.vacuums {
            let TimeRange { start, end } = vacuum.name.range();
            let tells_times = !is_dense && vacuum.name.fragment_version()?.has(Rule::CellTimestamps);
            // One that is replaced itself still speaks for its times until its own commit goes, which may be after those that it replaces.
            let mut replaced = listing.replaced.iter().filter(|replaced| replaced.is_present);
            let is_there = listing.fragments.iter().any(|fragment| fragment.name == vacuum.name)
                || replaced.any(|replaced| replaced.fragment.name == vacuum.name);
            if !tells_times && start != end && is_there {
                merged.push(&vacuum.name);
            }
        }
        Ok(merged)
    }

    /// Writes down which merged fragments cannot be told apart any more.
    fn tell_what_goes(&self, place: &ArrayPlace, listing: &Listing, is_dense: bool) -> Result<()> {
        for name in self.merged_times(listing, is_dense)? {
            let path = place.join(&gone_path(name, name.fragment_version()?));
            match place.store().put(&path, &[gone_file(None).as_bytes()]) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes what was written down of fragments that are gone themselves. That cells were purged stays written down until
    /// a later purge of the same times says it too.
    fn forget_gone(&self, place: &ArrayPlace, is_dense: bool) -> Result<()> {
        let written = Commits::read(place)?.gone;
        let mut purges: Vec<(TimestampedName, u64)> = Vec::new();
        for (name, path) in &written {
            purges.extend(purged_at(place, path)?.map(|at| (name.clone(), at)));
        }
        let is_needed = |name: &TimestampedName| {
            let own = purges.iter().find(|(purged, _)| purged == name);
            own.is_some_and(|(_, at)| {
                !purges.iter().any(|(other, later)| {
                    other.range() != name.range() && other.range().contains(name.range()) && later >= at
                })
            })
        };
        let is_removed = |name: &TimestampedName| self.fragments.iter().any(|old| old.fragment.name == *name);
        // The first fragment of a merge by several processes speaks for the others.
        let left = Listing::read(place, TimeRange::ALL, is_dense)?;
        let has_others =
            |name: &TimestampedName| left.fragments.iter().any(|other| other.name.is_kin_of(name));
        let files: Vec<String> = written
            .iter()
            .filter(|(name, _)| is_removed(name) && !has_others(name) && !is_needed(name))
            .map(|(_, path)| place.join(path))
            .collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        place.store().delete_files(&files)
    }
}
