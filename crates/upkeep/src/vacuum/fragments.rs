//! Vacuum of fragments.
//!
//! Order: what will be gone of the array's history is written down; an ignore file takes back commits that stand in consolidated
//! files; commit files are unlinked. Up to here readers see no change, as the vacuum files hide the fragments all the time. Then the
//! folders go, and the vacuum files last: as long as one of the fragments that it lists is there, it stays.
//!
//! Where nothing can be locked, the folders stay for a while after the commits: see [`grace`].

use crate::Report;
use crate::consolidate::{finish_pending, ignore_taken};
use crate::grace::{self, Retired};
use crate::retire::take_back_commits;
use smalti_array::{
    ArrayPlace, CommitPlace, Commits, ListedVacuum, Listing, ReadersAway, ReplacedFragment, UpkeepLock,
    gone_file, purged_at,
};
use smalti_format::Rule;
use smalti_format::names::{TimestampedName, gone_path};
use smalti_query::{Phase, Progress, Unit};
use smalti_types::{ErrorKind, Result, TimeRange};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

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
    /// How long a read may take where nothing can be locked, as in object stores: so long files of fragments stay after the vacuum that
    /// took their commits back, and the next one after that removes them. Zero removes them at once. Where there are locks it does not count.
    pub keeps_for: Duration,
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
            keeps_for: grace::KEPT_FOR,
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
    /// The names of fragments that nobody finds any more, but whose files stay for readers that may have them open: vacuum again when
    /// [`keeps_for`](VacuumOptions::keeps_for) is over.
    pub kept_for_readers: Vec<String>,
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
    let Some(lock) = lock else { return due.report(place, &listing, is_dense, &progress) };
    let work = Work { place, listing: &listing, is_dense, progress: &progress, lock: &lock };
    if options.ignores_readers {
        return due.remove(&work, None);
    }
    match place.readers_away() {
        Err(error) if error.kind() == ErrorKind::Unsupported => match options.keeps_for {
            Duration::ZERO => due.remove(&work, None),
            keeps_for => due.retire(&work, keeps_for),
        },
        Err(error) => Err(error),
        Ok(None) if due.vacuums.is_empty() => Ok(VacuumedFragments::default()),
        Ok(None) => Ok(VacuumedFragments { waits_for_readers: true, ..VacuumedFragments::default() }),
        Ok(away) => due.remove(&work, away),
    }
}

/// What a vacuum works on.
struct Work<'a> {
    place: &'a ArrayPlace,
    listing: &'a Listing,
    is_dense: bool,
    progress: &'a Progress,
    lock: &'a UpkeepLock,
}

