//! Making merged fragments visible, and those that they replace invisible, at once.
//!
//! 1. The pending vacuum file, which lists what is replaced. Nobody looks at it while its fragment is not committed.
//! 2. The commit. From here on our readers see the merged fragment alone: the pending file counts now.
//! 3. The vacuum file proper, for other libraries; then the pending one goes.
//!
//! After a crash before 2 there are a fragment folder and a list that nobody sees; between 2 and 3 only other libraries see
//! both the merged fragment and what it replaces (as after a crash of their own), until the next consolidation or vacuum
//! of ours finishes the step: see `docs/decisions/0009`.

use smalti_array::{ArrayPlace, NewFragment, Snapshot, gone_file};
use smalti_format::names::{
    COMMITS_FOLDER, CommitKind, TimestampedName, commit_path, fragment_path, gone_path, pending_vacuum_path,
};
use smalti_format::{NameList, Version};
use smalti_types::{Error, ErrorKind, Result, TimeRange};

/// Merged fragments on their way to be seen.
pub(super) struct Published<'a> {
    /// Durable, but not committed; all of the same times.
    pub(super) merged: &'a [NewFragment],
    /// The times of what they replace.
    pub(super) time: TimeRange,
    /// The time before which they do not show what they replace.
    pub(super) purged_at: Option<u64>,
}

/// Publishes merged fragments in place of all fragments of a snapshot. After an error they are removed again, unless the
/// error says that its effect is unknown.
pub(super) fn publish(replaced: &Snapshot, new: &Published<'_>) -> Result<()> {
    let place = replaced.place();
    let version = replaced.schema().write_version();
    let name = match new.merged.first() {
        Some(first) => first.name().clone(),
        None => TimestampedName::new(new.time, place.new_id()?, Some(version)),
    };
    let list = vacuum_list(replaced, version)?;
    let (pending, vacuum) =
        (place.join(&pending_vacuum_path(&name, version)), vacuum_path(place, &name, version));
    let store = place.store();
    let mut put: Vec<String> = Vec::new();
    let prepared = (|| {
        put.push(pending.clone());
        store.put(&pending, &[&list])?;
        if new.purged_at.is_some() {
            let gone = place.join(&gone_path(&name, version));
            put.push(gone.clone());
            store.put(&gone, &[gone_file(new.purged_at).as_bytes()])?;
        }
        // Last, so that nothing but the commit follows the look at what is merged.
        still_there(replaced)
    })();
    if let Err(error) = prepared {
        discard(place, new.merged, &put);
        return Err(error);
    }
    match new.merged {
        // Nothing is left to be seen: hiding the others is all, and one file does it.
        [] => {
            store.put(&vacuum, &[&list])?;
            return store.delete_files(&[&pending]).map_err(half_told);
        }
        [only] => {
            if let Err(error) = only.commit() {
                return Err(settle(place, new.merged, &put, error));
            }
        }
        several => {
            if let Err(error) = NewFragment::commit_all(several) {
                return Err(settle(place, new.merged, &put, error));
            }
        }
    }
    store.put(&vacuum, &[&list]).and_then(|()| store.delete_files(&[&pending])).map_err(half_told)
}

/// An error after the commit: the merge counts, but the last step is still to be done.
fn half_told(error: Error) -> Error {
    error.context(
        "the fragments are merged, but other libraries may still see what they were made of; `smalti vacuum` or the next \
         consolidation finishes this",
    )
}

/// Turns pending vacuum files whose fragments are committed into vacuum files proper: what a crash left to be done. The caller holds
/// the upkeep lock.
pub(crate) fn finish_pending(place: &ArrayPlace, listing: &smalti_array::Listing) -> Result<()> {
    for listed in listing.vacuums.iter().filter(|listed| listed.is_pending) {
        let version = listed.name.fragment_version()?;
        let vacuum = vacuum_path(place, &listed.name, version);
        let pending = place.join(&listed.path);
        let list = place.store().read_tail(&pending, u64::MAX)?.bytes;
        match place.store().put(&vacuum, &[&list]) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => place.store().delete_files(&[&pending])?,
        }
    }
    Ok(())
}

fn vacuum_path(place: &ArrayPlace, name: &TimestampedName, version: Version) -> String {
    place.join(&commit_path(name, CommitKind::Vacuum, version))
}

fn vacuum_list(replaced: &Snapshot, version: Version) -> Result<Vec<u8>> {
    let paths = replaced
        .fragments()
        .iter()
        .map(|fragment| Ok(fragment_path(fragment.name(), fragment.name().fragment_version()?)))
        .collect::<Result<Vec<_>>>()?;
    let uri = replaced.place().uri();
    Ok(NameList::encode_vacuum(paths.iter().map(String::as_str), version, &uri))
}

/// Checks that what is replaced is still what readers see: another library may have consolidated or deleted it.
fn still_there(replaced: &Snapshot) -> Result<()> {
    let is_dense = replaced.schema().is_dense();
    let listing = smalti_array::Listing::read(replaced.place(), TimeRange::ALL, is_dense)?;
    let gone = replaced
        .fragments()
        .iter()
        .find(|fragment| !listing.fragments.iter().any(|listed| listed.name == *fragment.name()));
    match gone {
        None => Ok(()),
        Some(fragment) => Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "fragment {} was removed or replaced while it was being merged; nothing was changed: consolidate again",
                fragment.name()
            ),
        )
        .at_uri(replaced.place().uri())),
    }
}

/// After a commit that failed: removes everything if the commit is not there. If it is, or nobody can tell, it stays.
fn settle(place: &ArrayPlace, merged: &[NewFragment], put: &[String], error: Error) -> Error {
    let is_absent = place.store().list(&place.join(COMMITS_FOLDER)).is_ok_and(|entries| {
        let root = place.store().list(place.path()).unwrap_or_default();
        merged.iter().all(|fragment| {
            let file = smalti_format::names::last_part(&fragment.commit_path()).to_owned();
            !entries.iter().chain(&root).any(|entry| entry.name == file)
        })
    });
    // A commit that several fragments share has a name of its own: whether it is there is not asked.
    if is_absent && merged.len() == 1 {
        discard(place, merged, put);
    }
    error
}

fn discard(place: &ArrayPlace, merged: &[NewFragment], put: &[String]) {
    // What cannot be removed is passed over by every reader; the first error tells more.
    for fragment in merged {
        let _ = fragment.discard();
    }
    // The pending list last: while it is there without its commit, nobody looks at what else was put.
    for path in put.iter().rev() {
        let _ = place.store().delete_files(&[path]);
    }
}
