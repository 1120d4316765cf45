//! What listings find.

/// A file or folder that a listing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Where it is: a path on this machine, a URI elsewhere.
    pub uri: String,
    /// The length of a file in bytes; 0 for folders.
    pub byte_len: u64,
    /// Whether it is a folder.
    pub is_folder: bool,
}
