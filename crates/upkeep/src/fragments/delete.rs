//! Deleting fragments, with the cells that they alone have.
//!
//! Order: commits are taken back, with those of what the fragments replace, all at one moment; then the folders go, the vacuum files, and
//! what is written down of the history. After a crash the rest is an orphan: nothing that was replaced comes back. Before version
//! 12, which has no consolidated commits, one commit goes after the other, those of what is replaced first, while the
//! vacuum file still hides it.
//!
//! Where nothing can be locked, the folders stay until a vacuum after the time in which readers may have them open: see [`grace`].

use crate::Report;
use crate::consolidate::{finish_pending, ignore_taken};
use crate::grace::{self, Retired};
use crate::retire::take_back_at_once;
use smalti_array::{
    ArrayPlace, CommitPlace, Commits, ListedFragment, ListedVacuum, Listing, ReplacedFragment, purged_at,
};
use smalti_format::Rule;
use smalti_format::names::{CommitKind, FRAGMENT_METADATA_FILE, TimestampedName, last_part};
use smalti_query::{Phase, Progress, Unit};
use smalti_store::{Store, StoreExt, join};
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;
use std::sync::Arc;

/// Which fragments are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FragmentChoice {
    /// These, by the names of their folders.
    Named(Vec<String>),
    /// Those whose times lie wholly in a range.
    Within(TimeRange),
}

/// Which fragments are deleted, and how.
#[derive(Debug, Clone)]
pub struct FragmentDeletion {
    /// Which ones.
    pub choice: FragmentChoice,
    /// Say what would be deleted, and delete nothing.
    pub is_dry_run: bool,
    /// Delete although snapshots of the array are open on this machine, whose reads will fail then.
    pub ignores_readers: bool,
    /// Where the deletion tells how far it is, and listens for the word to stop, as long as nothing is deleted.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl FragmentDeletion {
    /// The deletion of some fragments, which waits for readers.
    pub fn of(choice: FragmentChoice) -> Self {
        FragmentDeletion { choice, is_dry_run: false, ignores_readers: false, progress: None, more: () }
    }
}

/// What was deleted, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletedFragments {
    /// The names of the fragments, oldest first.
    pub fragments: Vec<String>,
    /// The names of those that they had replaced and that no vacuum had removed yet.
    pub replaced: Vec<String>,
    /// The bytes of all of these on disk.
    pub byte_len: u64,
    /// Nothing was deleted, because snapshots of the array are open: delete again when they are closed.
    pub waits_for_readers: bool,
    /// Nobody finds the fragments any more, but their files stay for readers that may have them open: nothing can be locked here, and a vacuum
    /// removes them [later](crate::VacuumOptions::keeps_for).
    pub is_kept_for_readers: bool,
}

/// Deletes visible fragments, and with them what they replace: the cells do not come back in their older form.
///
/// # Errors
/// `InvalidArgument` for names that are not those of visible fragments, and then nothing is deleted; `Io` when a consolidation or
/// vacuum is running; what the store reports: then all of them are there still, before version 12 a part of them, unless the
/// message says that they are deleted.
pub fn delete_fragments(place: &ArrayPlace, deletion: &FragmentDeletion) -> Result<DeletedFragments> {
    let is_dense = place.newest_schema()?.is_dense();
    let lock = if deletion.is_dry_run { None } else { Some(place.upkeep_lock()?) };
    let mut listing = Listing::read(place, TimeRange::ALL, is_dense)?;
    if !deletion.is_dry_run {
        finish_pending(place, &listing)?;
        listing = Listing::read(place, TimeRange::ALL, is_dense)?;
    }
    let progress = deletion.progress.clone().unwrap_or_default();
    let _announced = progress.announce(&[Phase::Choosing, Phase::Removing]);
    let doomed = Doomed::of(&listing, &deletion.choice)?;
    let mut report = doomed.report(place, &progress)?;
    if deletion.is_dry_run || doomed.fragments.is_empty() {
        return Ok(report);
    }
    let asked = if deletion.ignores_readers { None } else { Some(place.readers_away()) };
    let away = match asked.transpose() {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            Retired::read(place)?.check_times(place)?;
            grace::check_can_be_retired(place, doomed.names())?;
            report.is_kept_for_readers = true;
            None
        }
        Ok(Some(None)) => {
            return Ok(DeletedFragments { waits_for_readers: true, ..DeletedFragments::default() });
        }
        away => away?.flatten(),
    };
    progress.check()?;
    progress.enter(Phase::Removing, Unit::Fragments, Some(doomed.names().count() as u64));
    if let Some(lock) = &lock {
        lock.confirm()?;
    }
    doomed.take_back(place)?;
    drop(away);
    let removed = match report.is_kept_for_readers {
        true => grace::retire(place, doomed.names()).and_then(|()| doomed.forget(place)),
        false => doomed.remove(place),
    };
    removed.map_err(|error| {
        error.context("the fragments are deleted, but files of theirs that nobody sees are left; `smalti fsck` lists them")
    })?;
    progress.complete(Phase::Removing);
    Ok(report)
}

