//! Names of all files and folders of arrays and groups.

mod commit;
mod data_file;
mod index;
mod timestamped;

pub use commit::{
    CommitKind, commit_file_name, commit_path, commit_stem, fragment_file_path, fragment_path,
    fragment_path_parts, gone_path, is_impossible_commit_in_root, parse_commit_file, parse_gone,
    parse_pending_vacuum, pending_vacuum_path,
};
pub use data_file::{DataPart, data_file_name, push_data_file_name};
pub use index::NameIndex;
pub use timestamped::TimestampedName;

macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)*) => {
        $($(#[doc = $doc])+ pub const $name: &str = $text;)*

        /// Every fixed name with its meaning, for the documentation.
        pub(crate) const ALL: &[(&str, &str)] = &[$(($text, concat!($($doc),+)),)*];
    };
}

constants! {
    /// The only schema of arrays before version 10, in the array folder.
    OLD_SCHEMA_FILE = "__array_schema.tdb";
    /// Schemas, from version 10.
    SCHEMA_FOLDER = "__schema";
    /// Enumerations, inside the schema folder, from version 20.
    ENUMERATIONS_FOLDER = "__enumerations";
    /// Fragments, from version 12; before, they stand in the array folder.
    FRAGMENTS_FOLDER = "__fragments";
    /// Commits, from version 12; before, they stand in the array folder.
    COMMITS_FOLDER = "__commits";
    /// Consolidated fragment metadata, from version 12; before, it stands in the array folder.
    FRAGMENT_META_FOLDER = "__fragment_meta";
    /// Metadata of an array (from version 4) or group.
    METADATA_FOLDER = "__meta";
    /// Arrays of dimension labels, from version 18.
    LABELS_FOLDER = "__labels";
    /// A file that arrays before version 11 must have.
    LOCK_FILE = "__lock.tdb";
    /// A file that makes a folder a group.
    GROUP_FILE = "__tiledb_group.tdb";
    /// Lists of members of a group.
    GROUP_FOLDER = "__group";
    /// The metadata of a fragment, in its folder.
    FRAGMENT_METADATA_FILE = "__fragment_metadata.tdb";
    /// The ending of a commit before version 12.
    OK_ENDING = ".ok";
    /// The ending of a commit.
    WRITE_ENDING = ".wrt";
    /// The ending of a delete commit.
    DELETE_ENDING = ".del";
    /// The ending of an update commit, which every reader ignores.
    UPDATE_ENDING = ".upd";
    /// The ending of a vacuum file.
    VACUUM_ENDING = ".vac";
    /// The ending of a vacuum file of ours that stands before the commit of the fragment it is named for, and counts
    /// from that commit on. libtiledb passes it over.
    PENDING_VACUUM_ENDING = ".vac.tmp";
    /// The ending of a file of ours, beside the commit of a merged fragment, that says which of its times cannot be told apart
    /// any more. libtiledb passes it over.
    GONE_ENDING = ".gone";
    /// The ending of a file of consolidated commits.
    CONSOLIDATED_ENDING = ".con";
    /// The ending of an ignore file.
    IGNORE_ENDING = ".ign";
    /// The ending of consolidated fragment metadata.
    META_ENDING = ".meta";
    /// The ending of data files.
    DATA_ENDING = ".tdb";
    /// What names start with that users cannot take.
    RESERVED_PREFIX = "__";
}

/// The folders in an array's or group's folder that are no fragments.
pub const FOLDERS: &[&str] = &[
    SCHEMA_FOLDER,
    FRAGMENTS_FOLDER,
    COMMITS_FOLDER,
    FRAGMENT_META_FOLDER,
    METADATA_FOLDER,
    GROUP_FOLDER,
    LABELS_FOLDER,
];

/// The last part of a path or URI, trailing slashes left out. Of an absolute URI only this counts: arrays move.
pub fn last_part(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let slash = memchr::memrchr(b'/', path.as_bytes());
    slash.and_then(|slash| path.get(slash + 1..)).unwrap_or(path)
}

/// Whether a name from disk can stand for one entry of a folder: not empty, not `.` or `..`, no slash (on Windows no
/// backslash either), no NUL.
pub fn is_plain(name: &str) -> bool {
    let leaves = |byte| matches!(byte, b'/' | b'\0') || cfg!(windows) && byte == b'\\';
    !matches!(name, "" | "." | "..") && !name.bytes().any(leaves)
}

/// The file of a new enumeration: `__<id>_0`.
pub fn enumeration_file_name(id: [u8; 16]) -> String {
    format!("__{:032x}_0", u128::from_be_bytes(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_part_of_a_path_counts() {
        assert_eq!(last_part("file:///old/place/array/__fragments/__1_2_ab_9/"), "__1_2_ab_9");
        assert_eq!(last_part("/__commits/x.wrt"), "x.wrt");
        assert_eq!(last_part("x"), "x");
        assert_eq!(last_part(""), "");
    }

    #[test]
    fn names_that_could_leave_their_folder_are_not_plain() {
        for name in ["", ".", "..", "a/b", "a\0b", "../x"] {
            assert!(!is_plain(name), "{name:?}");
        }
        assert!(is_plain("__1_2_ab_9"));
    }
}