fn commits_of<'a>(fragments: &[&'a ReplacedFragment]) -> Vec<(&'a TimestampedName, &'a CommitPlace)> {
    fragments.iter().map(|replaced| (&replaced.fragment.name, &replaced.commit)).collect()
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

    /// Removes everything at once: nobody reads it.
    fn remove(&self, work: &Work<'_>, away: Option<ReadersAway>) -> Result<VacuumedFragments> {
        let Work { place, listing, is_dense, progress, .. } = *work;
        let report = self.report(place, listing, is_dense, progress)?;
        // Where there are locks, there are no lists.
        let retired = if away.is_some() { Retired::default() } else { Retired::read(place)? };
        let mut retired_names = retired.due_names(Duration::ZERO, listing);
        retired_names.retain(|name| !self.fragments.iter().any(|old| old.fragment.name == **name));
        if self.vacuums.is_empty() && retired_names.is_empty() {
            return Ok(report);
        }
        progress.check()?;
        progress.enter(Phase::Removing, Unit::Fragments, Some(self.fragments.len() as u64));
        self.tell_what_goes(place, listing, is_dense)?;
        work.lock.confirm()?;
        take_back_commits(place, &commits_of(&self.fragments))?;
        // Snapshots that are opened from here on do not know the fragments.
        drop(away);
        let names: Vec<&TimestampedName> =
            self.fragments.iter().map(|replaced| &replaced.fragment.name).chain(retired_names).collect();
        self.remove_folders(work, &names)?;
        let mut files: Vec<String> = self.vacuums.iter().map(|vacuum| place.join(&vacuum.path)).collect();
        files.extend(retired.due_lists(Duration::ZERO).into_iter().map(str::to_owned));
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        place.store().delete_files(&files)?;
        self.forget_gone(place, is_dense, |_| true)?;
        Ok(report)
    }

    /// Takes back the commits of what is to go, and removes what was taken back so long ago.
    fn retire(&self, work: &Work<'_>, keeps_for: Duration) -> Result<VacuumedFragments> {
        let Work { place, listing, is_dense, progress, .. } = *work;
        let retired = Retired::read(place)?;
        let is_retired =
            |old: &ReplacedFragment| old.commit == CommitPlace::Nowhere && retired.has(&old.fragment.name);
        let new: Vec<&ReplacedFragment> =
            self.fragments.iter().filter(|old| !is_retired(old)).copied().collect();
        let due: HashSet<&TimestampedName> = retired.due_names(keeps_for, listing).into_iter().collect();
        let lost_history = match new.is_empty() {
            true => Vec::new(),
            false => self.merged_times(listing, is_dense)?.iter().map(|name| name.range()).collect(),
        };
        if self.vacuums.is_empty() && retired.is_empty() {
            return Ok(VacuumedFragments::default());
        }
        retired.check_times(place)?;
        progress.check()?;
        progress.enter(Phase::Removing, Unit::Fragments, Some(due.len() as u64));
        if !new.is_empty() {
            grace::check_can_be_retired(place, new.iter().map(|old| &old.fragment.name))?;
            self.tell_what_goes(place, listing, is_dense)?;
            work.lock.confirm()?;
            take_back_commits(place, &commits_of(&new))?;
            // From here on nobody finds the fragments. The time of the list is later than every reader who does.
            grace::retire(place, new.iter().map(|old| &old.fragment.name))?;
        }
        let mut report = VacuumedFragments { lost_history, ..VacuumedFragments::default() };
        let stays = |old: &&ReplacedFragment| old.is_present && !due.contains(&old.fragment.name);
        let staying = self.fragments.iter().copied().filter(stays);
        report.kept_for_readers = staying.map(|old| old.fragment.name.to_string()).collect();
        let staying: HashSet<&str> = report.kept_for_readers.iter().map(String::as_str).collect();
        let is_done =
            |vacuum: &&&ListedVacuum| !vacuum.replaces.iter().any(|name| staying.contains(name.as_str()));
        report.vacuum_files = self.vacuums.iter().filter(is_done).map(|vacuum| vacuum.path.clone()).collect();
        if due.is_empty() && report.vacuum_files.is_empty() {
            return Ok(report);
        }
        let mut names: Vec<&TimestampedName> = due.iter().copied().collect();
        names.sort();
        for name in &names {
            progress.check()?;
            let files = place.store().list_recursive(&grace::folder(place, name)?)?;
            report.byte_len += files.iter().map(|entry| entry.byte_len).sum::<u64>();
            report.fragments.extend((!files.is_empty()).then(|| name.to_string()));
        }
        work.lock.confirm()?;
        self.remove_folders(work, &names)?;
        let files: Vec<String> = report.vacuum_files.iter().map(|path| place.join(path)).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        place.store().delete_files(&files)?;
        self.forget_gone(place, is_dense, |name| due.contains(name))?;
        // Last, so that what a crash left is still known to be old.
        place.store().delete_files(&retired.due_lists(keeps_for))?;
        Ok(report)
    }

    /// Removes the folders of fragments whose commits are gone.
    fn remove_folders(&self, work: &Work<'_>, names: &[&TimestampedName]) -> Result<()> {
        let Work { place, progress, .. } = *work;
        let folders = names.iter().map(|name| grace::folder(place, name));
        let folders: Vec<String> = folders.collect::<Result<_>>()?;
        let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
        for folders in folders.chunks(FOLDERS_AT_ONCE) {
            progress.check()?;
            place.store().delete_folders(folders)?;
            progress.advance(Phase::Removing, Unit::Fragments, folders.len() as u64);
        }
        ignore_taken(place, names.iter().copied(), &mut Report::default())
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
            ..VacuumedFragments::default()
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
    fn forget_gone(
        &self,
        place: &ArrayPlace,
        is_dense: bool,
        went: impl Fn(&TimestampedName) -> bool,
    ) -> Result<()> {
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
        let is_removed = |name: &TimestampedName| {
            went(name) && self.fragments.iter().any(|old| old.fragment.name == *name)
        };
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
