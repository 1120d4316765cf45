//! Deleting groups, with or without what is in them.

use super::member::path_below;
use crate::{ArrayPlace, ObjectKind};
use smalti_format::names::{GROUP_FILE, GROUP_FOLDER, METADATA_FOLDER};
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;

/// What a deletion did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletedGroup {
    /// The arrays and groups that are gone, the group itself last.
    pub deleted: Vec<String>,
    /// Members that are only off the list, by their URI as it is stored, with the reason.
    pub kept: Vec<(String, &'static str)>,
}

impl ArrayPlace {
    /// Deletes the group: its lists and metadata, and its folder unless something else is in that. What members point to
    /// stays, but if `recursive`: then arrays and groups in the group's folder go, deepest first, with everything in the
    /// arrays' folders. Never touched are members outside that folder, folders that are neither array nor group, and
    /// files that are no part of one. No symbolic link is followed; a member that is one loses the link alone.
    ///
    /// A deletion that was interrupted is finished by another.
    ///
    /// # Errors
    /// `NotFound` when no group is here; `Corrupt` and `Permission` for a list that cannot be read: nothing is deleted
    /// then; what the store reports.
    pub fn delete_group(&self, recursive: bool) -> Result<DeletedGroup> {
        self.expect_group()?;
        let mut done = DeletedGroup::default();
        if recursive {
            self.delete_members(&mut done)?;
        }
        self.delete_own_parts()?;
        done.deleted.push(self.uri());
        Ok(done)
    }

    /// Removes the symbolic link to a group, which this place is, and keeps the group.
    ///
    /// # Errors
    /// `NotFound` when no group is here; what the store reports.
    pub fn unlink_group(&self) -> Result<DeletedGroup> {
        self.expect_group()?;
        let target = self.identity();
        self.store().delete_files(&[self.path()])?;
        Ok(DeletedGroup {
            deleted: vec![self.uri()],
            kept: vec![(target, "only the symbolic link to it was named")],
        })
    }

    fn delete_members(&self, done: &mut DeletedGroup) -> Result<()> {
        let root = self.identity();
        let mut seen = HashSet::from([root.clone()]);
        let (mut doomed, mut links) = (Vec::new(), Vec::new());
        let mut pending = vec![self.clone()];
        while let Some(group) = pending.pop() {
            for member in group.members(TimeRange::ALL)? {
                let Ok(place) = group.member_place(&member) else {
                    done.kept.push((member.uri, "its URI leads nowhere"));
                    continue;
                };
                let Some(place) = self.in_own_store(&place) else {
                    done.kept.push((member.uri, "outside the folder of the group"));
                    continue;
                };
                let Some(kind) = place.object_kind()? else {
                    done.kept.push((member.uri, "neither an array nor a group is there"));
                    continue;
                };
                let below = path_below(self.path(), place.path()).unwrap_or_default();
                let by_words = format!("{root}/{below}");
                if place.identity() != by_words {
                    if seen.insert(by_words) {
                        links.push((place, member.uri));
                    }
                    continue;
                }
                if seen.insert(by_words) {
                    if kind == ObjectKind::Group {
                        pending.push(place.clone());
                    }
                    doomed.push((place, kind));
                }
            }
        }
        for (link, uri) in links {
            match self.store().delete_folders(&[link.path()]) {
                Ok(()) => done.deleted.push(link.uri()),
                // The link is further up the path.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    done.kept.push((uri, "reached through a symbolic link"));
                }
                Err(error) => return Err(error),
            }
        }
        // A group was found before what is in it, an array with nothing below it that is of interest.
        for (place, kind) in doomed.into_iter().rev() {
            match kind {
                ObjectKind::Array => self.store().delete_folders(&[place.path()])?,
                ObjectKind::Group if place.has_group()? => place.delete_own_parts()?,
                ObjectKind::Group => {}
            }
            self.delete_empty_folders_above(&place)?;
            done.deleted.push(place.uri());
        }
        Ok(())
    }

    /// A place below this one as a path of the same store, by its words.
    fn in_own_store(&self, other: &ArrayPlace) -> Option<ArrayPlace> {
        let below = path_below(&self.uri(), &other.uri())?.to_owned();
        smalti_store::check_path(&below).ok()?;
        Some(self.beside(&self.join(&below)))
    }

    /// Removes what makes the folder a group, and the folder itself if nothing is left in it.
    fn delete_own_parts(&self) -> Result<()> {
        let parts = [METADATA_FOLDER, GROUP_FOLDER, GROUP_FILE];
        let entries = self.store().list(self.path())?;
        if entries.iter().all(|entry| parts.contains(&entry.name.as_str())) {
            return self.store().delete_folders(&[self.path()]);
        }
        // In this order it stays a group until it is wholly gone, so that the deletion can be repeated.
        self.store().delete_folders(&[&self.join(METADATA_FOLDER)])?;
        self.store().delete_files(&[&self.join(GROUP_FILE)])?;
        self.store().delete_folders(&[&self.join(GROUP_FOLDER)])
    }

    /// Removes the folders between this one and what was in them, as long as they are empty.
    fn delete_empty_folders_above(&self, gone: &ArrayPlace) -> Result<()> {
        let mut path = gone.path();
        while let Some((folder, _)) = path.rsplit_once('/') {
            if path_below(self.path(), folder).is_none() || !self.store().list(folder)?.is_empty() {
                break;
            }
            self.store().delete_folders(&[folder]).map_err(|error: Error| error.at_uri(self.uri()))?;
            path = folder;
        }
        Ok(())
    }
}
