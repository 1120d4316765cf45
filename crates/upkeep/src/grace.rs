//! Where nothing can be locked: files of fragments that nobody finds any more stay for a while, as readers may have them open.
//!
//! Readers hold nothing there, so that nobody can tell whether the array is read (docs/decisions/0018). What is to go goes in two steps:
//! its commits are taken back, and a list of the fragments is put, `.smalti-tmp-retired-<number>` in the array's folder. Who opens the array
//! from then on does not know them. When the list has been there for as long as a read may take, the folders go, and then the list.
//!
//! Both times are of the store: when the list was put, and when the claim was that whoever looks at it holds. No clock of a client counts.

use smalti_array::{ArrayPlace, CommitPlace, ListedFragment, Listing};
use smalti_format::Rule;
use smalti_format::names::TimestampedName;
use smalti_store::{LEFTOVER_PREFIX, Leftover, StoreExt, join, split};
use smalti_types::{Error, Result};
use std::collections::HashSet;
use std::time::Duration;

/// How long reads may take where nothing can be locked, unless something else is asked for.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(3600);

/// How the names of lists go on behind [`LEFTOVER_PREFIX`].
const RETIRED: &str = "retired-";

/// Stores tell times in whole seconds.
const TIME_STEP_MS: u64 = 1000;

/// The longest list that is read: a million names.
const MAX_BYTE_LEN: u64 = 128 << 20;

/// The lists of an array.
#[derive(Debug, Default)]
pub(crate) struct Retired {
    lists: Vec<List>,
    /// The store's time, which is not later than the real one; `None` where it does not tell.
    now_ms: Option<u64>,
}

#[derive(Debug)]
struct List {
    path: String,
    names: Vec<TimestampedName>,
    since_ms: u64,
}

/// Whether a leftover is a list of fragments that nobody finds any more.
pub(crate) fn is_list(leftover: &Leftover) -> bool {
    split(&leftover.path).1.strip_prefix(LEFTOVER_PREFIX).is_some_and(|rest| rest.starts_with(RETIRED))
}

/// The fragments on a list; what is no name of one is passed over.
///
/// # Errors
/// What the store reports.
pub(crate) fn names_on(place: &ArrayPlace, path: &str) -> Result<Vec<TimestampedName>> {
    let bytes = place.store().read_all(path, MAX_BYTE_LEN)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter_map(|line| TimestampedName::parse(line).ok()).collect())
}

impl Retired {
    /// Reads the lists. The caller holds the claim of upkeep.
    ///
    /// # Errors
    /// What the store reports.
    pub(crate) fn read(place: &ArrayPlace) -> Result<Retired> {
        let leftovers = place.store().leftovers(place.path())?;
        let times = leftovers.iter().map(|leftover| leftover.modified_ms);
        let now_ms = times.collect::<Option<Vec<u64>>>().and_then(|times| times.into_iter().max());
        let mut lists = Vec::new();
        for leftover in leftovers.into_iter().filter(is_list) {
            let names = names_on(place, &leftover.path)?;
            lists.push(List {
                path: leftover.path,
                names,
                since_ms: leftover.modified_ms.unwrap_or(u64::MAX),
            });
        }
        Ok(Retired { lists, now_ms })
    }

    /// Whether there are no lists.
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Checks that the store tells when files were put.
    ///
    /// # Errors
    /// `Unsupported` where it does not.
    pub(crate) fn check_times(&self, place: &ArrayPlace) -> Result<()> {
        match self.now_ms {
            Some(_) => Ok(()),
            None => Err(Error::unsupported(
                "there are no locks here, and no times of files either, so that nobody can tell whether what is removed is being read; when no \
                 program has the array open, do it with --ignore-readers",
            )
            .at_uri(place.uri())),
        }
    }

    /// The lists that have been there for so long.
    fn due(&self, kept_for: Duration) -> impl Iterator<Item = &List> {
        let kept_ms = u64::try_from(kept_for.as_millis()).unwrap_or(u64::MAX).saturating_add(TIME_STEP_MS);
        let age_ms = move |list: &List| self.now_ms?.checked_sub(list.since_ms);
        let is_due = move |list: &&List| age_ms(list).is_some_and(|age| age >= kept_ms);
        self.lists.iter().filter(move |list| kept_for.is_zero() || is_due(list))
    }

    /// Whether a list has a fragment.
    pub(crate) fn has(&self, name: &TimestampedName) -> bool {
        self.lists.iter().any(|list| list.names.contains(name))
    }

    /// The fragments on lists that have been there for so long, but for those that somebody finds again.
    pub(crate) fn due_names(&self, kept_for: Duration, listing: &Listing) -> Vec<&TimestampedName> {
        let shown = listing.fragments.iter().map(|fragment| &fragment.name);
        let replaced = listing.replaced.iter().filter(|old| old.commit != CommitPlace::Nowhere);
        let found: HashSet<&TimestampedName> = shown.chain(replaced.map(|old| &old.fragment.name)).collect();
        let is_due = |name: &&TimestampedName| !found.contains(*name) && can_be_retired(name);
        self.due(kept_for).flat_map(|list| &list.names).filter(is_due).collect()
    }

    /// The paths of lists that have been there for so long.
    pub(crate) fn due_lists(&self, kept_for: Duration) -> Vec<&str> {
        self.due(kept_for).map(|list| list.path.as_str()).collect()
    }
}

/// The folder of a fragment.
///
/// # Errors
/// `Unsupported` for a version that is not known.
pub(crate) fn folder(place: &ArrayPlace, name: &TimestampedName) -> Result<String> {
    Ok(ListedFragment::named(name.clone())?.path(place))
}

/// Whether a fragment is found by its commit alone, and not by being there.
fn can_be_retired(name: &TimestampedName) -> bool {
    name.fragment_version().is_ok_and(|version| version.has(Rule::CommitFiles))
}

/// Checks that the files of fragments can stay when nobody is to find them any more.
///
/// # Errors
/// `Unsupported` before version 5.
pub(crate) fn check_can_be_retired<'n>(
    place: &ArrayPlace,
    names: impl IntoIterator<Item = &'n TimestampedName>,
) -> Result<()> {
    match names.into_iter().find(|name| !can_be_retired(name)) {
        None => Ok(()),
        Some(name) => Err(Error::unsupported(format!(
            "fragment {name} has no commit of its own before format version 5, so it cannot go without taking files away from readers, and \
             there are no locks here to keep them away; when no program has the array open, do it with --ignore-readers",
        ))
        .at_uri(place.uri())),
    }
}

/// Puts a list of fragments whose commits were taken back.
///
/// # Errors
/// What the store reports.
pub(crate) fn retire<'n>(
    place: &ArrayPlace,
    names: impl IntoIterator<Item = &'n TimestampedName>,
) -> Result<()> {
    let mut number = [0; 8];
    place.env().entropy.fill(&mut number)?;
    let number = u64::from_le_bytes(number);
    let path = join(place.path(), &format!("{LEFTOVER_PREFIX}{RETIRED}{number:016x}"));
    let lines: String = names.into_iter().map(|name| format!("{name}\n")).collect();
    place.store().put(&path, &[lines.as_bytes()])
}
