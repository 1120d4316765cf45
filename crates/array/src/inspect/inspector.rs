//! What is known of a file before it is read.

use crate::ArrayPlace;

/// A file of an array or group that is to be explained.
///
/// What the file is follows from its name and folder; fragment metadata and data files are explained with the schema and
/// the metadata of the array that they lie in.
#[derive(Debug)]
pub struct Inspector {
    pub(super) file: ArrayPlace,
    /// The address that was given: of folders above a file on disk nothing is known but by opening them.
    pub(super) address: String,
    pub(super) is_in_store: bool,
    pub(super) kind: Kind,
    pub(super) byte_len: u64,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    FragmentMetadata,
    Enumeration,
    Schema,
    Metadata,
    Group,
    ConsolidatedFooters,
    Delete,
    ConsolidatedCommits,
    Vacuum,
    Ignore,
    Data,
    Commit,
    Lock,
    GroupMarker,
}

/// The array's address from that of a folder in it.
pub(super) fn above<'a>(folder_uri: &'a str, folder: &str) -> &'a str {
    folder_uri.strip_suffix(folder).map_or(folder_uri, |uri| uri.trim_end_matches('/'))
}