/// What is to be deleted.
struct Doomed<'a> {
    fragments: Vec<&'a ListedFragment>,
    replaced: Vec<&'a ReplacedFragment>,
    vacuums: Vec<&'a ListedVacuum>,
}

impl<'a> Doomed<'a> {
    fn of(listing: &'a Listing, choice: &FragmentChoice) -> Result<Self> {
        let fragments: Vec<&ListedFragment> = match choice {
            FragmentChoice::Within(time) => {
                listing.fragments.iter().filter(|fragment| time.contains(fragment.name.range())).collect()
            }
            FragmentChoice::Named(names) => {
                let wanted =
                    names.iter().map(|name| find(listing, last_part(name)).map(|at| at.name.as_str()));
                let wanted = wanted.collect::<Result<HashSet<&str>>>()?;
                listing.fragments.iter().filter(|fragment| wanted.contains(fragment.name.as_str())).collect()
            }
        };
        let mut names: HashSet<&str> = fragments.iter().map(|fragment| fragment.name.as_str()).collect();
        let mut vacuums: Vec<&ListedVacuum> = Vec::new();
        // What was replaced may itself have replaced others.
        loop {
            let is_next = |vacuum: &&ListedVacuum| {
                names.contains(vacuum.name.as_str()) && !vacuums.iter().any(|known| known.path == vacuum.path)
            };
            let next: Vec<&ListedVacuum> = listing.vacuums.iter().filter(is_next).collect();
            if next.is_empty() {
                break;
            }
            names.extend(next.iter().flat_map(|vacuum| &vacuum.replaces).map(String::as_str));
            vacuums.extend(next);
        }
        let is_replaced = |old: &&ReplacedFragment| names.contains(old.fragment.name.as_str());
        Ok(Doomed { replaced: listing.replaced.iter().filter(is_replaced).collect(), fragments, vacuums })
    }

