//! Groups: folders that list arrays and other groups as their members.
//!
//! The list is a history. Each file in `__group` tells of one change (specification: `group.md`):
//!
//! - A file of version 1 lists all members; of several such files the newest counts.
//! - A file of version 2 lists members that came, or stayed, and members that went; later files win over earlier ones. Before
//!   libtiledb 2.19 it lists changes alone, since then members that stay as well. smalti writes changes alone: so two
//!   writers at a time do not bring back what the other took out.
//!
//! A group keeps the version that it has, as libtiledb expects all its files to be of one. A member is known by its name,
//! and without one by its URI.
//!
//! Where a member is, see [`ArrayPlace::member_place`].

mod delete;
mod edit;
mod member;
mod walk;

pub use delete::DeletedGroup;
pub use edit::{MemberEdit, NewMember};
pub use member::Member;
pub use walk::{Branch, MemberWalk, Visit};

use crate::history::History;
use crate::{ArrayPlace, ObjectKind};
use smalti_format::GroupFile;
use smalti_format::names::{GROUP_FILE, GROUP_FOLDER, METADATA_FOLDER, TimestampedName};
use smalti_store::{NewFile, NewTree};
use smalti_types::{Error, Result, TimeRange};
use std::collections::BTreeMap;

/// The version of the group files of new groups.
const NEWEST_VERSION: u32 = 2;

/// The members of a group at a time, by name, or by URI where they have none.
#[derive(Debug)]
struct MemberList {
    version: u32,
    members: BTreeMap<String, Member>,
}

/// What one file of a group's list changed.
#[derive(Debug, Clone)]
pub struct MemberChange {
    /// The name of the file.
    pub name: TimestampedName,
    /// Members that came, or that changed.
    pub added: Vec<Member>,
    /// Members that went.
    pub removed: Vec<Member>,
}

impl ArrayPlace {
    /// Creates a group without members; its folder appears at once, or not at all.
    ///
    /// # Errors
    /// `AlreadyExists` when something is at the place, with what it is.
    pub fn create_group(&self) -> Result<()> {
        let files = [NewFile { path: GROUP_FILE, parts: &[] }];
        let tree = NewTree { folders: &[GROUP_FOLDER, METADATA_FOLDER], files: &files };
        self.store().create_tree(self.path(), &tree).map_err(|error| self.taken(error, "group"))
    }

    /// Fails unless a group is at the place.
    ///
    /// # Errors
    /// `NotFound`, saying what else is there.
    pub fn expect_group(&self) -> Result<()> {
        if self.has_group()? {
            return Ok(());
        }
        let message = match self.object_kind()? {
            Some(ObjectKind::Array) => "an array is here, no group",
            _ => "no group is here; create one, or check the path",
        };
        Err(Error::not_found(message).at_uri(self.uri()))
    }

    /// The members in a time range, sorted by name, or by URI where they have none.
    ///
    /// # Errors
    /// `NotFound` when no group is here; `Corrupt` and `Permission`, with the file named.
    pub fn members(&self, time: TimeRange) -> Result<Vec<Member>> {
        Ok(self.member_list(time)?.members.into_values().collect())
    }

    /// What each file of the group's list changed, oldest first: members that came, and members that went.
    ///
    /// # Errors
    /// As [`members`](ArrayPlace::members).
    pub fn member_changes(&self) -> Result<Vec<MemberChange>> {
        self.expect_group()?;
        let mut members: BTreeMap<String, Member> = BTreeMap::new();
        let mut changes = Vec::new();
        for name in History::read(self, GROUP_FOLDER)?.visible(TimeRange::ALL) {
            let path = self.join(&format!("{GROUP_FOLDER}/{name}"));
            let tile = self.read_tile_file(&path)?;
            let file = GroupFile::decode(tile.as_slice())
                .map_err(|error| error.at_uri(self.store().address(&path)))?;
            let (mut added, mut removed) = (Vec::new(), Vec::new());
            // What a complete list does not name has gone.
            let mut before =
                if file.version < NEWEST_VERSION { std::mem::take(&mut members) } else { BTreeMap::new() };
            for stored in file.members {
                let is_deleted = stored.is_deleted;
                let member = Member::of_stored(stored);
                let old = before.remove(member.key()).or_else(|| members.remove(member.key()));
                if is_deleted {
                    removed.extend(old);
                    continue;
                }
                if old.as_ref() != Some(&member) {
                    added.push(member.clone());
                }
                members.insert(member.key().to_owned(), member);
            }
            removed.extend(before.into_values());
            changes.push(MemberChange { name, added, removed });
        }
        Ok(changes)
    }

    fn member_list(&self, time: TimeRange) -> Result<MemberList> {
        self.expect_group()?;
        let mut files = Vec::new();
        for name in History::read(self, GROUP_FOLDER)?.visible(time).into_iter().rev() {
            let path = self.join(&format!("{GROUP_FOLDER}/{name}"));
            let tile = self.read_tile_file(&path)?;
            let file = GroupFile::decode(tile.as_slice())
                .map_err(|error| error.at_uri(self.store().address(&path)))?;
            let is_complete = file.version < NEWEST_VERSION;
            files.push(file);
            if is_complete {
                break;
            }
        }
        let version = files.first().map_or(NEWEST_VERSION, |file| file.version);
        let mut members = BTreeMap::new();
        for stored in files.into_iter().rev().flat_map(|file| file.members) {
            let is_deleted = stored.is_deleted;
            let member = Member::of_stored(stored);
            if is_deleted {
                members.remove(member.key());
            } else {
                members.insert(member.key().to_owned(), member);
            }
        }
        Ok(MemberList { version, members })
    }
}
