//! The end of a write that several processes did together.

use crate::{ArrayPlace, Fragment, ListedFragment, Listing, NewFragment, SharedWrite, Snapshot};
use smalti_format::names::{FRAGMENTS_FOLDER, TimestampedName};
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;
use std::sync::Arc;

impl SharedWrite {
    /// Makes fragments visible at one moment, and removes what else is left of the write: fragments of workers that died, or
    /// whose work was done again.
    ///
    /// # Errors
    /// `InvalidArgument` for names that are not of this write, that come twice, or that are visible already; `NotFound` and `Corrupt` for
    /// fragments that are not there as a whole. Nothing is visible then. What the store reports of the commit, which may have come to be.
    pub fn commit(&self, snapshot: &Snapshot, names: &[TimestampedName]) -> Result<()> {
        let fragments: Vec<NewFragment> =
            self.sealed(snapshot, names)?.into_iter().map(|(new, _)| new).collect();
        NewFragment::commit_all(&fragments)?;
        self.clear(snapshot, names);
        Ok(())
    }

    /// Fragments of the write, which are there as a whole and which nobody sees, as they will be committed and as they will be read.
    ///
    /// # Errors
    /// `InvalidArgument` for names that are not of this write, that come twice, or that are visible already; `NotFound` and `Corrupt` for
    /// fragments that are not there as a whole.
    pub fn sealed(
        &self,
        snapshot: &Snapshot,
        names: &[TimestampedName],
    ) -> Result<Vec<(NewFragment, Fragment)>> {
        let mut distinct = HashSet::new();
        for name in names {
            if !self.owns(name) {
                return Err(Error::invalid(format!("the fragment {name} is not of the shared write {self}")));
            }
            if !distinct.insert(name.as_str()) {
                return Err(Error::invalid(format!("the fragment {name} is named twice")));
            }
        }
        self.check_hidden(snapshot)?;
        names.iter().map(|name| sealed(snapshot, name)).collect()
    }

    /// Removes what is left of the write but for some fragments, as far as the store lets it be removed. Readers see none of it.
    pub fn clear(&self, snapshot: &Snapshot, without: &[TimestampedName]) {
        let without: HashSet<&str> = without.iter().map(TimestampedName::as_str).collect();
        if let Ok(folders) = self.folders(snapshot, &without) {
            let _ = remove(snapshot.place(), &folders);
        }
    }

    /// Removes all fragments of the write, none of which was committed, and returns how many there were. A worker that is not told
    /// may leave others afterwards, which no reader sees.
    ///
    /// # Errors
    /// `InvalidArgument` when the write is committed; what the store reports.
    pub fn abandon(&self, snapshot: &Snapshot) -> Result<usize> {
        self.check_hidden(snapshot)?;
        let folders = self.folders(snapshot, &HashSet::new())?;
        remove(snapshot.place(), &folders)?;
        Ok(folders.len())
    }

    /// Refuses when some commit names a fragment of the write.
    fn check_hidden(&self, snapshot: &Snapshot) -> Result<()> {
        let listing = Listing::read(snapshot.place(), TimeRange::ALL, snapshot.schema().is_dense())?;
        let replaced = listing.replaced.iter().map(|replaced| &replaced.fragment);
        match listing.fragments.iter().chain(replaced).find(|listed| self.owns(&listed.name)) {
            None => Ok(()),
            Some(listed) => Err(Error::invalid(format!(
                "the shared write {self} is committed already: the fragment {} is visible",
                listed.name
            ))),
        }
    }

    /// The folders of its fragments, but for some.
    fn folders(&self, snapshot: &Snapshot, without: &HashSet<&str>) -> Result<Vec<String>> {
        let place = snapshot.place();
        let names = place.store().list_names(&place.join(FRAGMENTS_FOLDER))?;
        let own = names.iter().filter_map(|name| TimestampedName::parse(name).ok());
        let own = own.filter(|name| self.owns(name) && !without.contains(name.as_str()));
        own.map(|name| Ok(ListedFragment::named(name)?.path(place))).collect()
    }
}

fn remove(place: &ArrayPlace, folders: &[String]) -> Result<()> {
    if folders.is_empty() {
        return Ok(());
    }
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    place.store().delete_folders(&folders)
}

/// A fragment that another process has written, without its commit.
fn sealed(snapshot: &Snapshot, name: &TimestampedName) -> Result<(NewFragment, Fragment)> {
    let place = snapshot.place();
    let listed = ListedFragment::named(name.clone())?;
    let schema_of = |wanted: &str| {
        if wanted == snapshot.schema_name() {
            return Ok(Arc::clone(snapshot.schema()));
        }
        let mut history = snapshot.schema_history()?.into_iter();
        let found = history.find(|(name, _)| name == wanted);
        found
            .map(|(_, schema)| Arc::new(schema))
            .ok_or_else(|| Error::corrupt(format!("the schema {wanted:?} is missing")))
    };
    match Fragment::open_alone(place, &listed, schema_of) {
        Ok(fragment) => Ok((NewFragment::sealed(place, &fragment), fragment)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(error.context(format_args!(
            "the fragment {name} of a shared write is not there as a whole: write its part again"
        ))),
        Err(error) => Err(error),
    }
}