    fn names(&self) -> impl Iterator<Item = &'a TimestampedName> {
        let replaced = self.replaced.iter().map(|old| &old.fragment.name);
        replaced.chain(self.fragments.iter().map(|fragment| &fragment.name))
    }

    fn folders(&self, place: &ArrayPlace) -> impl Iterator<Item = String> {
        let replaced = self.replaced.iter().map(|old| old.fragment.path(place));
        replaced.chain(self.fragments.iter().map(|fragment| fragment.path(place)))
    }

    fn report(&self, place: &ArrayPlace, progress: &Progress) -> Result<DeletedFragments> {
        progress.enter(Phase::Choosing, Unit::Fragments, Some(self.names().count() as u64));
        let mut byte_len = 0;
        let gone = self.replaced.iter().filter(|old| !old.is_present).map(|old| old.fragment.path(place));
        let gone: HashSet<String> = gone.collect();
        for folder in self.folders(place) {
            progress.check()?;
            progress.advance(Phase::Choosing, Unit::Fragments, 1);
            if gone.contains(&folder) {
                continue;
            }
            byte_len +=
                place.store().list_recursive(&folder)?.iter().map(|entry| entry.byte_len).sum::<u64>();
        }
        Ok(DeletedFragments {
            fragments: self.fragments.iter().map(|fragment| fragment.name.to_string()).collect(),
            replaced: self.replaced.iter().map(|old| old.fragment.name.to_string()).collect(),
            byte_len,
            ..DeletedFragments::default()
        })
    }

    fn take_back(&self, place: &ArrayPlace) -> Result<()> {
        let all = Commits::read(place)?;
        let own = self.fragments.iter().map(|fragment| commit_of(&all, &fragment.name));
        let own = own.collect::<Result<Vec<CommitPlace>>>()?;
        let mut commits: Vec<(&TimestampedName, &CommitPlace)> =
            self.replaced.iter().map(|old| (&old.fragment.name, &old.commit)).collect();
        commits.extend(self.fragments.iter().map(|fragment| &fragment.name).zip(&own));
        take_back_at_once(place, &commits)?;
        // Before version 5 the metadata file is the commit.
        let mut files = Vec::new();
        let names = commits.iter().map(|(name, _)| *name);
        for (name, folder) in names.zip(self.folders(place)) {
            let file = join(&folder, FRAGMENT_METADATA_FILE);
            if !name.fragment_version()?.has(Rule::CommitFiles) && place.store().file_exists(&file)? {
                files.push(file);
            }
        }
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        place.store().delete_files(&files)
    }

    /// Removes what nobody sees any more.
    fn remove(&self, place: &ArrayPlace) -> Result<()> {
        let folders: Vec<String> = self.folders(place).collect();
        let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
        place.store().delete_folders(&folders)?;
        ignore_taken(place, self.names(), &mut Report::default())?;
        self.forget(place)
    }

    /// Removes vacuum files, and what is written down of the history of fragments that are no more. That cells were purged stays
    /// written down: it is told of times, whatever became of the fragments.
    fn forget(&self, place: &ArrayPlace) -> Result<()> {
        let mut files: Vec<String> = self.vacuums.iter().map(|vacuum| place.join(&vacuum.path)).collect();
        let names: HashSet<&TimestampedName> = self.names().collect();
        // The first fragment of a merge by several processes speaks for the others.
        let left = Listing::read(place, TimeRange::ALL, place.newest_schema()?.is_dense())?;
        let has_others =
            |name: &TimestampedName| left.fragments.iter().any(|other| other.name.is_kin_of(name));
        for (name, path) in &Commits::read(place)?.gone {
            if names.contains(name) && !has_others(name) && purged_at(place, path)?.is_none() {
                files.push(place.join(path));
            }
        }
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        place.store().delete_files(&files)
    }
}

fn find<'a>(listing: &'a Listing, name: &str) -> Result<&'a ListedFragment> {
    let found = listing.fragments.iter().find(|fragment| fragment.name.as_str() == name);
    found.ok_or_else(|| {
        let is_replaced = listing.replaced.iter().any(|old| old.fragment.name.as_str() == name);
        Error::invalid(if is_replaced {
            format!("the fragment {name} is replaced by another one already; `smalti vacuum` removes it")
        } else {
            format!("there is no fragment {name:?}; `smalti fragments` lists those that are")
        })
    })
}

/// Where the commit of a visible fragment is.
fn commit_of(commits: &Commits, name: &TimestampedName) -> Result<CommitPlace> {
    let mut is_consolidated = false;
    for entry in commits.consolidated.iter().flat_map(|file| &file.entries) {
        is_consolidated |=
            entry.kind == CommitKind::Write && entry.name == *name && !commits.ignores(entry)?;
    }
    let own = commits.single.iter().find(|file| file.kind == CommitKind::Write && file.name == *name);
    Ok(match (own.map(|file| file.path.clone()), is_consolidated) {
        (Some(path), true) => CommitPlace::Both(path),
        (Some(path), false) => CommitPlace::File(path),
        (None, true) => CommitPlace::Consolidated,
        (None, false) => CommitPlace::Nowhere,
    })
}
