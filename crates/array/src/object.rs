//! Arrays and groups as things in folders: what is at a place, what is below it, moving and removing it.
//!
//! A folder is an array if it holds a schema, and a group if it holds the group's file or its folder of members
//! (specification: `array_file_hierarchy.md`, `group_file_hierarchy.md`). Nothing else is ever moved or removed.

use crate::ArrayPlace;
use smalti_format::MemberKind;
use smalti_format::names::{GROUP_FILE, GROUP_FOLDER, RESERVED_PREFIX};
use smalti_store::{Place, StoreExt, Stores, SyncLevel, split};
use smalti_types::{Error, ErrorKind, Result};
use std::collections::HashSet;
use std::fmt;

/// Folders nest at most so deep in a walk.
pub(crate) const MAX_DEPTH: usize = 64;

/// What a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ObjectKind {
    /// An array.
    Array,
    /// A group.
    Group,
}

impl ObjectKind {
    /// `array` or `group`.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Array => "array",
            ObjectKind::Group => "group",
        }
    }

    pub(crate) fn stored(kind: Option<ObjectKind>) -> MemberKind {
        match kind {
            None => MemberKind::Invalid,
            Some(ObjectKind::Array) => MemberKind::Array,
            Some(ObjectKind::Group) => MemberKind::Group,
        }
    }

    pub(crate) fn of_stored(kind: MemberKind) -> Option<ObjectKind> {
        match kind {
            MemberKind::Invalid => None,
            MemberKind::Array => Some(ObjectKind::Array),
            MemberKind::Group => Some(ObjectKind::Group),
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a walk names a folder before or after what is in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WalkOrder {
    /// Before.
    #[default]
    Pre,
    /// After.
    Post,
}

impl ArrayPlace {
    /// What is at the place: `None` for nothing, and for a folder or file that is neither array nor group.
    ///
    /// # Errors
    /// What the store reports.
    pub fn object_kind(&self) -> Result<Option<ObjectKind>> {
        if self.has_array()? {
            return Ok(Some(ObjectKind::Array));
        }
        Ok(self.has_group()?.then_some(ObjectKind::Group))
    }

    /// Whether a group is at the place.
    ///
    /// # Errors
    /// What the store reports.
    pub fn has_group(&self) -> Result<bool> {
        if self.store().file_exists(&self.join(GROUP_FILE))? {
            return Ok(true);
        }
        let entries = self.store().list(self.path())?;
        Ok(entries.iter().any(|entry| entry.is_folder() && entry.name == GROUP_FOLDER))
    }

    /// The error for a new thing where something is already.
    pub(crate) fn taken(&self, error: Error, what: &str) -> Error {
        let kind = match error.kind() {
            ErrorKind::AlreadyExists => self.object_kind().unwrap_or(None),
            _ => None,
        };
        let error = match kind {
            Some(ObjectKind::Array) => Error::new(
                ErrorKind::AlreadyExists,
                "an array is here already; open it, or take another path",
            ),
            Some(ObjectKind::Group) => {
                Error::new(ErrorKind::AlreadyExists, "a group is here already; open it, or take another path")
            }
            None => error,
        };
        error.context(format_args!("creating the {what}")).at_uri(self.uri())
    }

    /// The address with all symbolic links resolved: equal for two places if and only if they are one folder.
    pub fn identity(&self) -> String {
        let address = self.uri();
        if address.contains("://") {
            return address;
        }
        match Stores::new().open(&address, SyncLevel::None) {
            Ok(Place { store, path }) => store.address(&path),
            Err(_) => address,
        }
    }

    /// The arrays and groups directly in the folder, sorted by name. The folder itself may be anything.
    ///
    /// # Errors
    /// `NotFound` when no such folder is there; what the store reports.
    pub fn child_objects(&self) -> Result<Vec<(ArrayPlace, ObjectKind)>> {
        let entries = self.store().list(self.path())?;
        if entries.is_empty() && !self.is_named()? {
            return Err(Error::not_found("no such folder").at_uri(self.uri()));
        }
        let mut children = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.is_folder()) {
            // The parts of arrays and groups, none of which is one itself.
            if entry.name.starts_with(RESERVED_PREFIX) {
                continue;
            }
            let child = self.beside(&self.join(&entry.name));
            match child.object_kind() {
                Ok(Some(kind)) => children.push((child, kind)),
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Permission => {}
                Err(error) => return Err(error),
            }
        }
        Ok(children)
    }

    /// Whether the store lists the place as a folder in the folder above it.
    fn is_named(&self) -> Result<bool> {
        let (folder, name) = split(self.path());
        Ok(self.store().list(folder)?.iter().any(|entry| entry.name == name && entry.is_folder()))
    }

    /// The arrays and groups in the folder, in those, and so on: folders that are neither are not entered. A folder that
    /// symbolic links lead to again is named again, but not entered again.
    ///
    /// # Errors
    /// As [`child_objects`](ArrayPlace::child_objects).
    pub fn walk_objects(&self, order: WalkOrder) -> Result<Vec<(ArrayPlace, ObjectKind)>> {
        let mut found = Vec::new();
        let mut entered = HashSet::from([self.identity()]);
        let mut pending: Vec<(ArrayPlace, ObjectKind, usize)> = Vec::new();
        let push = |pending: &mut Vec<_>, children: Vec<(ArrayPlace, ObjectKind)>, depth: usize| {
            // The last to be pushed is the first to be taken. What is named after its children is found before them in
            // reverse.
            let children = children.into_iter().map(|(place, kind)| (place, kind, depth));
            match order {
                WalkOrder::Pre => pending.extend(children.rev()),
                WalkOrder::Post => pending.extend(children),
            }
        };
        push(&mut pending, self.child_objects()?, 1);
        while let Some((place, kind, depth)) = pending.pop() {
            if depth < MAX_DEPTH && entered.insert(place.identity()) {
                push(&mut pending, place.child_objects()?, depth + 1);
            }
            found.push((place, kind));
        }
        if order == WalkOrder::Post {
            found.reverse();
        }
        Ok(found)
    }

    /// Removes the array or group with all its folder holds, durably on return. Where its folder is a symbolic link, that alone goes.
    ///
    /// # Errors
    /// `NotFound` when neither is here: no other folder is removed.
    pub fn remove_object(&self) -> Result<ObjectKind> {
        let kind = self.expect_object("removed")?;
        self.store().delete_folders(&[self.path()])?;
        Ok(kind)
    }

    /// Moves the array or group with all its folder holds, or where its folder is a symbolic link, that alone: on the local file system and inside a memory store by one rename.
    /// Relative members of a group stay members; what names the object by an absolute URI does not follow.
    ///
    /// # Errors
    /// `NotFound` when neither is here; `AlreadyExists` when something is at the other place; `InvalidArgument` when that is
    /// inside the object; `Unsupported` when it is on another file system.
    pub fn move_object(&self, to: &ArrayPlace, sync: SyncLevel) -> Result<ObjectKind> {
        let kind = self.expect_object("moved")?;
        let place = |of: &ArrayPlace| Place { store: of.store().clone(), path: of.path().to_owned() };
        self.stores().move_place(&place(self), &place(to), sync)?;
        Ok(kind)
    }

    fn expect_object(&self, what: &str) -> Result<ObjectKind> {
        self.object_kind()?.ok_or_else(|| {
            Error::not_found(format!("neither an array nor a group is here; nothing else is {what}"))
                .at_uri(self.uri())
        })
    }
}
