//! Groups: lists of members.

use crate::Reader;
use crate::leaf::{Bool8, FlaggedStr64, List64, OwnVersion, Str64, Tag8, tagged};
use crate::record::{Cx, Record, record};
use smalti_types::Result;

record! {
    /// A file of group members in `__group`: one generic tile.
    ///
    /// A file of version 1 lists all members; the newest file counts. Of version 2 all files count, later ones win: they list
    /// what came and went, and from libtiledb 2.19 on also what stayed.
    pub struct GroupFile in "group file", spec "group.md#group-file" {
        /// The version of this structure.
        1..  version: u32 as OwnVersion(1, 2),
        /// The members. Their number is a u64, although the specification says u32.
        1..  members: Vec<GroupMember> as List64,
    }
}

record! {
    /// A member of a group.
    pub struct GroupMember in "group member", spec "group.md#group-member" {
        /// The version of this structure.
        1..  version: u32 as OwnVersion(1, 2),
        /// What the member is.
        1..  kind: MemberKind as Tag8,
        /// Whether `uri` is relative to the group.
        1..  is_relative: bool as Bool8,
        /// Where the member is.
        1..  uri: String as Str64,
        /// The member's name in the group.
        1..  name: Option<String> as FlaggedStr64,
        /// Whether the member is taken out.
        2..  is_deleted: bool as Bool8 = false,
    }
}

/// What a member of a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberKind {
    /// Not known; deletions leave it open.
    Invalid,
    /// A group.
    Group,
    /// An array.
    Array,
}

tagged!(MemberKind, "kind of member", MemberKind::Invalid = 0, MemberKind::Group = 1, MemberKind::Array = 2,);

impl GroupFile {
    /// Reads a group file from its unfiltered tile.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(tile: &[u8]) -> Result<Self> {
        GroupFile::decode_from(&mut Reader::new(tile))
    }

    /// As [`decode`](GroupFile::decode), from a reader that may keep a trace.
    ///
    /// # Errors
    /// As [`decode`](GroupFile::decode).
    pub fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
        GroupFile::from_reader(reader, &Cx::unversioned())
    }

    /// The bytes of the file's tile before filtering.
    ///
    /// # Errors
    /// `InvalidArgument` when a version cannot hold a field.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.to_bytes(&Cx::unversioned())
    }
}
